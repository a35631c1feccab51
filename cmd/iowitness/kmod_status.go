// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iowitness/iowitness/kmod"
)

// kmodStatus is the document of "iowitness kmod status --json".
type kmodStatus struct {
	Loaded     bool              `json:"loaded"`
	Obstacles  []string          `json:"obstacles"`       // what keeps it from being loaded
	Built      string            `json:"built,omitempty"` // the file that load would take
	State      string            `json:"state,omitempty"`
	Current    bool              `json:"current"` // it is of this program's source
	Uses       int               `json:"uses"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Holders    []kmod.Holder     `json:"holders,omitempty"`
	Unreadable string            `json:"unreadable,omitempty"` // why what follows is missing
	Counts     *kmodCounts       `json:"counts,omitempty"`
}

type kmodCounts struct {
	Looking       string      `json:"looking"`
	GateOpen      bool        `json:"gate_open"`
	Ratio         uint32      `json:"ratio"`
	HeartbeatNS   int64       `json:"heartbeat_ns"`
	DutyOnNS      int64       `json:"duty_on_ns"`
	DutyEveryNS   int64       `json:"duty_every_ns"`
	Processes     uint32      `json:"processes_used"`
	MaxProcesses  uint32      `json:"processes"`
	OpenNS        uint64      `json:"time_open_ns"`
	GateNS        uint64      `json:"time_gate_ns"`
	DutyNS        uint64      `json:"time_duty_ns"`
	SilentNS      uint64      `json:"time_heartbeat_ns"`
	Waits         uint64      `json:"waits"`
	WaitedNS      uint64      `json:"waited_ns"`
	CallsUnseen   uint64      `json:"calls_gate_closed"`
	HandlerRuns   uint64      `json:"handler_runs"`
	HandlerMeanNS int64       `json:"handler_mean_ns"`
	HandlerMaxNS  uint64      `json:"handler_max_ns"`
	Probes        []kmodProbe `json:"probes"`
	Losses        []kmodLoss  `json:"losses"`
}

type kmodProbe struct {
	Function  string `json:"function"`
	Flagged   bool   `json:"flagged"`
	Errno     int    `json:"errno"` // not 0: it could not be probed
	MaxActive uint32 `json:"maxactive"`
	Calls     uint64 `json:"calls"`
	Skipped   uint64 `json:"skipped"`
	Nested    uint64 `json:"nested"`
	Missed    uint64 `json:"missed"`
	Recursed  uint64 `json:"recursed"`
}

type kmodLoss struct {
	ID    string `json:"id"`
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

func gatherKmodStatus(root string) (*kmodStatus, error) {
	module, err := kmod.Status(root)
	if err != nil {
		return nil, err
	}
	s := &kmodStatus{
		Loaded: module.Loaded, Obstacles: []string{}, State: module.State, Current: module.Digest == kmod.Digest(),
		Uses: module.Uses, Parameters: module.Parameters, Holders: module.Holders,
	}
	if !s.Loaded {
		s.Obstacles = append(s.Obstacles, kmod.Obstacles(root)...)
		if release, err := kmod.RunningRelease(); err == nil {
			if _, err := os.Stat(kmod.DefaultPath(release)); err == nil {
				s.Built = kmod.DefaultPath(release)
			}
		}
		return s, nil
	}
	state, err := kmod.Read(root)
	if err != nil {
		s.Unreadable = sentence(err)
		return s, nil
	}
	s.Counts = countsOf(state)
	return s, nil
}

func countsOf(state *kmod.State) *kmodCounts {
	control := &state.Control
	c := &kmodCounts{
		Looking: control.Looking, GateOpen: control.GateOpen, Ratio: control.Ratio, HeartbeatNS: int64(control.Heartbeat),
		DutyOnNS: int64(control.DutyOn), DutyEveryNS: int64(control.DutyEvery),
		Processes: control.ProcessesUsed, MaxProcesses: control.Processes,
		OpenNS: state.Time.Open, GateNS: state.Time.Gate, DutyNS: state.Time.Duty, SilentNS: state.Time.Heartbeat,
		CallsUnseen: state.Closed.Unseen(), HandlerRuns: state.Cost.Runs, HandlerMeanNS: int64(state.Cost.Each()), HandlerMaxNS: state.Cost.MaxNS,
		Probes: []kmodProbe{}, Losses: []kmodLoss{},
	}
	add := func(counts *kmod.Counts) {
		c.Waits += counts.Flagged.Count + counts.Unflagged.Count
		c.WaitedNS += counts.Flagged.NS + counts.Unflagged.NS
	}
	add(&state.Ended.Counts)
	for i := range state.Processes {
		add(&state.Processes[i].Counts)
	}
	for _, p := range state.Probes {
		c.Probes = append(c.Probes, kmodProbe{
			Function: p.Function, Flagged: p.Flagged, Errno: p.Error, MaxActive: p.MaxActive,
			Calls: p.Entries, Skipped: p.Skipped, Nested: p.Nested, Missed: p.Missed, Recursed: p.Recursed,
		})
	}
	for _, l := range state.Losses {
		c.Losses = append(c.Losses, kmodLoss{ID: l.ID, Count: l.Count, NS: l.NS})
	}
	return c
}

func (s *kmodStatus) json(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(s)
}

func (s *kmodStatus) text(w io.Writer) error {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if !s.Loaded {
		say("the kernel module iowitness is not loaded")
		for _, reason := range s.Obstacles {
			say("it cannot be: %s", reason)
		}
		switch {
		case len(s.Obstacles) > 0:
		case s.Built != "":
			say("it is built (%s): load it with \"iowitness kmod load\"", s.Built)
		default:
			say("build it with \"iowitness kmod build\", then load it with \"iowitness kmod load\"")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	say("the kernel module iowitness is loaded (%s, used %d times)", s.State, s.Uses)
	if !s.Current {
		say("it is of another version of iowitness: unload it, build it and load it again")
	}
	for _, h := range s.Holders {
		say("it is steered by %s (pid %d)", strconv.QuoteToASCII(h.Comm), h.PID)
	}
	if s.Unreadable != "" {
		say("%s", s.Unreadable)
	} else {
		s.Counts.text(say)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *kmodCounts) text(say func(format string, args ...any)) {
	state := map[string]string{
		"open": "it counts", "gate": "it does not count: its gate is closed", "duty": "it pauses in its duty cycle",
		"heartbeat": "it does not count: nobody reads (no heartbeat)",
	}[c.Looking]
	seen, all := time.Duration(c.OpenNS), time.Duration(c.OpenNS+c.GateNS+c.DutyNS+c.SilentNS)
	say("%s; it has for %v of %v since it was loaded", state, seen.Round(time.Millisecond), all.Round(time.Millisecond))
	if c.Ratio > 1 {
		say("one wait in %d is taken", c.Ratio)
	}
	say("%d waits of %v in all; %d of %d places for processes are in use", c.Waits, time.Duration(c.WaitedNS).Round(time.Microsecond), c.Processes, c.MaxProcesses)
	for _, p := range c.Probes {
		if p.Errno != 0 {
			say("  %s: not probed, as this kernel lacks it, has inlined it, or has not loaded its module (error %d)", p.Function, p.Errno)
			continue
		}
		say("  %s: %d calls, %d missed with %d instances, %d during another probe", p.Function, p.Calls, p.Missed, p.MaxActive, p.Recursed)
	}
	lost := slices.DeleteFunc(slices.Clone(c.Losses), func(l kmodLoss) bool { return l.Count == 0 })
	for _, l := range lost {
		say("lost: %s, %d times, %v of waiting", l.ID, l.Count, time.Duration(l.NS))
	}
	if len(lost) == 0 {
		say("nothing else lost")
	}
	say("%d handler runs of %v on the average, %v at most, without the kernel's part of a probe", c.HandlerRuns, time.Duration(c.HandlerMeanNS), time.Duration(c.HandlerMaxNS))
}
