// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	exactBar = 0.1 // %
	rateBar  = 20000
)

// truths are what others than iowitness have counted.
type truths struct {
	jobs   map[int]byte
	fio    uint64
	disk   uint64
	sleeps uint64
	took   time.Duration
}

// measureExact counts a load's waits from before its start until after its end.
func measureExact(ctx context.Context, b *bench) (*section, error) {
	s := &section{Columns: []string{"value"}}
	w, err := startWitness(ctx, b, "exact")
	if err != nil {
		return s, err
	}
	defer w.interrupt(toolEnds)
	disk0, err := b.device.reads()
	if err != nil {
		return s, err
	}
	t, err := runCounted(ctx, b)
	if err != nil {
		return s, err
	}
	disk, err := b.device.reads()
	if err != nil {
		return s, err
	}
	t.disk = disk - disk0
	docs, err := w.finish()
	if err != nil {
		return s, err
	}
	exactTable(s, t, tallyOf(docs, func(pid int) bool { _, ours := t.jobs[pid]; return ours }))
	return s, nil
}

// runCounted runs the load for a set time.
func runCounted(ctx context.Context, b *bench) (*truths, error) {
	result := filepath.Join(b.scratch, "fio.json")
	fio, err := newFio(b.device, loadJobs, int(b.exact.Seconds()), "--output-format=json", "--output="+result)
	if err != nil {
		return nil, err
	}
	if err := fio.start(); err != nil {
		return nil, err
	}
	defer fio.interrupt(fioEnds)
	t := &truths{}
	err = await(ctx, 10*time.Second, "jobs of fio", func() (bool, error) {
		t.jobs, err = children(fio.pid())
		return len(t.jobs) == loadJobs, err
	})
	if err != nil {
		return nil, err
	}
	if t.sleeps, err = sleepsOf(ctx, fio, t.jobs, b.exact); err != nil {
		return nil, err
	}
	select {
	case <-fio.ended:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(fioEnds):
		return nil, fmt.Errorf("fio does not end")
	}
	t.took = b.exact
	t.fio, err = fioReads(result)
	return t, err
}

// sleepsOf are the sleeps that the kernel has counted for the jobs in all their
// life. It can be read when they have ended and are not yet buried, so their
// parent is stopped shortly before.
func sleepsOf(ctx context.Context, fio *child, jobs map[int]byte, runtime time.Duration) (sleeps uint64, err error) {
	if err := pause(ctx, time.Until(fio.started.Add(runtime-500*time.Millisecond))); err != nil {
		return 0, err
	}
	fio.signal(syscall.SIGSTOP)
	defer fio.signal(syscall.SIGCONT)
	err = await(ctx, 10*time.Second, "end of fio's jobs", func() (bool, error) {
		now, err := children(fio.pid())
		for _, state := range now {
			if state != 'Z' {
				return false, err
			}
		}
		return true, err
	})
	if err != nil {
		return 0, err
	}
	for pid := range jobs {
		n, err := statusNumber(pid, "voluntary_ctxt_switches")
		if err != nil {
			return 0, err
		}
		sleeps += n
	}
	return sleeps, nil
}

func exactTable(s *section, t *truths, seen tally) {
	rate := float64(t.fio) / t.took.Seconds()
	s.add("I/O completed, by fio", nil, count(t.fio))
	s.add("I/O completed, by the kernel's disk statistics", nil, count(t.disk))
	s.add("sleeps of fio's jobs, by the kernel's scheduler", nil, count(t.sleeps))
	s.add("waits of fio's jobs, by iowitness", nil, count(seen.waits))
	s.add("I/O per second", &bar{fmt.Sprintf("≥ %s", grouped(rateBar, 0)), rate >= rateBar}, one(rate, "/s", 0))
	addDifference(s, "iowitness's waits against fio's I/O", seen.waits, t.fio)
	addDifference(s, "iowitness's waits against the scheduler's sleeps", seen.waits, t.sleeps)
	s.add("I/O of fio less the scheduler's sleeps", nil, one(float64(t.fio)-float64(t.sleeps), "", 0))
	s.note("lost, by iowitness: %s", lostWords(seen.lost))
	s.note("causes, by iowitness: %s", causeWords(seen.causes))
	s.note("an I/O that completes before its thread sleeps is no wait, so fio's I/O are at least the waits; the scheduler's sleeps (voluntary switches) " +
		"hold also the few of the jobs' start and end")
}

func addDifference(s *section, name string, seen, truth uint64) {
	difference := 100 * (float64(seen) - float64(truth)) / float64(truth)
	s.add(name, &bar{fmt.Sprintf("|difference| ≤ %v %%", exactBar), math.Abs(difference) <= exactBar}, one(difference, "%", 4))
}

func lostWords(lost map[string]loss) string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		if l := lost[id]; l.Count > 0 || l.NS > 0 {
			words = append(words, fmt.Sprintf("%s %s (%s ns)", id, grouped(float64(l.Count), 0), grouped(float64(l.NS), 0)))
		}
	}
	if words == nil {
		return fmt.Sprintf("nothing, in any of %d counters", len(lost))
	}
	return strings.Join(words, ", ")
}

func causeWords(causes map[string]uint64) string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(causes)) {
		words = append(words, id+" "+grouped(float64(causes[id]), 0))
	}
	return strings.Join(words, ", ")
}
