// SPDX-License-Identifier: Apache-2.0

// Package profile has weighted stacks as values: what ran, waited or was woken, and what that
// adds up to by function, caller, process and thread. It reads nothing.
package profile

import (
	"iter"
	"slices"
	"time"

	"github.com/iowitness/iowitness/symbol"
)

// Kind says what a profile's stacks did.
type Kind string

// The kinds of profiles.
const (
	CPU    Kind = "cpu"    // was running when sampled
	OffCPU Kind = "offcpu" // had given up the CPU, for whatever reason
	RunQ   Kind = "runq"   // waited for a CPU
	Wait   Kind = "wait"   // waited for I/O
)

// Profile is what was seen in a stretch of time.
type Profile struct {
	Kind     Kind
	Version  string // of iowitness
	Kernel   string // its release
	Means    string // how it was witnessed
	Scope    string // what was asked for, in words; empty: everything
	Notes    []string
	Start    time.Time
	Duration time.Duration
	Period   time.Duration // between samples of one CPU; 0: every event is counted
	Samples  []Sample
	Lost     Lost
}

// Sample is one stack of one thread with all that was seen of it.
type Sample struct {
	PID, TID uint32
	Process  string // name of the process, as it is: views quote it
	Thread   string // the thread's own command
	Cgroup   string
	Kernel   []symbol.Frame // innermost first; called by User
	User     []symbol.Frame // innermost first
	// Truncated: the stack goes on beyond its last frame.
	Truncated bool
	Weight
}

// Weight is a number of samples or events, and the time in them.
type Weight struct {
	Count uint64
	Value uint64 // ns
}

// Add adds another weight.
func (w *Weight) Add(other Weight) {
	w.Count += other.Count
	w.Value += other.Value
}

// Lost is what was seen but is in no sample, and what samples lack.
type Lost struct {
	Samples      uint64        // not recorded: buffer or table full
	Time         time.Duration // behind them, as far as known
	KernelStacks uint64        // recorded without
	UserStacks   uint64        // recorded without
	Frames       uint64        // not named for lack of memory or time (symbol.Losses)
}

// Any tells whether anything was lost.
func (l Lost) Any() bool { return l != Lost{} }

// Frames are a stack's frames from the innermost out, the kernel's first.
func (s *Sample) Frames() iter.Seq[*symbol.Frame] {
	return func(yield func(*symbol.Frame) bool) {
		for _, part := range [...][]symbol.Frame{s.Kernel, s.User} {
			for i := range part {
				if !yield(&part[i]) {
					return
				}
			}
		}
	}
}

// Total is the weight of all samples.
func (p *Profile) Total() (w Weight) {
	for i := range p.Samples {
		w.Add(p.Samples[i].Weight)
	}
	return w
}

// Merge adds up profiles of one kind, the first's: equal stacks of a thread become one sample.
// The time is from the first beginning to the last end. Nil is no profile.
func Merge(profiles ...*Profile) *Profile {
	merged := &Profile{}
	at := map[string]int{}
	var end time.Time
	for _, p := range profiles {
		if p == nil {
			continue
		}
		if merged.Kind == "" || p.Start.Before(merged.Start) {
			merged.Start = p.Start
		}
		if merged.Kind == "" {
			head := *p
			head.Samples, head.Lost, head.Start = nil, Lost{}, merged.Start
			*merged = head
		}
		if stop := p.Start.Add(p.Duration); stop.After(end) {
			end = stop
		}
		merged.Lost.add(p.Lost)
		for i := range p.Samples {
			merged.add(at, &p.Samples[i])
		}
	}
	if !end.IsZero() {
		merged.Duration = end.Sub(merged.Start)
	}
	return merged
}

func (p *Profile) add(at map[string]int, s *Sample) {
	key := s.key()
	i, known := at[key]
	if !known {
		at[key] = len(p.Samples)
		p.Samples = append(p.Samples, *s)
		return
	}
	p.Samples[i].Weight.Add(s.Weight)
}

func (l *Lost) add(other Lost) {
	l.Samples += other.Samples
	l.Time += other.Time
	l.KernelStacks += other.KernelStacks
	l.UserStacks += other.UserStacks
	l.Frames += other.Frames
}

// Largest are the indexes of samples, most weight first.
func (p *Profile) Largest() []int {
	order := make([]int, len(p.Samples))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return more(p.Samples[a].Weight, p.Samples[b].Weight) })
	return order
}
