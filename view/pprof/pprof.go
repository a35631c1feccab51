// SPDX-License-Identifier: Apache-2.0

// Package pprof writes profiles in the format of pprof, gzipped. Samples have labels for process
// and thread. Addresses are as the modules' files number them, so that frames without a name can
// be named later, where the files are.
package pprof

import (
	"fmt"
	"io"
	"math"

	"github.com/google/pprof/profile"

	"github.com/iowitness/iowitness/identity"
	ours "github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/symbol"
)

// Write writes the profile.
func Write(w io.Writer, p *ours.Profile) error {
	made := convert(p)
	if err := made.CheckValid(); err != nil {
		return fmt.Errorf("the profile cannot be written for pprof: %w", err)
	}
	return made.Write(w)
}

// converter numbers what samples share.
type converter struct {
	out       *profile.Profile
	mappings  map[[2]string]*profile.Mapping
	functions map[[2]string]*profile.Function
	locations map[location]*profile.Location
}

type location struct {
	mapping  *profile.Mapping
	function *profile.Function
	address  uint64
}

func convert(p *ours.Profile) *profile.Profile {
	kind := valueOf(p.Kind)
	c := converter{
		out: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: events(p), Unit: "count"}, kind},
			DefaultSampleType: kind.Type,
			DurationNanos:     int64(p.Duration),
			Comments:          comments(p.Lost),
		},
		mappings: map[[2]string]*profile.Mapping{}, functions: map[[2]string]*profile.Function{}, locations: map[location]*profile.Location{},
	}
	if !p.Start.IsZero() {
		c.out.TimeNanos = p.Start.UnixNano()
	}
	if p.Period > 0 {
		c.out.PeriodType, c.out.Period = kind, int64(p.Period)
	}
	for i := range p.Samples {
		c.sample(&p.Samples[i])
	}
	return c.out
}

func events(p *ours.Profile) string {
	if p.Period > 0 {
		return "samples"
	}
	return "events"
}

func valueOf(kind ours.Kind) *profile.ValueType {
	name := map[ours.Kind]string{ours.CPU: "cpu", ours.OffCPU: "off_cpu", ours.RunQ: "run_queue", ours.Wait: "wait"}[kind]
	if name == "" {
		name = "time"
	}
	return &profile.ValueType{Type: name, Unit: "nanoseconds"}
}

func comments(l ours.Lost) (all []string) {
	add := func(n uint64, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("lost: %d %s", n, what))
		}
	}
	add(l.Samples, "samples")
	add(uint64(max(l.Time, 0)), "ns")
	add(l.KernelStacks, "kernel stacks")
	add(l.UserStacks, "user stacks")
	add(l.Frames, "frames not named")
	return all
}

func (c *converter) sample(s *ours.Sample) {
	made := &profile.Sample{
		Value:    []int64{signed(s.Count), signed(s.Value)},
		Label:    map[string][]string{},
		NumLabel: map[string][]int64{"pid": {int64(s.PID)}, "tid": {int64(s.TID)}},
	}
	for key, text := range map[string]string{"comm": s.Process, "thread": s.Thread, "cgroup": s.Cgroup} {
		if text != "" {
			made.Label[key] = []string{identity.Quote(text)}
		}
	}
	for f := range s.Frames() {
		made.Location = append(made.Location, c.location(f))
	}
	c.out.Sample = append(c.out.Sample, made)
}

func signed(v uint64) int64 { return int64(min(v, math.MaxInt64)) }

func (c *converter) location(f *symbol.Frame) *profile.Location {
	key := location{mapping: c.mapping(f), function: c.function(f), address: f.Address}
	if f.Virtual != 0 {
		key.address = f.Virtual
	}
	if known := c.locations[key]; known != nil {
		return known
	}
	made := &profile.Location{ID: uint64(len(c.out.Location) + 1), Mapping: key.mapping, Address: key.address}
	if key.function != nil {
		made.Line = []profile.Line{{Function: key.function}}
	} else if key.mapping != nil {
		key.mapping.HasFunctions = false
	}
	c.locations[key] = made
	c.out.Location = append(c.out.Location, made)
	return made
}

// mapping is the module, over all addresses: as they are those of its file, nothing is to be
// taken off them.
func (c *converter) mapping(f *symbol.Frame) *profile.Mapping {
	if f.Module == "" {
		return nil
	}
	file := f.Path
	if file == "" {
		file = f.Module
	}
	key := [2]string{file, f.BuildID}
	if known := c.mappings[key]; known != nil {
		return known
	}
	made := &profile.Mapping{
		ID: uint64(len(c.out.Mapping) + 1), Limit: math.MaxUint64,
		File: identity.Quote(file), BuildID: f.BuildID, HasFunctions: true,
	}
	c.mappings[key] = made
	c.out.Mapping = append(c.out.Mapping, made)
	return made
}

func (c *converter) function(f *symbol.Frame) *profile.Function {
	if f.Name == "" {
		return nil
	}
	key := [2]string{f.Module, f.Name}
	if known := c.functions[key]; known != nil {
		return known
	}
	name := identity.Quote(f.Name)
	made := &profile.Function{ID: uint64(len(c.out.Function) + 1), Name: name, SystemName: name}
	c.functions[key] = made
	c.out.Function = append(c.out.Function, made)
	return made
}
