// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"io"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// tellFloor tells what programs that do nothing cost at the points of a means,
// under a load: what is below nobody can get.
func (l *load) tellFloor(t *testing.T, via Means, device lab.Device) {
	t.Helper()
	var programs []*ebpf.Program
	var links []io.Closer
	attach := func(spec ebpf.ProgramSpec, to func(*ebpf.Program) (io.Closer, error)) {
		t.Helper()
		spec.License, spec.Instructions = "GPL", asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
		p, err := ebpf.NewProgram(&spec)
		if err != nil {
			t.Fatal(err)
		}
		attached, err := to(p)
		if err != nil {
			t.Fatal(err)
		}
		programs, links = append(programs, p), append(links, attached)
	}
	if !attachEmpty(via, attach) {
		return
	}
	child := l.start(t, device)
	stats, err := EnableStats()
	if err != nil {
		t.Fatal(err)
	}
	child.Go()
	truth := child.Wait()
	f := fact.Floor{Via: string(via), Workload: l.name, Switches: truth.Switches}
	for i, p := range programs {
		s, err := p.Stats()
		if err != nil {
			t.Fatal(err)
		}
		f.CostNS += uint64(s.Runtime)
		f.Runs += s.RunCount
		links[i].Close()
		p.Close()
	}
	stats.Close()
	lab.Fact(t, fact.KindFloor, f)
}

// attachEmpty attaches programs to the points of a means, if it has programs.
func attachEmpty(via Means, attach func(ebpf.ProgramSpec, func(*ebpf.Program) (io.Closer, error))) bool {
	if via != Fexit && via != Kretprobe && via != TPBTF && via != RawTP && via != TP {
		return false
	}
	types, err := btf.LoadKernelSpec()
	multi := err == nil && multiHasNoPool(types)
	for _, point := range Table {
		if point.Follow || point.Programs[via] == "" || via == Fexit || via == Kretprobe {
			continue
		}
		switch via {
		case TPBTF:
			attach(ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: point.Point},
				func(p *ebpf.Program) (io.Closer, error) { return link.AttachTracing(link.TracingOptions{Program: p}) })
		case RawTP:
			attach(ebpf.ProgramSpec{Type: ebpf.RawTracepoint},
				func(p *ebpf.Program) (io.Closer, error) {
					return link.AttachRawTracepoint(link.RawTracepointOptions{Name: point.Point, Program: p})
				})
		case TP:
			attach(ebpf.ProgramSpec{Type: ebpf.TracePoint},
				func(p *ebpf.Program) (io.Closer, error) { return link.Tracepoint(point.Group, point.Point, p, nil) })
		}
	}
	for _, function := range sleepers {
		switch {
		case via == Fexit:
			for _, at := range []ebpf.AttachType{ebpf.AttachTraceFEntry, ebpf.AttachTraceFExit} {
				attach(ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: at, AttachTo: function},
					func(p *ebpf.Program) (io.Closer, error) { return link.AttachTracing(link.TracingOptions{Program: p}) })
			}
		case via == Kretprobe && multi:
			only := link.KprobeMultiOptions{Symbols: []string{function}}
			attach(ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceKprobeMulti},
				func(p *ebpf.Program) (io.Closer, error) { return link.KprobeMulti(p, only) })
			attach(ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceKprobeMulti},
				func(p *ebpf.Program) (io.Closer, error) { return link.KretprobeMulti(p, only) })
		case via == Kretprobe:
			attach(ebpf.ProgramSpec{Type: ebpf.Kprobe},
				func(p *ebpf.Program) (io.Closer, error) { return link.Kprobe(function, p, nil) })
			attach(ebpf.ProgramSpec{Type: ebpf.Kprobe},
				func(p *ebpf.Program) (io.Closer, error) {
					return link.Kretprobe(function, p, &link.KprobeOptions{RetprobeMaxActive: MaxActive(2, 0), TraceFSPrefix: ownGroup()})
				})
		}
	}
	return true
}
