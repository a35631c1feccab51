// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/symbol"
)

// Names gives names to addresses and processes.
type Names interface {
	// KernelFrames and UserFrames name the addresses of a stack; at is an instant in ns, CLOCK_MONOTONIC.
	KernelFrames(addresses []uint64) []symbol.Frame
	UserFrames(pid uint32, at uint64, addresses []uint64) []symbol.Frame
	// ProcessComm is the name of a process, and its cgroup; empty: not known.
	ProcessComm(pid uint32) (comm, cgroup string)
	// Number is how the reader numbers a process or thread, 0: not at all; NSPID is a process's pid
	// in its innermost pid namespace, 0: not known.
	Number(id uint32) uint32
	NSPID(pid uint32) uint32
}

// Bounds of what is remembered. What is beyond is summed up with others.
const (
	maxStacks = 50_000
	maxRows   = 10_000
	maxLong   = 1_000
)

type stackKey struct {
	pid, tid, waker uint32
	state           event.OffState
	wakerIs         event.WakerKind
	addresses, comm string
}

type gapKey struct {
	cpu, pid, tid uint32
	addresses     string
}

type pairKey struct {
	waker, woken uint32
	is           event.WakerKind
}

// Accumulator adds up intervals. Stacks are named as they are added, while their processes live.
type Accumulator struct {
	names  Names
	wall   time.Time // of an instant by CLOCK_MONOTONIC
	mono   uint64
	stacks map[stackKey]*Stack
	gaps   map[gapKey]*Gap
	cpus   map[int]*event.CPUSamples
	byPID  map[uint32]*Queue
	byCPU  map[uint32]*Queue
	pairs  map[pairKey]*Pair
	long   []Long
	single uint64
	folded uint64 // stacks that were summed up without their frames
}

// NewAccumulator makes an empty one. wall and mono are one instant by two clocks.
func NewAccumulator(names Names, wall time.Time, mono uint64) *Accumulator {
	return &Accumulator{
		names: names, wall: wall, mono: mono, stacks: map[stackKey]*Stack{}, gaps: map[gapKey]*Gap{}, cpus: map[int]*event.CPUSamples{},
		byPID: map[uint32]*Queue{}, byCPU: map[uint32]*Queue{}, pairs: map[pairKey]*Pair{},
	}
}

func (a *Accumulator) instant(mono uint64) time.Time {
	return a.wall.Add(time.Duration(int64(mono - a.mono)))
}

// Add adds an interval.
func (a *Accumulator) Add(iv *event.ProfileInterval) {
	for i := range iv.Stacked {
		a.addStack(&iv.Stacked[i])
	}
	for i := range iv.Gaps {
		a.addGap(&iv.Gaps[i])
	}
	for i := range iv.CPUs {
		a.addCPU(&iv.CPUs[i])
	}
	for i := range iv.Processes {
		a.addQueue(a.byPID, iv.Processes[i].PID, &iv.Processes[i])
	}
	for i := range iv.OnCPUs {
		a.addQueue(a.byCPU, iv.OnCPUs[i].CPU, &iv.OnCPUs[i])
	}
	for i := range iv.Pairs {
		a.addPair(&iv.Pairs[i])
	}
}

// key makes addresses comparable.
func key(kernel, user []uint64) string {
	b := make([]byte, 0, 8*(len(kernel)+len(user)+1))
	for _, address := range kernel {
		b = binary.NativeEndian.AppendUint64(b, address)
	}
	b = binary.NativeEndian.AppendUint64(b, 0)
	for _, address := range user {
		b = binary.NativeEndian.AppendUint64(b, address)
	}
	return string(b)
}

func (a *Accumulator) addStack(s *event.Stacked) {
	k := stackKey{s.PID, s.TID, s.Waker, s.State, s.WakerIs, key(s.Kernel, s.User), s.Comm}
	to := a.stacks[k]
	if to == nil && len(a.stacks) >= maxStacks {
		a.folded++
		k = stackKey{pid: s.PID, state: s.State}
		to = a.stacks[k]
	}
	if to == nil {
		to = a.newStack(s, k)
		a.stacks[k] = to
	}
	to.Count += s.Count
	to.NS += s.NS
	to.Max = max(to.Max, s.Max)
}

func (a *Accumulator) newStack(s *event.Stacked, k stackKey) *Stack {
	to := &Stack{PID: k.pid, TID: k.tid, Comm: s.Comm, State: k.state, WakerIs: k.wakerIs, Waker: k.waker}
	if k.waker != 0 {
		to.WakerComm = s.WakerComm
	}
	if k.addresses == "" {
		to.Missing = event.StackNoRoom
		return to
	}
	to.Missing, to.Cut = max(s.NoKernel, s.NoUser), s.CutKernel || s.CutUser
	to.Kernel, to.User = a.frames(s.PID, s.Last, s.Kernel, s.User)
	return to
}

func (a *Accumulator) frames(pid uint32, at uint64, kernel, user []uint64) (k, u []symbol.Frame) {
	if len(kernel) > 0 {
		k = a.names.KernelFrames(kernel)
	}
	if len(user) > 0 {
		u = a.names.UserFrames(pid, at, user)
	}
	return k, u
}

func (a *Accumulator) addGap(g *event.Gap) {
	k := gapKey{g.CPU, g.PID, g.TID, key(g.Kernel, g.User)}
	to := a.gaps[k]
	if to == nil {
		if len(a.gaps) >= maxRows {
			a.folded++
			k = gapKey{cpu: g.CPU}
		}
		if to = a.gaps[k]; to == nil {
			to = &Gap{CPU: g.CPU, PID: k.pid, TID: k.tid}
			if k.addresses != "" {
				to.Comm = g.Comm
				to.Kernel, to.User = a.frames(g.PID, g.Last, g.Kernel, g.User)
			}
			a.gaps[k] = to
		}
	}
	to.Count += g.Count
	to.Missed += g.Missed
	to.NS += g.NS
	to.Max = max(to.Max, g.Max)
}

func (a *Accumulator) addCPU(c *event.CPUSamples) {
	to := a.cpus[c.CPU]
	if to == nil {
		to = &event.CPUSamples{CPU: c.CPU}
		a.cpus[c.CPU] = to
	}
	to.Add(c)
}

func (a *Accumulator) addQueue(all map[uint32]*Queue, id uint32, s *event.RunQSum) {
	to := all[id]
	if to == nil {
		if len(all) >= maxRows {
			a.folded++
			id = 0
		}
		if to = all[id]; to == nil {
			to = &Queue{PID: s.PID, CPU: s.CPU, Comm: s.Comm}
			all[id] = to
		}
	}
	for i := range s.Parts {
		from, part := &s.Parts[i], &to.Parts[i]
		part.Count += from.Count
		part.NS += from.NS
		part.Hist.Add(from.Hist)
		if from.Max > part.Max {
			part.Max, part.MaxAt, part.MaxCPU, part.MaxTID = from.Max, a.instant(from.MaxAt), from.MaxCPU, from.MaxTID
		}
	}
}

func (a *Accumulator) addPair(p *event.RunQPair) {
	k := pairKey{p.Waker, p.Woken, p.WakerIs}
	to := a.pairs[k]
	if to == nil {
		if len(a.pairs) >= maxRows {
			a.folded++
			return
		}
		a.pairs[k] = &Pair{*p}
		return
	}
	to.Count += p.Count
	to.NS += p.NS
	to.Max = max(to.Max, p.Max)
}

// AddLong adds a single long wait for a CPU. Of too many the longest are kept.
func (a *Accumulator) AddLong(w *event.RunQWait) {
	a.single++
	if len(a.long) >= 2*maxLong {
		a.sortLong()
		a.long = a.long[:maxLong]
	}
	l := Long{
		PID: w.PID, TID: w.TID, Comm: w.Comm, At: a.instant(w.Since), NS: w.Runs - min(w.Since, w.Runs), CPU: w.CPU,
		Kind: w.Kind, WakerIs: w.WakerIs, Where: a.names.KernelFrames(w.Stack),
	}
	if w.WakerIs != event.WakerInterrupt && w.WakerIs != event.WakerUnseen {
		l.Waker, l.WakerComm = w.Waker.PID, w.Waker.Comm
	}
	l.Ran = ranDuring(w)
	for _, r := range l.Ran {
		l.RanNS += r.NS
	}
	a.long = append(a.long, l)
}

func (a *Accumulator) sortLong() {
	slices.SortStableFunc(a.long, func(x, y Long) int { return cmp.Compare(y.NS, x.NS) })
}

// ranDuring is how long each process ran within the wait, most time first.
func ranDuring(w *event.RunQWait) (ran []Ran) {
	for i := range w.Ran {
		r := &w.Ran[i]
		from, to := max(r.From, w.Since), min(r.To, w.Runs)
		if r.To == 0 || from >= to {
			continue
		}
		at := slices.IndexFunc(ran, func(known Ran) bool { return known.PID == r.Task.PID })
		if at < 0 {
			at = len(ran)
			ran = append(ran, Ran{Task: r.Task})
		}
		ran[at].NS += to - from
	}
	slices.SortStableFunc(ran, func(a, b Ran) int { return cmp.Compare(b.NS, a.NS) })
	return ran
}
