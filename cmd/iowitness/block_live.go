// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/view/text"
)

// orderSlack is how much later than others a record of another CPU may come.
const orderSlack = 2 * time.Millisecond

// requestSession is one run of the witness of requests.
type requestSession struct {
	c       *blockCmd
	out     *os.File
	witness *probe.Requests
	names   *requestNames
	lines   requestLines
	order   request.Order
	growth  request.Growth
	sums    *request.Collector
	opened  time.Time
	notes   []string
	guard   *sideGuard
	victim  *request.Victim  // nil: nobody is asked for
	repeats *request.Repeats // nil: single requests do not come
	charged bool             // writeback, to the cgroup of whoever dirtied it
	told    uint64
	joined  uint64 // of them
	free    uint64 // of them: written back, and not charged
	failed  error  // of the first line that could not be written
}

// runLive witnesses until it is ended.
func (c *blockCmd) runLive(s *streams) error {
	return runSession(s, c.Output, false, func(out *os.File, _ *ending) (*requestSession, error) { return c.open(out) }, (*requestSession).run)
}

func (c *blockCmd) open(out *os.File) (*requestSession, error) {
	base := newNames("/")
	var address func(string) (uint64, bool)
	if symbols, err := base.symbols(); err == nil {
		address = symbols.Address
	}
	r := &requestSession{c: c, out: out, names: newRequestNames(base, "/"), order: request.Order{Slack: uint64(orderSlack)}}
	var err error
	if r.charged, err = kernel.ChargesWriteback("/"); err != nil {
		r.note(err.Error())
	}
	r.witness, err = probe.OpenRequests(probe.RequestOptions{
		Records: !c.Summary || c.Victim != "" || c.Repeats, Waits: !c.Summary || c.Victim != "", Sums: c.Summary,
		Dev: c.dev, PIDs: c.Pid, MinTime: c.Min, MinBytes: c.MinBytes, IncludeSelf: c.IncludeSelf,
		RingBytes: c.Buffer << 10, Budget: c.MaxRate, Silence: defaultSilent,
		UnchargedWriteback: !r.charged, FDArguments: kernel.FDArguments(), BTF: c.Btf, Via: c.via, Address: address,
	})
	return r, err
}

func (r *requestSession) interrupt() { r.witness.Interrupt() }

func (r *requestSession) close() error {
	if r.guard != nil {
		r.guard.meter.close()
	}
	return r.witness.Close()
}

func (r *requestSession) run(s *streams, end *ending) error {
	c := r.c
	if !c.Summary || c.Victim != "" || c.Repeats {
		r.repeats = request.NewRepeats()
	}
	r.opened = time.Now()
	defer end.after(c.For, c.MaxTime)()
	clock, err := clockNow()
	if err != nil {
		return err
	}
	if c.Summary {
		r.sums = request.NewCollector(0, uint64(c.Interval))
		if r.victim, err = c.newVictim(r.livePID); err != nil {
			return err
		}
	} else if r.lines, err = c.newLines(r.out, r.names, clock); err != nil {
		return usageError{err}
	} else if err := r.lines.Header(); err != nil {
		return reporting(err)
	}
	if err := r.witness.Start(); err != nil {
		return err
	}
	if c.Summary || c.Json || c.Csv || !text.Inspect(r.out, os.Getenv).IsTerminal {
		end.announce(s.err, "block requests")
	}
	r.guard = newRequestGuard(r.witness, !c.Summary, c.MaxCost, r.names.base.facts.BPFStats == kernel.On)
	for r.failed == nil && !end.reached() && !r.guard.stopped {
		if err := r.interval(end); err != nil {
			return err
		}
	}
	// The gate first: programs go one after the other, and completions without a begin would be told.
	if err := errors.Join(r.witness.Pause(), r.witness.Detach()); err != nil {
		return err
	}
	err = r.finish(s, end)
	if r.guard.stopped {
		err = errors.Join(err, errTooCostly)
	}
	return err
}

// livePID is the kernel's number of a process that lives.
func (r *requestSession) livePID(pid uint32) (uint32, error) {
	if !alive(pid) {
		return 0, &probe.PIDError{PID: pid}
	}
	return r.witness.GlobalPID(pid)
}

// clockNow relates the kernel side's instants to the time of day.
func clockNow() (request.Clock, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return request.Clock{Zero: uint64(now.Nano()), Epoch: time.Now()}, err
}

// interval takes requests for as long as a budget of lines lasts, a second, or of a column.
func (r *requestSession) interval(end *ending) error {
	for until := end.by(min(time.Second, r.c.Interval)); r.failed == nil && !end.reached() && time.Now().Before(until); {
		if err := r.gather(until); err != nil {
			return err
		}
	}
	if err := r.guard.tick(); err != nil {
		return err
	}
	r.names.age()
	if r.sums != nil {
		if err := r.grow(); err != nil {
			return err
		}
	}
	return r.witness.NextEpoch()
}

// gather drains for a while: what came is written in order.
func (r *requestSession) gather(until time.Time) error {
	if step := time.Now().Add(100 * time.Millisecond); step.Before(until) {
		until = step
	}
	if err := r.witness.Drain(until, r.take); err != nil {
		return err
	}
	r.order.Flush(r.write)
	if r.lines != nil && r.failed == nil {
		r.failed = r.lines.Flush()
	}
	return nil
}

func (r *requestSession) take(record any) {
	switch x := record.(type) {
	case *event.File:
		r.names.learn(*x)
	case *event.IO:
		x.File = r.names.known(x.File)
		r.order.Add(x, r.write)
	case *event.IOWait:
		r.order.Join(x)
	}
}

func (r *requestSession) write(o *event.IO) {
	if r.victim != nil {
		r.victim.Add(o)
	}
	if r.failed != nil || !r.c.wants(o, r.names) {
		return
	}
	if r.repeats != nil {
		r.repeats.Add(o)
	}
	if r.lines == nil {
		return
	}
	r.told++
	if o.Flags&event.IOUncharged != 0 {
		r.free++
	}
	if o.WaitTID != 0 {
		r.joined++
	}
	r.failed = r.lines.Write(o)
}

// grow takes in what the sums have grown by.
func (r *requestSession) grow() error {
	at, err := clockNow()
	if err != nil {
		return err
	}
	return r.witness.Sums(func(k event.IOKey, s event.IOSum) {
		key, grown, ok := r.growth.Since(k, s)
		if !ok || r.c.kinds != nil && !r.c.kinds[key.Op] || !r.c.wantsOwner(key.Comm, key.Cgroup, r.names) {
			return
		}
		if r.c.Layer == "rq" && key.Stacked || r.c.Layer == "bio" && !key.Stacked {
			return
		}
		r.sums.Merge(at.Zero, key, r.names.known(event.File{Dev: k.FileDev, Ino: k.Ino}), &grown)
	})
}

func (r *requestSession) note(sentence string) {
	if !slices.Contains(r.notes, sentence) {
		r.notes = append(r.notes, sentence)
	}
}

// noteUncharged says why cgroups of writeback are not those of whoever dirtied the data.
func (r *requestSession) noteUncharged(requests uint64) {
	if requests == 0 {
		return
	}
	why := "on a file system without cgroup writeback"
	if !r.charged {
		why = "where block I/O or memory is not controlled by cgroup v2"
	}
	r.note(fmt.Sprintf("%d requests wrote back data %s, which cannot be charged to a cgroup: shown are the process that dirtied it, where that is known, and the cgroup of the thread that wrote it", requests, why))
}

// finish tells what is left, and what went missing.
func (r *requestSession) finish(s *streams, end *ending) error {
	r.notes = append(r.notes, r.guard.said...)
	if err := r.gather(time.Unix(1, 0)); err != nil {
		return err
	}
	counts, err := r.witness.Counts()
	if err != nil {
		return err
	}
	losses, err := r.witness.Losses()
	if err != nil {
		return err
	}
	var lost []string
	for _, l := range losses {
		if l.Count > 0 && !l.Harmless {
			lost = append(lost, fmt.Sprintf("%d %s", l.Count, l.Title))
			if r.repeats != nil {
				r.repeats.Missed += l.Count // any of them may have gone to the same blocks
			}
		}
	}
	if r.sums == nil {
		r.noteUncharged(r.free)
		r.foot(s, counts, lost)
		return reporting(r.failed)
	}
	if err := r.grow(); err != nil {
		return err
	}
	r.noteUncharged(r.sums.Uncharged())
	summary := r.c.summary(r.sums, r.victim, r.repeats, request.Options{
		Version: version(), Kernel: r.names.base.facts.Release, Start: r.opened, End: time.Now(), Wall: time.Since(r.opened), Top: r.c.Top,
		Losses: request.Losses{Started: counts.Started - min(counts.Absorbed, counts.Started), Completed: counts.Completed, InFlight: counts.InFlight, Unmatched: counts.Unmatched, Wider: r.c.isFiltered()},
		Notes:  append(append(r.notes, r.witness.Notes()...), lost...),
	})
	return end.tell(func(out *os.File) error { return r.c.writeSummary(out, summary, r.names) })
}

// foot balances what a list has told. It goes where messages go: the list is for programs too.
func (r *requestSession) foot(s *streams, c probe.RequestCounts, lost []string) {
	parts := []string{
		fmt.Sprintf("%d requests told, %d of them joined to the wait that they ended", r.told, r.joined),
		fmt.Sprintf("on the whole machine %d completed, %d of them submitted by another thread than their owner's", c.Completed, c.OtherContext),
	}
	if r.c.isFiltered() {
		parts[0] += ", as they were asked for"
	}
	if found := r.repeats.Found(); len(found) > 0 {
		parts = append(parts, text.RepeatWords(&found[0], r.names, r.repeats.Missed))
	}
	if c.InFlight > 0 {
		parts = append(parts, fmt.Sprintf("%d still under way", c.InFlight))
	}
	if c.Unmatched > 0 {
		parts = append(parts, fmt.Sprintf("%d completions of requests that began before", c.Unmatched))
	}
	parts = append(append(append(parts, lost...), r.witness.Notes()...), r.notes...)
	fmt.Fprintf(s.err, "iowitness: %s\n", strings.Join(parts, "; "))
}
