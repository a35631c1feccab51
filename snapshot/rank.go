// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"slices"
)

// ranked is as much of a row as its place in the list takes.
type ranked struct {
	key        groupKey
	total, max uint64
	something  bool
	details    *group // nil: the row is not shown
}

// ranking holds all rows; the details are gathered in a second walk.
type ranking struct {
	index map[groupKey]int
	all   []ranked
}

func (b *builder) rank(by []Key, fromCharges bool) *ranking {
	r := &ranking{index: map[groupKey]int{}}
	b.visit(by, fromCharges, func(k groupKey, p *part) {
		g := r.of(k)
		g.total += p.blocked
		g.max = max(g.max, p.max)
		g.something = g.something || p.blocked+p.count > 0 || p.pending != nil
	})
	return r
}

// of finds a row, or makes it. The pointer holds until the next row is made.
func (r *ranking) of(k groupKey) *ranked {
	i, ok := r.index[k]
	if !ok {
		i = len(r.all)
		r.index[k] = i
		r.all = append(r.all, ranked{key: k})
	}
	return &r.all[i]
}

// sorted lists the rows by falling total; ties fall to the longest wait, then
// to the key. Rows whose longest wait is below least ns are summed up apart.
func (r *ranking) sorted(least uint64) (list []*ranked, below Below) {
	for i := range r.all {
		g := &r.all[i]
		switch {
		case !g.something:
		case g.max < least:
			below.Rows++
			below.Total += g.total
		default:
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *ranked) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(b.max, a.max), a.key.compare(b.key))
	})
	return list, below
}
