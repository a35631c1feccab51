// SPDX-License-Identifier: Apache-2.0

package event

// OffState says how a thread gave up its CPU: enum prof_state.
type OffState uint8

// The states. Of samples it is OffRunning.
const (
	OffRunning   OffState = 0
	OffSleeps    OffState = 1 // interruptible
	OffBlocked   OffState = 2 // uninterruptible
	OffStopped   OffState = 3 // by a signal or a tracer
	OffIdle      OffState = 4 // as kernel threads without work do
	OffPreempted OffState = 5 // it could have gone on, or gave way
	OffStates    OffState = 6 // not a state: their number
)

var offStateNames = [OffStates]string{"running", "sleeping", "blocked", "stopped", "idle", "preempted"}

func (s OffState) String() string {
	if s >= OffStates {
		return ""
	}
	return offStateNames[s]
}

// WakerKind says in what context a thread was woken: enum prof_waker.
type WakerKind uint8

// The contexts.
const (
	WakerUnseen    WakerKind = 0
	WakerThread    WakerKind = 1
	WakerInterrupt WakerKind = 2 // whom it interrupted has nothing to do with it
	WakerUnsure    WakerKind = 3 // a thread, or an interrupt that came upon it
	WakerNew       WakerKind = 4 // the thread that made it
	WakerKinds     WakerKind = 5 // not a context: their number
)

var wakerNames = [WakerKinds]string{"unseen", "thread", "interrupt", "unsure", "new"}

func (k WakerKind) String() string {
	if k >= WakerKinds {
		return ""
	}
	return wakerNames[k]
}

// StackMiss says why there is no stack: enum prof_none.
type StackMiss uint8

// The reasons. StackAbsent: there is none, such as a kernel thread's in user space.
const (
	StackAbsent    StackMiss = 0
	StackNotKernel StackMiss = 1
	StackNotUser   StackMiss = 2
	StackNoRoom    StackMiss = 3
	StackCollision StackMiss = 4
	StackShed      StackMiss = 5
	StackUnseen    StackMiss = 6 // the thread was off its CPU before the gate opened
	StackGone      StackMiss = 7 // taken, but no longer there when it was read
)

// Stacked is all that was seen of one thread with one pair of stacks.
type Stacked struct {
	PID, TID             uint32
	Waker                uint32 // process that woke it; 0: none, or an interrupt
	State                OffState
	WakerIs              WakerKind
	Comm, WakerComm      string
	Kernel, User         []uint64 // innermost first
	NoKernel, NoUser     StackMiss
	CutKernel, CutUser   bool // they go on beyond the last frame
	Count, NS, Max, Last uint64
}

// Gap is samples that came late at one place of the code.
type Gap struct {
	CPU, PID, TID        uint32
	Comm                 string
	Kernel, User         []uint64 // where the CPU was when samples could be taken again
	Count, NS, Max, Last uint64
	Missed               uint64 // samples
}

// CPUSamples is what was sampled on one CPU.
type CPUSamples struct {
	CPU     int
	Samples uint64
	Idle    uint64 // nothing ran
	LeftOut uint64 // not what was asked for
	Rested  uint64 // samples that did not come while nothing ran
	Gaps    uint64 // stretches of time without a sample that was due
	Missed  uint64 // samples, in gaps or in times too short for one
	GapNS   uint64 // behind Missed
	// By the kernel's own account, to 10 ms; PassedNS is 0 where there is none.
	PassedNS, IdleNS, StolenNS uint64
}

// minAccount is the time from which on an account in steps of 10 ms says something.
const minAccount = 100_000_000

// Busy is the part in which something ran of a whole: of the time in ns, by the kernel's account,
// else of the samples. Samples alone do not tell where an idle CPU is not sampled. of is 0 if it is not known.
func (c *CPUSamples) Busy() (part, of uint64) {
	if c.PassedNS >= minAccount {
		return c.PassedNS - min(c.IdleNS, c.PassedNS), c.PassedNS
	}
	return c.Samples - c.Idle, c.Samples + c.Rested
}

// Add adds what was sampled at another time.
func (c *CPUSamples) Add(other *CPUSamples) {
	for _, sum := range [...]struct{ to, by *uint64 }{
		{&c.Samples, &other.Samples},
		{&c.Idle, &other.Idle},
		{&c.LeftOut, &other.LeftOut},
		{&c.Rested, &other.Rested},
		{&c.Gaps, &other.Gaps},
		{&c.Missed, &other.Missed},
		{&c.GapNS, &other.GapNS},
		{&c.PassedNS, &other.PassedNS},
		{&c.IdleNS, &other.IdleNS},
		{&c.StolenNS, &other.StolenNS},
	} {
		*sum.to += *sum.by
	}
}

// RunQKind says since when a thread waited for a CPU: enum runq_kind.
type RunQKind uint8

// The kinds.
const (
	RunQWoken     RunQKind = 0
	RunQPreempted RunQKind = 1
	RunQKinds     RunQKind = 2 // not a kind: their number
)

func (k RunQKind) String() string { return [...]string{"woken", "preempted"}[k&1] }

// RunQPart is waits for a CPU of one kind.
type RunQPart struct {
	Count, NS, Max uint64
	MaxAt          uint64 // CLOCK_MONOTONIC: the end of the longest
	MaxCPU, MaxTID uint32
	Hist           Hist
}

// RunQSum is waits of a process, or on a CPU.
type RunQSum struct {
	PID, CPU uint32 // one of them, by where the sum is
	Comm     string
	Parts    [RunQKinds]RunQPart
}

// RunQPair is who woke whom.
type RunQPair struct {
	Waker, Woken         uint32 // processes; waker 0: an interrupt
	WakerIs              WakerKind
	WakerComm, WokenComm string
	Count, NS, Max       uint64 // waits of the woken for a CPU
}

// ProfileInterval is what was counted in an interval.
type ProfileInterval struct {
	Stacked   []Stacked
	Gaps      []Gap
	CPUs      []CPUSamples
	Processes []RunQSum
	OnCPUs    []RunQSum
	Pairs     []RunQPair
}

// ProcessEvent says what is told of a process: enum process_event.
type ProcessEvent uint32

// The events.
const (
	ProcessSeen     ProcessEvent = 0 // for the first time
	ProcessForked   ProcessEvent = 1
	ProcessExecuted ProcessEvent = 2
)

// Process tells that a process is seen for the first time, is made, or begins another program.
type Process struct {
	PID    uint32
	Comm   string
	At     uint64 // CLOCK_MONOTONIC, ns
	Event  ProcessEvent
	Parent uint32 // of one that is made
}

// Run is what ran on a CPU, and when (CLOCK_MONOTONIC, ns).
type Run struct {
	Task     Task
	From, To uint64
}

// RunQRuns are so many as a record holds.
const RunQRuns = 32

// RunQWait is a long wait for a CPU.
type RunQWait struct {
	TID, PID    uint32
	Comm        string
	Since, Runs uint64 // CLOCK_MONOTONIC, ns
	CPU         uint32
	Kind        RunQKind
	WakerIs     WakerKind
	Waker       Task
	Ran         [RunQRuns]Run // the last on its CPU before it, in no order
	Stack       []uint64      // of the last of them, as it gave up the CPU; innermost first
}

func (c *codec) process(p *Process) {
	c.u64(&p.At)
	c.u32((*uint32)(&p.Event))
	c.u32(&p.Parent)
}

func (c *codec) runq(w *RunQWait) {
	kind, waker, frames := uint32(w.Kind), uint32(w.WakerIs), uint32(len(w.Stack))
	c.u64(&w.Since)
	c.u64(&w.Runs)
	c.u32(&w.CPU)
	c.u32(&kind)
	c.u32(&waker)
	c.u32(&frames)
	w.Kind, w.WakerIs = RunQKind(kind&1), WakerKind(min(waker, uint32(WakerKinds)))
	c.task(&w.Waker)
	for i := range w.Ran {
		c.task(&w.Ran[i].Task)
		c.u64(&w.Ran[i].From)
		c.u64(&w.Ran[i].To)
	}
	if !c.writing && frames > 0 {
		w.Stack = make([]uint64, min(frames, stackDepth))
	}
	for i := range w.Stack {
		c.u64(&w.Stack[i])
	}
	c.skip((stackDepth - len(w.Stack)) * 8)
}
