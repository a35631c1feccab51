// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

const (
	userBar         = 1 // % of a core
	readsPerProcess = 2 // a second
)

// measureUserCPU reads iowitness's own CPU time while very many processes wait a little.
func measureUserCPU(ctx context.Context, b *bench) (*section, error) {
	s := &section{Columns: []string{"of one core"}}
	progress("  starting %d processes", b.processes)
	load, err := startLoad(ctx, b.device, b.processes, 0.95*readsPerProcess*float64(b.processes),
		fmt.Sprintf("--rate_iops=%d", readsPerProcess))
	if err != nil {
		return s, err
	}
	defer load.interrupt(fioEnds)
	w, err := startWitness(ctx, b, "usercpu")
	if err != nil {
		return s, err
	}
	defer w.interrupt(toolEnds)
	if err := pause(ctx, 2*time.Second); err != nil { // it learns who is there
		return s, err
	}
	before, err := readUsage(w, b.device)
	if err != nil {
		return s, err
	}
	progress("  measuring for %v", b.userWindow)
	if err := pause(ctx, b.userWindow); err != nil {
		return s, err
	}
	after, err := readUsage(w, b.device)
	if err != nil {
		return s, err
	}
	docs, err := w.finish()
	if err != nil {
		return s, err
	}
	usageTable(s, before, after, docs)
	return s, nil
}

// usageReading is a process's CPU time, and the load's progress at that time.
type usageReading struct {
	at                  time.Time
	total, user, system time.Duration
	reads               uint64
}

func readUsage(w *witness, d *loopDevice) (r usageReading, err error) {
	if err := w.alive(); err != nil {
		return r, err
	}
	r.at = time.Now()
	if r.total, err = processClock(w.pid()); err != nil {
		return r, err
	}
	if r.user, r.system, err = userSystem(w.pid()); err != nil {
		return r, err
	}
	r.reads, err = d.reads()
	return r, err
}

func usageTable(s *section, before, after usageReading, docs []document) {
	wall := after.at.Sub(before.at)
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / wall.Seconds() }
	total := share(after.total - before.total)
	active := activeProcesses(docs, before.at, after.at)
	s.add("user and system", &bar{fmt.Sprintf("≤ %d %%", userBar), total <= userBar}, one(total, "%", 2))
	s.add("user, to the tick", nil, one(share(after.user-before.user), "%", 2))
	s.add("system, to the tick", nil, one(share(after.system-before.system), "%", 2))
	s.note("iowitness --json --interval 1s over %v; in an interval it shows %s processes of the load with waits; the load does %.0f reads a second",
		wall.Round(time.Second), active, float64(after.reads-before.reads)/wall.Seconds())
}

// activeProcesses are those of the load in each interval that lies within a span.
func activeProcesses(docs []document, from, to time.Time) measure {
	var m measure
	for _, d := range docs {
		if d.Start.Before(from) || d.End.After(to) {
			continue
		}
		n := 0
		for _, w := range d.Waits {
			if w.Comm == "fio" && w.Count > 0 {
				n++
			}
		}
		m.add(float64(n))
	}
	return m
}
