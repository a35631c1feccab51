// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/iowitness/iowitness/kmod"

// Losses are the module's counts since the start.
func (w *kmodWitness) Losses() ([]Loss, error) {
	s, err := w.read()
	if err != nil {
		return nil, err
	}
	now, base := sumKmod(s), sumKmod(w.base)
	for i := range now {
		// An operator's reset makes counts smaller: then all of them are new.
		if now[i].Count >= base[i].Count && now[i].NS >= base[i].NS {
			now[i].Count -= base[i].Count
			now[i].NS -= base[i].NS
		}
	}
	return now, nil
}

func sumKmod(s *kmod.State) []Loss {
	var probes kmod.Probe
	for _, p := range s.Probes {
		probes.Missed += p.Missed
		probes.Recursed += p.Recursed
		probes.Skipped += p.Skipped
		probes.Nested += p.Nested
	}
	still := s.Ended.NotWaited
	for i := range s.Processes {
		still.Count += s.Processes[i].NotWaited.Count
		still.NS += s.Processes[i].NotWaited.NS
	}
	by := map[string]kmod.Loss{}
	for _, l := range s.Losses {
		by[l.ID] = l
	}
	return []Loss{
		{ID: "missed_return", Title: "waits not counted: all instances of the return probe were in use", Count: probes.Missed},
		{ID: "missed_entry", Title: "waits not counted: the kernel did not run the probe", Count: probes.Recursed},
		{ID: "unpaired", Title: "waits not counted: the function's return was not seen", Count: by["unpaired"].Count},
		{ID: "state_full", Title: "waits not counted: the module's table of processes was full", Count: by["table_full"].Count, NS: by["table_full"].NS},
		{ID: "given_up", Title: "waits given up when the gate closed", Count: by["given_up"].Count, NS: by["given_up"].NS},
		{ID: "gate_closed", Title: "calls while the gate was closed", Count: s.Closed.Unseen(), Harmless: true},
		{ID: "ratio", Title: "waits not measured: only one in some is", Count: probes.Skipped},
		{ID: "waiting_full", Title: "waits in progress not listed: too many", Count: by["waiting_full"].Count, Harmless: true},
		{ID: "no_sleep", Title: "calls in which the thread did not wait", Count: still.Count, NS: still.NS, Harmless: true},
		{ID: "nested", Title: "calls within another function's wait, counted with it", Count: probes.Nested, Harmless: true},
		{ID: "clock", Title: "waits taken as no time: instants out of order", Count: by["clock"].Count},
	}
}

// Stats is what the module's handlers cost by its own meter, without the
// kernel's part of a probe.
func (w *kmodWitness) Stats() (sum RunStats, err error) {
	s, err := w.read()
	if err != nil {
		return sum, err
	}
	for _, p := range s.Probes {
		sum.Misses += p.Recursed
	}
	return RunStats{Runs: s.Cost.Runs, Runtime: s.Cost.Estimate(), Misses: sum.Misses}, nil
}
