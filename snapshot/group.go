// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// threadID tells threads of a row apart.
type threadID struct{ pid, tid uint32 }

// piece is the part of a group that has one cause, system call, device and file.
type piece struct {
	cause   blame.Cause
	syscall int32
	device  event.Dev
	source  blame.DeviceSource
	file    fileID
}

// named is the thread whose command name stands for its process: the leader
// or, where that did not wait, the first.
type named struct {
	tid  uint32
	comm string
}

type pieceSum struct {
	ns, count uint64
	file      event.File
	pid       uint32 // whose view of the file gives its path
}

// group gathers the parts of one row.
type group struct {
	row     Row
	wanted  int                 // distinct stacks
	threads map[threadID]uint64 // ns
	names   map[uint32]named    // of processes that have no name but their threads'
	pieces  map[piece]pieceSum
	stacks  map[string]StackShare
	joins   map[blame.Cause]joinSum
}

// joinSum is what a group's records of one cause tell of their requests.
type joinSum struct {
	recorded uint64
	blame.Joins
}

func newGroup(stacks int) *group {
	return &group{
		wanted: stacks, row: Row{Exact: true}, threads: map[threadID]uint64{}, names: map[uint32]named{},
		pieces: map[piece]pieceSum{}, stacks: map[string]StackShare{}, joins: map[blame.Cause]joinSum{},
	}
}

func (g *group) add(p *part) {
	r := &g.row
	r.Exact = r.Exact && p.exact
	r.FlagUnknownNS += p.unknown
	r.Count += p.count
	r.Total += p.blocked
	r.FlaggedNS += p.flagged
	r.RunQueue += p.queued
	r.Max = max(r.Max, p.max)
	r.Hist.Add(p.hist)
	if p.pending != nil {
		r.Pending.Count++
		r.Pending.Oldest = max(r.Pending.Oldest, p.pending.Age)
	}
	g.threads[threadID{p.thread.PID, p.thread.TID}] += p.blocked
	g.addName(p.thread)
	g.addPieces(p)
}

func (g *group) addName(t *blame.Thread) {
	have, ok := g.names[t.PID]
	better := t.TID == t.PID || have.tid != t.PID && t.TID < have.tid
	if !ok || better {
		g.names[t.PID] = named{t.TID, t.Comm}
	}
}

func (g *group) addPieces(p *part) {
	for i := range p.charges {
		c := &p.charges[i]
		g.addPiece(piece{c.Cause, c.Syscall, c.Device, c.DeviceSource, idOf(&c.File)}, c, p.thread.PID)
		g.addStack(c.Cause, c.Stack, c.Blocked)
		g.addJoins(c)
		g.row.Sampled.Any = g.row.Sampled.Any || c.Sampled
		g.row.Sampled.Seen += c.Seen
	}
	if p.rest > 0 {
		g.addPiece(piece{cause: blame.Unattributed, syscall: -1}, &blame.Charge{Blocked: p.rest}, p.thread.PID)
	}
	if w := p.pending; w != nil {
		// Its time is in a charge; this makes it seen though it took no time yet.
		g.addPiece(piece{w.Cause, w.Syscall, w.Device, w.DeviceSource, idOf(&w.File)}, &blame.Charge{File: w.File}, p.thread.PID)
		g.addStack(w.Cause, w.Stack, 0)
	}
}

func (g *group) addPiece(k piece, c *blame.Charge, pid uint32) {
	sum, ok := g.pieces[k]
	if !ok || pid < sum.pid {
		sum.file, sum.pid = c.File, pid
	}
	sum.ns += c.Blocked
	sum.count += c.Count
	g.pieces[k] = sum
}

func (g *group) addJoins(c *blame.Charge) {
	if c.Seen == 0 {
		return
	}
	sum := g.joins[c.Cause]
	sum.recorded += c.Seen
	sum.Merge(&c.Joins)
	g.joins[c.Cause] = sum
}

func (g *group) addStack(cause blame.Cause, frames []string, ns uint64) {
	if len(frames) == 0 || g.wanted == 0 {
		return
	}
	key := strconv.Itoa(int(cause)) + "\n" + strings.Join(frames, "\n")
	s, ok := g.stacks[key]
	if !ok {
		s = StackShare{Cause: cause, Frames: frames}
	}
	s.Total += ns
	g.stacks[key] = s
}

// finish turns what was gathered into a row.
func (g *group) finish(b *builder, wall uint64) Row {
	r := &g.row
	r.RunQueueUnknown = b.runQueueUnknown
	r.WallPercent = percent(r.Total, wall)
	r.P50 = EstimateQuantile(&r.Hist, 0.50, r.Max)
	r.P99 = EstimateQuantile(&r.Hist, 0.99, r.Max)
	r.Sampled.Of = max(r.Count, r.Sampled.Seen)
	r.Causes = g.causes(b.names)
	r.Stacks = g.topStacks(g.wanted)
	g.setTop(b.names)
	g.setTopProcess(b.names)
	return *r
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

func (g *group) causes(names *nameCache) []CauseShare {
	sums := map[blame.Cause]CauseShare{}
	for k, v := range g.pieces {
		s := sums[k.cause]
		s.Cause, s.Count, s.Total = k.cause, s.Count+v.count, s.Total+v.ns
		sums[k.cause] = s
	}
	list := slices.SortedFunc(maps.Values(sums), func(a, b CauseShare) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause))
	})
	for i := range list {
		c := &list[i]
		c.Share = percent(c.Total, g.row.Total)
		sum := g.joins[c.Cause]
		c.Recorded, c.Joins, c.Device = sum.recorded, sum.Joins, names.deviceOrNumber(sum.Longest.Dev)
	}
	return list
}

func (g *group) topStacks(n int) []StackShare {
	keys := slices.SortedFunc(maps.Keys(g.stacks), func(a, b string) int {
		return cmp.Or(cmp.Compare(g.stacks[b].Total, g.stacks[a].Total), cmp.Compare(a, b))
	})
	var list []StackShare
	for _, k := range keys[:min(n, len(keys))] {
		list = append(list, g.stacks[k])
	}
	return list
}
