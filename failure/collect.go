// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// Names resolve what the kernel side tells by number.
type Names interface {
	Function(number uint32) string
	Syscall(number uint32, compat bool) string
	// Arguments are the names of a system call's, and which of them (from 1; 0: none) are paths.
	Arguments(number uint32, compat bool) (names []string, paths [2]int)
	Frames(key uint64) []Frame // callers, without the probe's own
	// Begins is the function that a call of an address calls; "": not known.
	Begins(address uint64) string
	// OfProbe says whether at an address there is a probe's own code.
	OfProbe(address uint64) bool
}

// Bounds of what is kept.
const (
	mostOrigins = 64   // of a row; the calls of others go with those of no function
	mostPaths   = 20   // different ones, of an origin
	mostDeaths  = 100  // listed
	mostSignals = 4096 // of processes that have not ended
)

// Collector takes in events and makes a report of them.
type Collector struct {
	Names Names

	rows    map[event.FailureKey]*Row
	signals map[uint32]*sent // by process
	dead    map[uint32]string
	deaths  []Death
	more    uint64
}

// sent is a signal whose receiver has not ended yet.
type sent struct {
	signal *event.Signal
	during *Call
}

// Add takes in a *event.Failure, *event.Signal or *event.Death.
func (c *Collector) Add(record any) {
	if c.rows == nil {
		c.rows, c.signals, c.dead = map[event.FailureKey]*Row{}, map[uint32]*sent{}, map[uint32]string{}
	}
	switch r := record.(type) {
	case *event.Failure:
		c.failure(r)
	case *event.Signal:
		if len(c.signals) >= mostSignals {
			clear(c.signals) // of processes that survived them
		}
		c.signals[r.TargetPID] = &sent{signal: r}
		delete(c.dead, r.TargetPID) // another process by now
	case *event.Death:
		c.death(r)
	}
}

func (c *Collector) failure(f *event.Failure) {
	key := event.FailureKey{Number: f.Number, Compat: f.Compat, Errno: uint32(errnoOf(f.Ret))}
	row := c.rows[key]
	if row == nil {
		row = c.row(key)
		c.rows[key] = row
	}
	row.Told++
	s := c.signals[f.PID]
	raised := s != nil && s.signal.TID == f.TID && s.signal.Time >= f.Start && s.signal.Time <= f.End
	chain := c.chain(f)
	origin := ""
	if len(chain.Steps) > 0 {
		origin = chain.Steps[0].Function
	}
	of := func(name string) int {
		return slices.IndexFunc(row.Origins, func(o Origin) bool { return o.Function == name })
	}
	i := of(origin)
	if i < 0 && len(row.Origins) >= mostOrigins {
		origin = ""
		i = of(origin)
	}
	if i < 0 {
		row.Origins = append(row.Origins, Origin{Function: origin})
		i = len(row.Origins) - 1
	}
	call := c.call(f, chain)
	row.Origins[i].add(&call)
	if raised {
		s.during = &call
	}
}

func (o *Origin) add(call *Call) {
	o.Count++
	o.Example = *call
	path := ""
	for _, a := range call.Arguments {
		if a.Path && path == "" {
			path = a.Text
		}
	}
	if path == "" {
		return
	}
	i := slices.IndexFunc(o.Paths, func(p Path) bool { return p.Text == path })
	switch {
	case i >= 0:
		o.Paths[i].Count++
	case len(o.Paths) < mostPaths:
		o.Paths = append(o.Paths, Path{path, 1})
	default:
		o.Others++
	}
}

func (c *Collector) row(key event.FailureKey) *Row {
	return &Row{Call: c.Names.Syscall(key.Number, key.Compat), Errno: unix.Errno(key.Errno)}
}

// chain is how the error of a call travelled.
func (c *Collector) chain(f *event.Failure) Chain {
	returns := make([]Return, len(f.Inner))
	for i, r := range f.Inner {
		returns[i] = Return{Function: c.Names.Function(r.Function), Place: r.Place}
		if r.Failed {
			returns[i].Called, returns[i].Jumped, returns[i].ToProbe = r.Called, c.jumped(&r), c.Names.OfProbe(r.Called)
			returns[i].Errno, returns[i].Callers = errnoOf(r.Ret), withoutSelf(c.Names.Frames(r.Stack), returns[i].Function)
		}
	}
	chain := ChainOf(returns, errnoOf(f.Ret))
	chain.Cut = f.Returns - uint32(len(f.Inner))
	return chain
}

// jumped says whether another function than the one that returned had been called.
func (c *Collector) jumped(r *event.ErrorReturn) bool {
	if r.Called == 0 {
		return false
	}
	called := c.Names.Begins(r.Called)
	return called != "" && called != c.Names.Function(r.Function)
}

// withoutSelf leaves out the frame of the function itself, where its return is seen from within.
func withoutSelf(frames []Frame, function string) []Frame {
	if len(frames) > 0 && frames[0].Function == function {
		return frames[1:]
	}
	return frames
}

func (c *Collector) call(f *event.Failure, chain Chain) Call {
	call := Call{
		Name: c.Names.Syscall(f.Number, f.Compat), Errno: errnoOf(f.Ret), PID: f.PID, TID: f.TID, Comm: f.Comm,
		Start: f.Start, NS: f.End - min(f.Start, f.End), Chain: chain,
	}
	names, paths := c.Names.Arguments(f.Number, f.Compat)
	for i, name := range names[:min(len(names), len(f.Args))] {
		a := Argument{Name: name, Text: value(name, f.Args[i])}
		for n, at := range paths {
			if at == i+1 && f.Paths[n].Read {
				a.Text, a.Path = f.Paths[n].Text, true
			}
		}
		call.Arguments = append(call.Arguments, a)
	}
	return call
}

// value is an argument by what its name says: bits in hexadecimal, modes of files in octal.
func value(name string, v uint64) string {
	switch {
	case (name == "flags" || name == "prot" || name == "request") && v>>32 == 0:
		return fmt.Sprintf("%#x", v)
	case name == "mode" && v < 1<<16:
		return fmt.Sprintf("%#o", v)
	case strings.HasSuffix(name, "dirfd") && int32(v) == unix.AT_FDCWD:
		return "AT_FDCWD"
	}
	return number(v)
}

// number is an argument as a person reads it: small ones are decimal, also below zero.
func number(v uint64) string {
	const small = 1 << 20
	switch signed := int64(int32(v)); {
	case v < small:
		return fmt.Sprint(v)
	case int64(v) < 0 && int64(v) > -small:
		return fmt.Sprint(int64(v))
	case v>>32 == 0 && signed < 0 && signed > -small:
		return fmt.Sprint(signed)
	}
	return fmt.Sprintf("%#x", v)
}

func (c *Collector) death(d *event.Death) {
	name := SignalName(d.Signal)
	if c.dead[d.PID] == name && c.signals[d.PID] == nil {
		return // another thread of it
	}
	death := Death{PID: d.PID, Comm: d.Comm, Signal: name, Dumped: d.Dumped, Time: d.Time}
	if s := c.signals[d.PID]; s != nil && s.signal.Number == d.Signal {
		death.Sender, death.During = c.sender(s.signal), s.during
	}
	delete(c.signals, d.PID)
	if len(c.dead) >= mostSignals {
		clear(c.dead)
	}
	c.dead[d.PID] = name
	if len(c.deaths) >= mostDeaths {
		c.more++
		return
	}
	c.deaths = append(c.deaths, death)
}

func (c *Collector) sender(s *event.Signal) *Sender {
	out := &Sender{Kernel: s.Code > 0, PID: s.PID, TID: s.TID, Comm: s.Comm}
	out.Code, out.IsFault = codeOf(s.Number, s.Code)
	if out.IsFault {
		out.Address = s.Address
	}
	for _, f := range c.Names.Frames(s.Stack) {
		if len(out.Functions) > 0 || !strings.Contains(f.Function, "send_signal") {
			out.Functions = append(out.Functions, f.Function)
		}
	}
	return out
}

// Report gives what has come in. Sums are exact: they hold also what was not told one by one.
func (c *Collector) Report(sums map[event.FailureKey]event.FailureSum) *Report {
	r := &Report{Deaths: slices.Clone(c.deaths), MoreDeaths: c.more}
	for key, row := range c.rows {
		if _, counted := sums[key]; !counted { // for which there was no room
			r.Rows = append(r.Rows, c.counted(row, event.FailureSum{}))
		}
	}
	for key, sum := range sums {
		row := c.rows[key]
		if row == nil {
			row = c.row(key)
		}
		r.Rows = append(r.Rows, c.counted(row, sum))
	}
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(later(a.Errno)-later(b.Errno), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Errno, b.Errno))
	})
	return r
}

// counted is a row with its sums, its origins by falling number.
func (c *Collector) counted(row *Row, sum event.FailureSum) Row {
	out := *row
	out.Count, out.NS = max(sum.Count, row.Told), sum.NS
	out.Origins = slices.SortedStableFunc(slices.Values(row.Origins), func(a, b Origin) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// later puts calls that are restarted last.
func later(errno unix.Errno) int {
	if Restarts(errno) {
		return 1
	}
	return 0
}
