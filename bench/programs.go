// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
)

// descriptor is what /proc tells of an open BPF file.
type descriptor struct{ kind, info string }

// bpfDescriptors are a process's open BPF programs, links and maps. What others
// load at the same time is not among them.
func bpfDescriptors(pid int) (found []descriptor) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(target, "anon_inode:bpf") {
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(fd)))
		if err == nil {
			found = append(found, descriptor{strings.TrimPrefix(target, "anon_inode:"), string(b)})
		}
	}
	return found
}

// heldPrograms are the ids of the programs that a process holds, directly or by a link.
func heldPrograms(pid int) []ebpf.ProgramID {
	var ids []ebpf.ProgramID
	for _, d := range bpfDescriptors(pid) {
		if id, err := findNumber(d.info, "prog_id"); err == nil {
			ids = append(ids, ebpf.ProgramID(id))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// attachedLinks is the number of tracepoints that a process has programs on.
func attachedLinks(pid int) (n int) {
	for _, d := range bpfDescriptors(pid) {
		if d.kind == "bpf_link" && !strings.Contains(d.info, "link_type:\titer") {
			n++
		}
	}
	return n
}

// awaitPrograms waits until a process holds programs and is done with starting: it
// opens no more, and does not work on more either, which takes long on a busy machine.
func awaitPrograms(ctx context.Context, c *child) ([]ebpf.ProgramID, error) {
	const still, certain, limit = 400 * time.Millisecond, 5 * time.Second, 30 * time.Second
	last := 0
	unchanged, begin := time.Now(), time.Now()
	var used time.Duration
	err := await(ctx, limit, "BPF program of "+c.name, func() (bool, error) {
		if err := c.alive(); err != nil {
			return false, err
		}
		now := len(bpfDescriptors(c.pid()))
		clock, err := processClock(c.pid())
		if err != nil {
			return false, err
		}
		if now != last {
			last, unchanged, begin, used = now, time.Now(), time.Now(), clock
		}
		if time.Since(begin) < still {
			return false, nil
		}
		idle := clock-used < time.Since(begin)/10
		begin, used = time.Now(), clock
		return len(heldPrograms(c.pid())) > 0 && (idle || time.Since(unchanged) > certain), nil
	})
	return heldPrograms(c.pid()), err
}

// awaitGone waits until the kernel has forgotten programs, which it does a moment after their end.
func awaitGone(ids []ebpf.ProgramID) error {
	return await(context.Background(), 3*time.Second, "end of its BPF programs", func() (bool, error) {
		for _, id := range ids {
			p, err := ebpf.NewProgramFromID(id)
			if err == nil {
				p.Close()
				return false, nil
			}
			if !errors.Is(err, os.ErrNotExist) {
				return false, err
			}
		}
		return true, nil
	})
}

// meter reads the run-time statistics of some programs.
type meter []*ebpf.Program

func openMeter(ids []ebpf.ProgramID) (meter, error) {
	var m meter
	for _, id := range ids {
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			m.close()
			return nil, err
		}
		m = append(m, p)
	}
	return m, nil
}

func (m meter) read() (ran time.Duration, runs uint64, err error) {
	for _, p := range m {
		s, err := p.Stats()
		if err != nil {
			return 0, 0, err
		}
		ran += s.Runtime
		runs += s.RunCount
	}
	return ran, runs, nil
}

func (m meter) close() {
	for _, p := range m {
		p.Close()
	}
}
