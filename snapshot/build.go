// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"iter"
	"slices"

	"github.com/iowitness/iowitness/blame"
)

// splitTop bounds each list of Snapshot.Splits.
const splitTop = 10

// Build groups, filters, ranks and names an interval's waits.
func Build(iv *Interval, names Names, options Options) *Snapshot {
	return build(iv, pointers(iv.Threads), names, options)
}

func pointers(threads []blame.Thread) iter.Seq[*blame.Thread] {
	return func(yield func(*blame.Thread) bool) {
		for i := range threads {
			if !yield(&threads[i]) {
				return
			}
		}
	}
}

func build(iv *Interval, threads iter.Seq[*blame.Thread], names Names, options Options) *Snapshot {
	options.normalize()
	b := &builder{
		threads: threads, names: newNameCache(names), options: options,
		estimated: iv.Estimated, runQueueUnknown: iv.RunQueueUnknown,
	}
	s := &Snapshot{
		Version: iv.Version, Kernel: iv.Kernel, Means: iv.Means, Start: iv.Start, End: iv.End, Wall: iv.Wall, Coverage: iv.Coverage,
		By: options.By, Estimated: iv.Estimated, Scope: iv.Scope, Filtered: options.filtered(), Lost: iv.Lost, Cost: iv.Cost,
		Notes: iv.Notes, SlowNS: iv.SlowNS, SampleEvery: iv.SampleEvery,
	}
	s.Coverage.Elapsed = max(s.Coverage.Elapsed, s.Wall)
	s.Head, s.Sampled, s.Joined = b.head(iv)
	s.Rows, s.Below = b.rows(options.By, options.Top, wallNS(iv))
	s.Head.Largest = b.largest(wallNS(iv))
	s.InProgress, s.Hanging = b.inProgress()
	if options.Splits {
		s.Splits = map[Key][]Row{}
		for _, k := range []Key{ByCause, ByFile, ByDevice} {
			s.Splits[k], _ = b.rows([]Key{k}, splitTop, wallNS(iv))
		}
	}
	return s
}

func wallNS(iv *Interval) uint64 { return uint64(max(iv.Wall, 0)) }

func (b *builder) rows(by []Key, top int, wall uint64) ([]Row, Below) {
	options := b.options
	options.By = by
	fromCharges := options.fromCharges()
	r := b.rank(by, fromCharges)
	sorted, below := r.sorted(uint64(max(b.options.Min, 0)))
	shown := sorted
	if top > 0 && len(sorted) > top {
		shown = sorted[:top]
	}
	others := newGroup(0)
	for i, g := range sorted {
		if g.details = others; i < len(shown) {
			g.details = newGroup(b.options.Stacks)
		}
	}
	b.visit(by, fromCharges, func(k groupKey, p *part) {
		if g := r.of(k).details; g != nil {
			g.add(p)
		}
	})
	var rows []Row
	for _, g := range shown {
		rows = append(rows, g.details.row1(b, by, g.key, wall))
	}
	if n := len(sorted) - len(shown); n > 0 {
		row := others.finish(b, wall)
		row.Others = n
		rows = append(rows, row)
	}
	return rows, below
}

// row1 finishes a row of one key and names it.
func (g *group) row1(b *builder, by []Key, k groupKey, wall uint64) Row {
	row := g.finish(b, wall)
	row.Who = g.who(b.names)
	if slices.Contains(by, ByThread) {
		row.TID, row.Comm = k.tid, k.comm
	}
	return row
}
