// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"
	"strings"
)

// table are the symbols of a file: stretches of addresses that do not overlap, each of one
// symbol. Twenty bytes a stretch and the names, without pointers for the garbage collector.
type table struct {
	starts  []uint64 // ascending
	lengths []uint32
	begins  []uint32 // how far before its stretch the symbol begins
	names   []uint32 // where the name begins in text
	text    []byte   // names, each ended by a zero byte

	spelled      map[uint32]string // names as shown, by where they begin in text
	spelledBytes int
}

// find is the stretch that holds an address, and the address's offset into the symbol.
func (t *table) find(address uint64) (at int, offset uint64, ok bool) {
	at = sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > address }) - 1
	if at < 0 || address-t.starts[at] >= uint64(t.lengths[at]) {
		return 0, 0, false
	}
	return at, address - t.starts[at] + uint64(t.begins[at]), true
}

func (t *table) name(at int) []byte {
	rest := t.text[t.names[at]:]
	return rest[:max(bytes.IndexByte(rest, 0), 0)]
}

// bytes is the memory that it holds.
func (t *table) bytes() int64 {
	return int64(cap(t.starts))*8 + int64(cap(t.lengths)+cap(t.begins)+cap(t.names))*4 + int64(cap(t.text))
}

// The limits of one table. What is beyond them is left out, and symbols without a size with it.
const (
	maxSymbols  = 2 << 20
	maxNameText = 64 << 20
	maxName     = 16 << 10
)

// entry is a symbol on its way into a table.
type entry struct {
	start, end uint64 // end is start where the size is not known
	name       uint32
	rank       uint32 // which of several wins; see builder.build
}

// builder collects symbols.
type builder struct {
	entries []entry
	text    []byte
	full    bool
}

// add takes a symbol; one that would pass the limits is left out.
func (b *builder) add(start, size uint64, name []byte, rank uint32) {
	end := start + size
	if end < start || len(name) == 0 || len(name) > maxName {
		return
	}
	if len(b.entries) >= maxSymbols || len(b.text)+len(name)+1 > maxNameText {
		b.full = true
		return
	}
	b.entries = append(b.entries, entry{start, end, uint32(len(b.text)), rank})
	b.text = append(append(b.text, name...), 0)
}

func (b *builder) nameOf(e entry) []byte {
	rest := b.text[e.name:]
	return rest[:max(bytes.IndexByte(rest, 0), 0)]
}

// span is a stretch of addresses.
type span struct{ start, end uint64 }

// build makes a table of symbols of a file. Of symbols around an address the innermost wins; of
// several for the same stretch that of highest rank, then the plainest name. A symbol without a size goes on until
// the next symbol, within its section, and not where a symbol with a size is.
func (b *builder) build(sections []span) *table {
	slices.SortFunc(b.entries, b.compare)
	b.entries = b.sized(sections)
	for i := range b.entries {
		b.entries[i].rank = uint32(i) // the later in this order, the further in
	}
	return b.flatten()
}

// buildLatest makes a table in which of several symbols for an address the last one added wins.
func (b *builder) buildLatest() *table {
	for i := range b.entries {
		b.entries[i].rank = uint32(i)
	}
	slices.SortFunc(b.entries, func(x, y entry) int { return cmp.Compare(x.start, y.start) })
	return b.flatten()
}

// compare orders from outer to inner: by start, the longer first, the better name last.
func (b *builder) compare(x, y entry) int {
	if c := cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end)); c != 0 {
		return c
	}
	p, q := b.nameOf(x), b.nameOf(y)
	return cmp.Or(cmp.Compare(underscores(q), underscores(p)), cmp.Compare(x.rank, y.rank),
		cmp.Compare(len(q), len(p)), bytes.Compare(q, p))
}

func underscores(name []byte) int {
	if bytes.HasPrefix(name, []byte("_Z")) || bytes.HasPrefix(name, []byte("_R")) {
		return 0 // mangled
	}
	return len(name) - len(bytes.TrimLeft(name, "_"))
}

// sized gives an end to symbols without one, or leaves them out. Entries are in order.
func (b *builder) sized(sections []span) []entry {
	kept := b.entries[:0]
	var covered uint64 // the highest end so far of symbols with a size
	all := b.entries
	for i := 0; i < len(all); i++ {
		e := all[i]
		if e.end > e.start {
			covered = max(covered, e.end)
			kept = append(kept, e)
			continue
		}
		next := i + 1 // names of the same address are told by the last, which is the best
		if next < len(all) && all[next].start == e.start {
			continue
		}
		e.end = sectionEnd(sections, e.start)
		if next < len(all) {
			e.end = min(e.end, all[next].start)
		}
		if !b.full && e.start >= covered && e.end > e.start {
			kept = append(kept, e)
		}
	}
	return kept
}

func sectionEnd(sections []span, address uint64) uint64 {
	for _, s := range sections {
		if s.start <= address && address < s.end {
			return s.end
		}
	}
	return 0
}

// flatten sweeps over the entries, which are in order of start; of those that hold an address
// the one of highest rank has it.
func (b *builder) flatten() *table {
	f := flattener{t: &table{}, last: -1}
	for i := range b.entries {
		f.advance(b.entries[i].start)
		f.at = b.entries[i].start
		heap.Push(&f.active, b.entries[i])
	}
	f.advance(math.MaxUint64)
	f.t.text = slices.Clip(b.text)
	f.t.clip()
	return f.t
}

func (t *table) clip() {
	t.starts, t.lengths = slices.Clip(t.starts), slices.Clip(t.lengths)
	t.begins, t.names = slices.Clip(t.begins), slices.Clip(t.names)
}

type flattener struct {
	t      *table
	active byRank
	at     uint64
	last   int64 // rank of the entry that has the last stretch
}

// advance writes the stretches up to an address.
func (f *flattener) advance(to uint64) {
	for len(f.active) > 0 && f.at < to {
		top := f.active[0]
		if top.end <= f.at {
			heap.Pop(&f.active)
			continue
		}
		end := min(top.end, to)
		f.emit(top, end)
		f.at = end
	}
}

func (f *flattener) emit(e entry, end uint64) {
	t, n := f.t, len(f.t.starts)
	if n > 0 && f.last == int64(e.rank) && t.starts[n-1]+uint64(t.lengths[n-1]) == f.at {
		if length := end - t.starts[n-1]; length <= math.MaxUint32 {
			t.lengths[n-1] = uint32(length)
			return
		}
	}
	begins := f.at - e.start
	if begins > math.MaxUint32 {
		return
	}
	t.starts = append(t.starts, f.at)
	t.lengths = append(t.lengths, uint32(min(end-f.at, math.MaxUint32)))
	t.begins = append(t.begins, uint32(begins))
	t.names = append(t.names, e.name)
	f.last = int64(e.rank)
}

// byRank is a heap, highest rank on top.
type byRank []entry

func (h byRank) Len() int           { return len(h) }
func (h byRank) Less(i, j int) bool { return h[i].rank > h[j].rank }
func (h byRank) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byRank) Push(x any)        { *h = append(*h, x.(entry)) }

func (h *byRank) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// unversioned takes a symbol's version off its name: read@@GLIBC_2.2.5.
func unversioned(name []byte) []byte {
	if at := bytes.IndexByte(name, '@'); at > 0 {
		return name[:at]
	}
	return name
}

// marks are the symbols that tell assemblers' states and labels, not functions.
func marks(name []byte) bool {
	s := string(name[:min(len(name), 2)])
	return strings.HasPrefix(s, "$") || s == ".L"
}
