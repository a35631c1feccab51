// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// startFloor attaches programs that do nothing to the points that iowitness
// witnesses: what they seem to cost is the meter's own.
func startFloor() (*running, error) {
	var attached []link.Link
	var programs []ebpf.ProgramID
	stop := func() error {
		for _, l := range attached {
			l.Close()
		}
		return awaitGone(programs)
	}
	for _, point := range []string{"sched_switch", "sched_waking", "block_rq_complete"} {
		l, id, err := attachEmpty(point)
		if err != nil {
			stop()
			return nil, err
		}
		attached, programs = append(attached, l), append(programs, id)
	}
	return &running{programs, func() []ebpf.ProgramID { return programs }, stop}, nil
}

func attachEmpty(point string) (link.Link, ebpf.ProgramID, error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "empty", Type: ebpf.RawTracepoint, License: "Dual BSD/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, 0, err
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return nil, 0, err
	}
	id, _ := info.ID()
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: point, Program: p})
	return l, id, err
}
