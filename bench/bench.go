// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// part is one thing that is measured.
type part struct {
	id      string
	title   string
	measure func(context.Context, *bench) (*section, error)
}

var allParts = []part{
	{"cost", "in-kernel time of the BPF programs", measureCost},
	{"requests", "in-kernel time of the witness of block requests", measureRequests},
	{"profiles", "in-kernel time of what sees each switch of threads", measureProfiles},
	{"sampling", "CPU time of what samples all CPUs", measureSampling},
	{"overhead", "what the workload pays: I/O rate and CPU time", measureOverhead},
	{"exact", "counts against the workload's own", measureExact},
	{"start", "from exec to the first data", measureStart},
	{"memory", "resident memory with many live threads", measureMemory},
	{"usercpu", "iowitness's own CPU time with many active processes", measureUserCPU},
}

func partByID(id string) (part, bool) {
	for _, p := range allParts {
		if p.id == id {
			return p, true
		}
	}
	return part{}, false
}

func partIDs() (ids []string) {
	for _, p := range allParts {
		ids = append(ids, p.id)
	}
	return ids
}

// bench is one run: the options, and the device that all load stays on.
type bench struct {
	*options
	scratch string // a directory in memory
	device  *loopDevice
}

func newBench(o *options) (*bench, error) {
	scratch, err := os.MkdirTemp(o.dir, "iowitness-bench")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, scratch: scratch}
	if b.device, err = newLoopDevice(scratch, o.mib<<20); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	if b.device != nil {
		b.device.close()
	}
	os.RemoveAll(b.scratch)
}

// measure does one part after the other. What fails is said in its section, and
// the others are still measured.
func (b *bench) measure(ctx context.Context) (sections []*section) {
	for _, p := range b.parts {
		begin := time.Now()
		progress("%s: %s", p.id, p.title)
		s, err := p.measure(ctx, b)
		if s == nil {
			s = &section{}
		}
		s.ID, s.Title, s.Took = p.id, p.title, time.Since(begin).Round(time.Second).String()
		if err != nil {
			s.note("not finished: %v", err)
		}
		sections = append(sections, s)
		if ctx.Err() != nil {
			break
		}
	}
	return sections
}

// progress tells who waits for the results that something happens.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// pause sleeps, unless the run is interrupted.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await asks again and again until the answer is yes.
func await(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(limit); ; {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no %s within %v", what, limit)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
