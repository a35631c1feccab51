// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// window is how many actions are put in order of time at once: files of
// different CPUs are merged, and within one a later action may come first.
const window = 1024

// input is a file and the action that is read next.
type input struct {
	source source
	head   trace
	latest uint64
}

// advance reads up to the next action on a bio or request; false at the end or
// at an error. Notes are taken as they are read: their time is not always of
// the same clock.
func (in *input) advance(counts *Counts, n *notes) (bool, error) {
	for {
		if err := in.source.next(&in.head); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return false, err
		}
		counts.Actions[in.head.action]++
		counts.Missing += in.head.missing
		if !n.take(&in.head) {
			break
		}
	}
	counts.Events++
	if in.head.at < in.latest {
		counts.OutOfOrder++
	}
	in.latest = max(in.latest, in.head.at)
	n.name(&in.head)
	return true, nil
}

// inputs is a heap by the time of the next action.
type inputs []*input

func (h inputs) Len() int           { return len(h) }
func (h inputs) Less(i, j int) bool { return h[i].head.at < h[j].head.at }
func (h inputs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *inputs) Push(x any)        { *h = append(*h, x.(*input)) }
func (h *inputs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge gives the actions of all files in order of their time.
func (r *Reader) merge(counts *Counts, take func(*trace)) error {
	var (
		heads inputs
		notes = notes{names: map[uint32]string{}}
		errs  []error
		late  bool
	)
	advance := func(in *input) bool {
		ok, err := in.advance(counts, &notes)
		if err != nil && !r.ended() {
			errs = append(errs, err)
		}
		return ok
	}
	for _, in := range r.inputs {
		if advance(in) {
			heads = append(heads, in)
		}
	}
	heap.Init(&heads)
	order := order{take: take}
	for len(heads) > 0 {
		if early := order.given - min(order.given, heads[0].head.at); early > 0 && !late {
			late = true
			errs = append(errs, fmt.Errorf("%s: %s earlier than what was read long before it, which cannot be put in order any more: sort the recording by time",
				heads[0].source.where(), time.Duration(early)))
		}
		order.put(&heads[0].head)
		if advance(heads[0]) {
			heap.Fix(&heads, 0)
		} else {
			heap.Pop(&heads)
		}
	}
	order.flush()
	if order.shift == 0 { // else the instants begin at 0, which those of notes do not
		counts.Began, counts.BeganAt = notes.wall, notes.wallAt
	}
	return errors.Join(errs...)
}

// order puts actions in order of time within the window, and leaves those of one instant as they came.
type order struct {
	queue []*trace
	free  []*trace
	take  func(*trace)
	given uint64 // ns: the latest that was passed on
	begun bool
	shift uint64
}

func (o *order) put(t *trace) {
	at := len(o.queue)
	for at > 0 && o.queue[at-1].at > t.at {
		at--
	}
	o.queue = slices.Insert(o.queue, at, o.copyOf(t))
	if len(o.queue) > window {
		o.give()
	}
}

func (o *order) copyOf(t *trace) *trace {
	if len(o.free) == 0 {
		c := *t
		return &c
	}
	c := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	*c = *t
	return c
}

// give passes the earliest action on. A merged file begins at 0, which in an IO
// means that an instant is not known: there, all instants are 1 ns later.
func (o *order) give() {
	t := o.queue[0]
	o.queue = o.queue[1:]
	if !o.begun {
		o.begun = true
		if t.at == 0 {
			o.shift = 1
		}
	}
	o.given = max(o.given, t.at)
	t.at += o.shift
	o.take(t)
	o.free = append(o.free, t)
}

func (o *order) flush() {
	for len(o.queue) > 0 {
		o.give()
	}
}
