// SPDX-License-Identifier: Apache-2.0

package call

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/snapshot"
)

// Key is what calls are summed up by, beside the function.
type Key string

// The keys; any other is a field of the call.
const (
	ByComm    Key = "comm"
	ByProcess Key = "pid"
	ByThread  Key = "tid"
	ByCPU     Key = "cpu"
	ByCgroup  Key = "cgroup"
	ByStack   Key = "stack"
)

// Keys are all that are no fields.
var Keys = []Key{ByComm, ByProcess, ByThread, ByCPU, ByCgroup, ByStack}

// Row is the calls of one key. Times are from entry to return, in ns.
type Row struct {
	Function string
	Module   string
	Keys     []string // in the order of Report.Keys
	Stack    []string // innermost first
	Others   int      // not 0: the last row, which sums up so many that are not shown

	Count, Total, Max uint64
	Own               uint64 // of Total, outside of calls within that are witnessed too
	Errors            uint64
	P50, P99          snapshot.Estimate
	Hist              event.Hist
	Peaks             []snapshot.Peak
}

// Mean is the average time of a call.
func (r *Row) Mean() uint64 {
	if r.Count == 0 {
		return 0
	}
	return r.Total / r.Count
}

// Report is what was counted, and what went missing.
type Report struct {
	Version, Kernel, Means string
	Scope                  string
	Start, End             time.Time
	Functions              int // that are witnessed
	Where                  string
	Keys                   []Key
	Ratio                  uint32 // one call in so many was measured
	Rows                   []Row
	UnderWay               uint64 // calls that have not returned
	Lost                   []snapshot.Loss
	Cost                   snapshot.Cost
	Notes                  []string
}

// Names resolve what the kernel side tells by number.
type Names interface {
	Process(pid uint32) string
	Cgroup(id uint64) string
	Frames(key uint64) []string // of a stack
}

// Options is what a report is made of.
type Options struct {
	Functions Functions
	Keys      []Key
	Names     Names
	Top       int // rows; 0: all
}

// Build makes rows of sums, those with most time first.
func Build(sums map[event.CallKey]*event.CallSum, o Options) *Report {
	r := &Report{Keys: o.Keys}
	byKey := map[string]*Row{}
	for key, sum := range sums {
		if sum.Count == 0 {
			continue
		}
		row := o.row(&key, sum)
		id := row.Function + "\x00" + row.Module + "\x00" + strings.Join(row.Keys, "\x00") + "\x00" + strings.Join(row.Stack, "\x00")
		if have := byKey[id]; have != nil {
			have.add(&row)
		} else {
			byKey[id] = &row
		}
	}
	for _, row := range byKey {
		r.Rows = append(r.Rows, *row)
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Function, b.Function), slices.Compare(a.Keys, b.Keys))
	})
	r.limit(o.Top)
	for i := range r.Rows {
		r.Rows[i].measure()
	}
	return r
}

func (r *Report) limit(top int) {
	if top <= 0 || len(r.Rows) <= top {
		return
	}
	rest := Row{Others: len(r.Rows) - top, Keys: make([]string, len(r.Keys))}
	for i := top; i < len(r.Rows); i++ {
		rest.add(&r.Rows[i])
	}
	r.Rows = append(r.Rows[:top], rest)
}

func (r *Row) add(o *Row) {
	r.Count += o.Count
	r.Total += o.Total
	r.Max = max(r.Max, o.Max)
	r.Own += o.Own
	r.Errors += o.Errors
	r.Hist.Merge(o.Hist)
}

func (r *Row) measure() {
	var h snapshot.Histogram
	h.Add(r.Hist)
	for _, c := range r.Hist { // a longest call that lost a race is at least where its slot begins
		lo, _ := snapshot.Bounds(int(c.Slot))
		r.Max = max(r.Max, lo)
	}
	r.P50, r.P99 = snapshot.EstimateQuantile(&h, 0.5, r.Max), snapshot.EstimateQuantile(&h, 0.99, r.Max)
	r.Peaks = snapshot.Peaks(&h)
}

func (o *Options) row(k *event.CallKey, s *event.CallSum) Row {
	f := o.Functions.Of(k.Function)
	row := Row{
		Function: f.Name, Module: f.Module, Count: s.Count, Total: s.NS, Max: s.Max,
		Own: s.NS - min(s.Inner, s.NS), Errors: s.Errors, Hist: slices.Clone(s.Hist),
	}
	if f.Result == nil {
		row.Errors = 0
	}
	fields := f.keyFields(k.Fields, o.fields())
	for _, key := range o.Keys {
		switch key {
		case ByComm:
			row.Keys = append(row.Keys, k.Comm)
		case ByProcess:
			row.Keys = append(row.Keys, o.Names.Process(k.PID))
		case ByThread:
			row.Keys = append(row.Keys, fmt.Sprint(k.TID))
		case ByCPU:
			row.Keys = append(row.Keys, fmt.Sprint(k.CPU))
		case ByCgroup:
			row.Keys = append(row.Keys, o.Names.Cgroup(k.Cgroup))
		case ByStack:
			row.Keys = append(row.Keys, "")
			row.Stack = o.Names.Frames(k.Stack)
		default:
			row.Keys = append(row.Keys, fields[0])
			fields = fields[1:]
		}
	}
	return row
}

// fields is how many of the keys are fields of the call.
func (o *Options) fields() (n int) {
	for _, k := range o.Keys {
		if !slices.Contains(Keys, k) {
			n++
		}
	}
	return n
}

// unread stands for a key that could not be read.
const unread = "(unreadable)"

// keyFields are the texts of the first fields, whose bytes are a key.
func (f *Function) keyFields(raw string, n int) []string {
	texts := make([]string, n)
	if f.Fields == nil {
		return texts
	}
	// A key has the fields from behind their mask on, and the mask is not in it.
	out := make([]byte, MaskBytes, MaskBytes+len(raw))
	binary.NativeEndian.PutUint64(out, 0)
	out = append(out, raw...)
	for i := range texts {
		texts[i] = unread
		if slot := f.Fields.Slots[i]; slot.Offset+slot.Field.Size <= len(out) {
			if b, ok := slot.Raw(out); ok {
				texts[i] = f.text(slot.Field, b)
			}
		}
	}
	return texts
}

// MaskBytes are those before the first field: which fields could not be read.
const MaskBytes = 8

// KeyWords is how many words of the fields hold the first so many fields; an error if they
// are more than a key has room for.
func KeyWords(p *expr.Program, fields int) (uint32, error) {
	end := MaskBytes
	for _, slot := range p.Slots[:fields] {
		end = max(end, slot.Offset+slot.Field.Size)
	}
	words := (end - MaskBytes + 7) / 8
	if words > mostKeyWords {
		return 0, fmt.Errorf("the keys take %d bytes, and there is room for %d", 8*words, 8*mostKeyWords)
	}
	return uint32(words), nil
}

// mostKeyWords is CALL_KEY_WORDS of bpf/abi.h.
const mostKeyWords = 8
