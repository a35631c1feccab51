// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// overheadReadings are those of one contender.
type overheadReadings struct {
	contender
	kept, added measure
	failures    int
}

// reading is the load's rate and price over a while.
type reading struct {
	perSecond float64
	cpuPerIO  float64 // ns
}

// measureOverhead compares the same load without and with each tool, in turn.
func measureOverhead(ctx context.Context, b *bench) (*section, error) {
	s := &section{Columns: []string{"I/O rate kept", "added CPU time per I/O"}}
	load, err := startCPULoad(ctx, b)
	if err != nil {
		return s, err
	}
	defer load.interrupt(fioEnds)

	o := overhead{bench: b, section: s, base: measure{Unit: "/s"}, price: measure{Unit: "ns"}}
	for _, c := range slices.Concat([]contender{ours(b.iowitness)}, peers()) {
		o.all = append(o.all, overheadReadings{contender: c, kept: measure{Unit: "%", Digits: 1}, added: measure{Unit: "ns"}})
	}
	err = o.run(ctx, load)
	o.table()
	return s, err
}

type overhead struct {
	*bench
	section     *section
	all         []overheadReadings
	base, price measure
	last        reading // without a tool
	stolen      float64 // largest share of the CPU time in a reading
}

func (o *overhead) run(ctx context.Context, load *child) (err error) {
	if o.last, err = o.readBase(ctx); err != nil {
		return err
	}
	for pair := range o.pairs {
		for i := range o.all {
			c := &o.all[(i+pair)%len(o.all)]
			if c.failures == maxFailures {
				continue
			}
			progress("  pair %d of %d: %s", pair+1, o.pairs, c.name)
			if err := o.pair(ctx, c); err != nil {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				c.failures++
				o.section.note("%s, a reading failed: %v", c.name, err)
			}
			if err := load.alive(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair compares a reading with the tool to the mean of those just before and just
// after, without it: the rate drifts.
func (o *overhead) pair(ctx context.Context, c *overheadReadings) error {
	before := o.last
	with, err := o.readWith(ctx, c)
	if err != nil {
		return err
	}
	if o.last, err = o.readBase(ctx); err != nil {
		return err
	}
	c.kept.add(100 * with.perSecond / mean(before.perSecond, o.last.perSecond))
	c.added.add(with.cpuPerIO - mean(before.cpuPerIO, o.last.cpuPerIO))
	return nil
}

// settle is also when iowitness has ended its first measuring of its own probes.
const settle = 3500 * time.Millisecond

func mean(a, b float64) float64 { return (a + b) / 2 }

func (o *overhead) readBase(ctx context.Context) (reading, error) {
	r, err := o.read(ctx)
	if err == nil {
		o.base.add(r.perSecond)
		o.price.add(r.cpuPerIO)
	}
	return r, err
}

func (o *overhead) readWith(ctx context.Context, c *overheadReadings) (r reading, err error) {
	tool, err := c.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() {
		if stopped := tool.stop(); err == nil {
			err = stopped
		}
	}()
	// What a tool does when it starts is not what it costs while it runs.
	if err := pause(ctx, settle); err != nil {
		return r, err
	}
	return o.read(ctx)
}

func (o *overhead) read(ctx context.Context) (r reading, err error) {
	cpu0, err := readCPUTime()
	if err != nil {
		return r, err
	}
	reads0, err := o.device.reads()
	if err != nil {
		return r, err
	}
	if err := pause(ctx, o.window); err != nil {
		return r, err
	}
	reads, err := o.device.reads()
	if err != nil {
		return r, err
	}
	cpu, err := readCPUTime()
	if err != nil {
		return r, err
	}
	if reads == reads0 {
		return r, fmt.Errorf("the load does no I/O")
	}
	wall, n := cpu.at.Sub(cpu0.at), float64(reads-reads0)
	o.stolen = max(o.stolen, float64(cpu.stolen-cpu0.stolen)/float64(wall*time.Duration(cpu.cpus)))
	return reading{perSecond: n / wall.Seconds(), cpuPerIO: float64(cpu.busySince(cpu0)) / n}, nil
}

func (o *overhead) table() {
	o.section.add("no tool: reads, CPU time of one", nil, o.base, o.price)
	for _, c := range o.all {
		if len(c.kept.Readings) > 0 {
			o.section.add(c.name, nil, c.kept, c.added)
		}
	}
	o.section.note("readings of %v each, with the tool, paired with those just before and after without it; CPU time of all CPUs from /proc/stat (all but idle, iowait and stolen), the tool's own process included; "+
		"median (smallest…largest) of %d pairs; BPF statistics off", o.window, o.pairs)
	if o.stolen > 0.01 {
		o.section.note("the hypervisor took up to %.1f%% of the CPU time away during a reading", 100*o.stolen)
	}
}
