// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"slices"

	"github.com/iowitness/iowitness/symbol"
)

// Function is what frames are summed up by: a symbol of a module, or all of a module that no
// symbol covers.
type Function struct {
	Name    string // empty: frames of the module that no symbol covers
	Module  string // empty as well: nothing is known
	BuildID string // where Name is empty, to find symbols by
	Kind    symbol.Kind
}

// FunctionOf is the function that a frame counts to.
func FunctionOf(f *symbol.Frame) Function {
	if f.Name != "" {
		return Function{Name: f.Name, Module: f.Module, Kind: f.Kind}
	}
	return Function{Module: f.Module, BuildID: f.BuildID, Kind: f.Kind}
}

// Label is the function's name, or its module in brackets.
func (f Function) Label() string {
	switch {
	case f.Name != "":
		return f.Name
	case f.Module == "":
		return "[unknown]"
	case f.Module[0] == '[':
		return f.Module
	}
	return "[" + f.Module + "]"
}

// Row is a function with its own weight and that of all stacks it is in. A stack counts once in
// Total however often the function is in it.
type Row struct {
	Function
	Self, Total Weight
}

// sum is a row in the making.
type sum struct {
	Row
	last int // number of the stack that it last counted in Total, from 1
}

// count adds the weight of a stack, once however often it is called for it.
func (s *sum) count(w Weight, stack int) {
	if s.last != stack {
		s.last = stack
		s.Total.Add(w)
	}
}

// rows sum up by function.
type rows map[Function]*sum

func (r rows) of(f Function) *sum {
	row := r[f]
	if row == nil {
		row = &sum{Row: Row{Function: f}}
		r[f] = row
	}
	return row
}

// top are the rows, most self weight first, then most total; at most n unless n is 0.
func (r rows) top(n int) []Row {
	sorted := make([]Row, 0, len(r))
	for _, row := range r {
		sorted = append(sorted, row.Row)
	}
	slices.SortFunc(sorted, func(a, b Row) int {
		return cmp.Or(more(a.Self, b.Self), more(a.Total, b.Total), orderOf(a.Function, b.Function))
	})
	if n > 0 && n < len(sorted) {
		sorted = sorted[:n]
	}
	return sorted
}

// more orders by time, then by count, the larger first.
func more(a, b Weight) int {
	return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.Count, a.Count))
}

func orderOf(a, b Function) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module), cmp.Compare(a.BuildID, b.BuildID), cmp.Compare(a.Kind, b.Kind))
}

// count adds a stack, by its number: self to its innermost function, total to each function once.
func (r rows) count(s *Sample, stack int) {
	innermost := true
	for f := range s.Frames() {
		row := r.of(FunctionOf(f))
		if innermost {
			row.Self.Add(s.Weight)
			innermost = false
		}
		row.count(s.Weight, stack)
	}
}

// Top are the functions, most self weight first; at most n of them, all if n is 0.
func (p *Profile) Top(n int) []Row {
	all := rows{}
	for i := range p.Samples {
		all.count(&p.Samples[i], i+1)
	}
	return all.top(n)
}

// Callers are the functions that called f directly: Total is the weight of stacks in which they
// did, Self of those in which that call was the innermost. A stack counts once for each caller.
func (p *Profile) Callers(f Function) []Row {
	return p.neighbours(func(inner, outer Function) (Function, bool) { return outer, inner == f })
}

// Callees are the functions that f called directly: Total is the weight of stacks in which it
// did, Self of those in which the callee is the innermost.
func (p *Profile) Callees(f Function) []Row {
	return p.neighbours(func(inner, outer Function) (Function, bool) { return inner, outer == f })
}

// neighbours sum up one side of the calls that are chosen.
func (p *Profile) neighbours(choose func(inner, outer Function) (Function, bool)) []Row {
	all := rows{}
	for i := range p.Samples {
		s := &p.Samples[i]
		var inner Function
		depth := 0
		for frame := range s.Frames() {
			outer := FunctionOf(frame)
			if depth++; depth > 1 {
				if side, chosen := choose(inner, outer); chosen {
					row := all.of(side)
					if depth == 2 {
						row.Self.Add(s.Weight)
					}
					row.count(s.Weight, i+1)
				}
			}
			inner = outer
		}
	}
	sorted := all.top(0)
	slices.SortStableFunc(sorted, func(a, b Row) int { return more(a.Total, b.Total) })
	return sorted
}

// ProcessRow is a process or thread with its weight and the functions that have most of it.
type ProcessRow struct {
	PID, TID        uint32 // TID 0: the whole process
	NSPID           uint32 // its pid in a pid namespace of its own; 0: it has none, or it is not known
	Process, Thread string // its names, the last seen where they changed
	Cgroup          string
	Weight          Weight
	Top             []Row
}

// ByProcess are the processes, most weight first, each with its n top functions (all if n is 0).
func (p *Profile) ByProcess(n int) []ProcessRow { return p.grouped(n, false) }

// ByThread are the threads, most weight first, each with its n top functions (all if n is 0).
func (p *Profile) ByThread(n int) []ProcessRow { return p.grouped(n, true) }

func (p *Profile) grouped(n int, threads bool) []ProcessRow {
	type group struct {
		ProcessRow
		functions rows
	}
	groups := map[[2]uint32]*group{}
	for i := range p.Samples {
		s := &p.Samples[i]
		key := [2]uint32{s.PID, 0}
		if threads {
			key[1] = s.TID
		}
		g := groups[key]
		if g == nil {
			g = &group{ProcessRow: ProcessRow{PID: key[0], TID: key[1]}, functions: rows{}}
			groups[key] = g
		}
		if g.Process, g.Cgroup = s.Process, s.Cgroup; threads {
			g.Thread = s.Thread
		}
		g.Weight.Add(s.Weight)
		g.functions.count(s, i+1)
	}
	sorted := make([]ProcessRow, 0, len(groups))
	for _, g := range groups {
		g.Top = g.functions.top(n)
		sorted = append(sorted, g.ProcessRow)
	}
	slices.SortFunc(sorted, func(a, b ProcessRow) int {
		return cmp.Or(more(a.Weight, b.Weight), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	return sorted
}

// Change is a function in two profiles, as shares (0 to 1) of each profile's total time, or of
// its count where it has no time.
type Change struct {
	Function
	SelfBefore, SelfAfter   float64
	TotalBefore, TotalAfter float64
}

// Compare sets functions of two profiles side by side, those whose own share has changed most first.
func Compare(before, after *Profile) []Change {
	changes := map[Function]*Change{}
	of := func(f Function) *Change {
		if changes[f] == nil {
			changes[f] = &Change{Function: f}
		}
		return changes[f]
	}
	was, is := before.Total(), after.Total()
	for _, r := range before.Top(0) {
		c := of(r.Function)
		c.SelfBefore, c.TotalBefore = r.Self.ShareOf(was), r.Total.ShareOf(was)
	}
	for _, r := range after.Top(0) {
		c := of(r.Function)
		c.SelfAfter, c.TotalAfter = r.Self.ShareOf(is), r.Total.ShareOf(is)
	}
	sorted := make([]Change, 0, len(changes))
	for _, c := range changes {
		sorted = append(sorted, *c)
	}
	slices.SortFunc(sorted, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.moved(), a.moved()), orderOf(a.Function, b.Function))
	})
	return sorted
}

func (c *Change) moved() float64 { return max(c.SelfAfter-c.SelfBefore, c.SelfBefore-c.SelfAfter) }

// ShareOf is the part of a whole, 0 to 1: of its time, or of its count where it has no time.
func (w Weight) ShareOf(whole Weight) float64 {
	switch {
	case whole.Value > 0:
		return float64(w.Value) / float64(whole.Value)
	case whole.Count > 0:
		return float64(w.Count) / float64(whole.Count)
	}
	return 0
}
