// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/iowitness/iowitness/event"
)

// Interval closes an interval and gives what was counted in it. Threads that are off their CPU
// pay for the time until now.
func (p *Profile) Interval() (*event.ProfileInterval, error) {
	if p.walk != nil {
		if err := p.walkAll(); err != nil {
			return nil, err
		}
	}
	suffix := []string{"even", "odd"}[p.epoch&1]
	if p.epoch++; p.epoch == 0 {
		p.epoch = 2
	}
	var open uint32
	if err := p.collection.Variables["epoch"].Get(&open); err != nil {
		return nil, err
	}
	if open != 0 {
		if err := p.set("epoch", p.epoch); err != nil {
			return nil, err
		}
	}
	settle()
	iv := &event.ProfileInterval{}
	var err error
	switch p.kind {
	case ProfileCPU:
		err = errors.Join(p.takeSums(p.collection.Maps["sums_"+suffix], iv), p.takeGaps(p.collection.Maps["gaps_"+suffix], iv), p.takeCPUs(iv))
	case ProfileOffCPU:
		err = p.takeSums(p.collection.Maps["sums_"+suffix], iv)
	case ProfileRunQ:
		err = errors.Join(p.takeRunQ(p.collection.Maps["runq_"+suffix], iv), p.takePairs(p.collection.Maps["pairs_"+suffix], iv))
	}
	if err == nil && p.collection.Maps["stacks"] != nil {
		err = p.stacks.sweep(p.collection.Maps["stacks"])
	}
	return iv, errors.Join(err, p.tellAgain())
}

func commOf(comm [16]int8) string {
	b := make([]byte, 0, len(comm))
	for _, c := range comm {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// takeAll reads a table of an interval that is over and empties it.
func takeAll[K, V any](m *ebpf.Map, take func(*K, *V) error) error {
	var key K
	var value V
	var keys []K
	all := m.Iterate()
	for all.Next(&key, &value) {
		keys = append(keys, key)
		if err := take(&key, &value); err != nil {
			return err
		}
	}
	if err := all.Err(); err != nil {
		return fmt.Errorf("reading what was counted: %w", err)
	}
	return empty(m, keys)
}

func (p *Profile) takeSums(m *ebpf.Map, iv *event.ProfileInterval) error {
	table := p.collection.Maps["stacks"]
	return takeAll(m, func(k *profileProfKey, v *profileProfSum) error {
		s := event.Stacked{
			PID: k.Tgid, TID: k.Tid, Waker: k.Waker, State: event.OffState(k.State), WakerIs: event.WakerKind(k.WakerIs),
			Comm: commOf(v.Comm), WakerComm: commOf(v.WakerComm), Count: v.Count, NS: v.Ns, Max: v.MaxNs, Last: v.Last,
		}
		var err, userErr error
		s.Kernel, s.CutKernel, s.NoKernel, err = p.stacks.stack(table, k.Kernel, v.Ns)
		s.User, s.CutUser, s.NoUser, userErr = p.stacks.stack(table, k.User, v.Ns)
		iv.Stacked = append(iv.Stacked, s)
		return errors.Join(err, userErr)
	})
}

func (p *Profile) takeGaps(m *ebpf.Map, iv *event.ProfileInterval) error {
	table := p.collection.Maps["stacks"]
	return takeAll(m, func(k *profileProfGapKey, v *profileProfGap) error {
		g := event.Gap{
			CPU: k.Cpu, PID: k.Tgid, TID: k.Tid, Comm: commOf(v.Comm),
			Count: v.Count, NS: v.Ns, Max: v.MaxNs, Missed: v.Missed, Last: v.Last,
		}
		var err, userErr error
		g.Kernel, _, _, err = p.stacks.stack(table, k.Kernel, 0)
		g.User, _, _, userErr = p.stacks.stack(table, k.User, 0)
		iv.Gaps = append(iv.Gaps, g)
		return errors.Join(err, userErr)
	})
}

// takeCPUs tells by how much the counts of CPUs have grown.
func (p *Profile) takeCPUs(iv *event.ProfileInterval) error {
	var now []profileProfCpu
	if err := p.collection.Maps["cpus"].Lookup(uint32(0), &now); err != nil {
		return fmt.Errorf("reading the counts of CPUs: %w", err)
	}
	times := p.times.since()
	for cpu := range now {
		n, before := &now[cpu], profileProfCpu{}
		if cpu < len(p.cpus) {
			before = p.cpus[cpu]
		}
		c := times[cpu]
		c.CPU, c.Samples, c.Idle, c.LeftOut = cpu, n.Samples-before.Samples, n.Idle-before.Idle, n.LeftOut-before.LeftOut
		c.Rested, c.Gaps, c.Missed, c.GapNS = n.Rested-before.Rested, n.Gaps-before.Gaps, n.Missed-before.Missed, n.GapNs-before.GapNs
		if c.Samples > 0 || c.PassedNS > 0 {
			iv.CPUs = append(iv.CPUs, c)
		}
	}
	p.cpus = now
	return nil
}

// Of a key of waits for a CPU: enum runq_of.
const runqOfCPU = 1

func (p *Profile) takeRunQ(m *ebpf.Map, iv *event.ProfileInterval) error {
	return takeAll(m, func(k *profileRunqKey, v *profileRunqSum) error {
		s := event.RunQSum{Comm: commOf(v.Comm)}
		for i := range v.Parts {
			part := &v.Parts[i]
			s.Parts[i] = event.RunQPart{
				Count: part.Count, NS: part.Ns, Max: part.MaxNs, MaxAt: part.MaxAt, MaxCPU: part.MaxCpu, MaxTID: part.MaxTid,
			}
			for slot, n := range part.Hist {
				if n > 0 {
					s.Parts[i].Hist = append(s.Parts[i].Hist, event.HistCount{Slot: uint8(slot), N: n})
				}
			}
		}
		if k.Of == runqOfCPU {
			s.CPU = k.Id
			iv.OnCPUs = append(iv.OnCPUs, s)
		} else {
			s.PID = k.Id
			iv.Processes = append(iv.Processes, s)
		}
		return nil
	})
}

func (p *Profile) takePairs(m *ebpf.Map, iv *event.ProfileInterval) error {
	return takeAll(m, func(k *profileRunqPair, v *profileRunqPairSum) error {
		iv.Pairs = append(iv.Pairs, event.RunQPair{
			Waker: k.Waker, Woken: k.Woken, WakerIs: event.WakerKind(k.WakerIs),
			WakerComm: commOf(v.WakerComm), WokenComm: commOf(v.WokenComm), Count: v.Count, NS: v.Ns, Max: v.MaxNs,
		})
		return nil
	})
}
