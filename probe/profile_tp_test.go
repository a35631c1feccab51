// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// atOnce profiles one workload by raw and by plain tracepoints at the same time.
func atOnce(t *testing.T, kind ProfileKind, w lab.Workload) (pid uint32, raw, plain *event.ProfileInterval, skipped uint64) {
	t.Helper()
	both := []*Profile{openProfile(t, kind, ProfileOptions{Via: RawTP}), openProfile(t, kind, ProfileOptions{Via: TP})}
	c := w.Start(t)
	time.Sleep(2 * time.Second) // until it waits: both shall see all of it
	for _, p := range both {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	c.Go()
	c.Wait()
	var told []*event.ProfileInterval
	for _, p := range both {
		if err := p.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range both {
		iv, err := p.Interval()
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, iv)
		stats, err := p.Stats()
		if err != nil {
			t.Fatal(err)
		}
		skipped += stats.Misses
		p.Close()
	}
	return c.PID(), told[0], told[1], skipped
}

// offCounts are how often and how long a process was off its CPU, by how it left it.
func offCounts(iv *event.ProfileInterval, pid uint32) (counts, ns [event.OffStates]uint64) {
	for i := range iv.Stacked {
		if s := &iv.Stacked[i]; s.PID == pid {
			counts[s.State] += s.Count
			ns[s.State] += s.NS
		}
	}
	return counts, ns
}

// sameTwice compares a count and a time by two means that saw the same switches, but for what one of
// them skipped, and for one before both had begun.
func sameTwice(t *testing.T, what string, count, raw, ns, rawNS, skipped uint64) {
	t.Helper()
	if count > raw+skipped+1 || raw > count+skipped+1 {
		t.Errorf("%s: %d by plain tracepoints, %d by raw ones, %d skipped", what, count, raw, skipped)
	}
	apart := time.Duration(max(ns, rawNS) - min(ns, rawNS))
	if each := apart / time.Duration(max(count, raw, 1)); skipped == 0 && each > 100*time.Microsecond && !lab.Guest() {
		t.Errorf("%s: %v by plain tracepoints, %v by raw ones", what, time.Duration(ns), time.Duration(rawNS))
	}
	t.Logf("%s: %d and %d, %v and %v, %d skipped", what, count, raw, time.Duration(ns), time.Duration(rawNS), skipped)
}

// TestPlainTracepointsCountAsRawOnes: both see the same switches of the same threads.
func TestPlainTracepointsCountAsRawOnes(t *testing.T) {
	pid, raw, plain, skipped := atOnce(t, ProfileOffCPU, lab.Workload{Name: "sleeper", Args: []string{"200", "3"}})
	counts, ns := offCounts(plain, pid)
	rawCounts, rawNS := offCounts(raw, pid)
	if rawCounts[event.OffSleeps] < 200 {
		t.Errorf("%d sleeps, not 200", rawCounts[event.OffSleeps])
	}
	for state := event.OffSleeps; state < event.OffStates; state++ {
		sameTwice(t, state.String(), counts[state], rawCounts[state], ns[state], rawNS[state], skipped)
	}

	pid, raw, plain, skipped = atOnce(t, ProfileRunQ, lab.Workload{Name: "compete", Args: []string{"300", "300", "300"}})
	var parts [2][event.RunQKinds]event.RunQPart
	for i, iv := range []*event.ProfileInterval{plain, raw} {
		for j := range iv.Processes {
			if q := &iv.Processes[j]; q.PID == pid {
				parts[i] = q.Parts
			}
		}
	}
	for kind, what := range []string{"woken", "preempted"} {
		p, r := &parts[0][kind], &parts[1][kind]
		if r.Count == 0 {
			t.Errorf("nobody waited for a CPU, %s", what)
		}
		sameTwice(t, what, p.Count, r.Count, p.NS, r.NS, skipped)
	}
}
