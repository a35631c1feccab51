// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"io"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/tracefs"
)

// perfLink is a program on a perf event of a tracepoint. Unlike link.Tracepoint
// it needs no mounted tracefs: the event's number may come from a private mount.
type perfLink struct{ event *os.File }

// attachAs attaches a program to its point as its type asks for; at: where plain tracepoints are, nil if there are none.
func attachAs(at *tracefs.FS, p Probe, program *ebpf.Program) (io.Closer, error) {
	switch program.Type() {
	case ebpf.RawTracepoint:
		return link.AttachRawTracepoint(link.RawTracepointOptions{Name: p.Point, Program: program})
	case ebpf.TracePoint:
		return attachTracepoint(at, p, program)
	}
	return link.AttachTracing(link.TracingOptions{Program: program})
}

func attachTracepoint(t *tracefs.FS, p Probe, program *ebpf.Program) (*perfLink, error) {
	id, err := t.EventID(p.Group, p.Point)
	if err != nil {
		return nil, err
	}
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Sample: 1, Wakeup: 1,
		Size: uint32(unix.PERF_ATTR_SIZE_VER5),
	}
	// One event serves all CPUs: the program hangs on the tracepoint, not on the event's CPU.
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	l := &perfLink{os.NewFile(uintptr(fd), p.Group+":"+p.Point)}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD()); err != nil {
		l.Close()
		return nil, os.NewSyscallError("PERF_EVENT_IOC_SET_BPF", err)
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		l.Close()
		return nil, os.NewSyscallError("PERF_EVENT_IOC_ENABLE", err)
	}
	return l, nil
}

// Close detaches the program.
func (l *perfLink) Close() error { return l.event.Close() }
