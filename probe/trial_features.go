// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/kernel"
)

func (l *liveTrial) features() bpfFeatures {
	counts, bytes := tryMemlock()
	// Where it counts, trials must not fail by it.
	_ = rlimit.RemoveMemlock()
	f := bpfFeatures{
		RingBuffer:    settingOf(features.HaveMapType(ebpf.RingBuf)),
		TaskStorage:   settingOf(features.HaveMapType(ebpf.TaskStorage)),
		ReadKernel:    l.tryReadKernel(),
		KprobeMulti:   settingOf(features.HaveBPFLinkKprobeMulti()),
		KprobeSession: settingOf(features.HaveBPFLinkKprobeSession()),
	}
	f.MemlockCounts, f.MemlockBytes = counts, bytes
	return f
}

// tryReadKernel reads a kernel address that is good by BPF. Kernels before 5.13
// load such programs also under lockdown, and fail each read.
func (l *liveTrial) tryReadKernel() kernel.Setting {
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return kernel.Unknown
	}
	defer seen.Close()
	const done, failed = 1, 2
	attached, err := l.attach(RawTP, "sched_switch", asm.Instructions{
		asm.FnGetCurrentTask.Call(),
		asm.Mov.Reg(asm.R3, asm.R0),
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, -8),
		asm.Mov.Imm(asm.R2, 8),
		asm.FnProbeReadKernel.Call(),
		asm.Mov.Imm(asm.R2, failed),
		asm.JNE.Imm(asm.R0, 0, "tell"),
		asm.Mov.Imm(asm.R2, done),
		asm.LoadMapValue(asm.R1, seen.FD(), 0).WithSymbol("tell"),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	})
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) && !errors.Is(err, unix.EPERM) {
		return kernel.Absent
	}
	if err != nil {
		return kernel.Unknown
	}
	defer attached.Close()
	switch state, _ := untilTold(seen); state {
	case done:
		return kernel.On
	case failed:
		return kernel.Absent
	}
	return kernel.Unknown
}

func settingOf(err error) kernel.Setting {
	switch {
	case err == nil:
		return kernel.On
	case errors.Is(err, ebpf.ErrNotSupported):
		return kernel.Absent
	}
	return kernel.Unknown
}

// tryMemlock finds out whether BPF memory counts against the limit of locked
// memory: whether a small map can be made under a limit of nothing, that can be
// made without.
func tryMemlock() (counts kernel.Setting, bytes int64) {
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, nil, &limit) != nil {
		return kernel.Unknown, 0
	}
	bytes = int64(limit.Cur)
	if limit.Cur == unix.RLIM_INFINITY {
		bytes = -1
	}
	if smallMap() != nil {
		return kernel.Unknown, bytes
	}
	if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &unix.Rlimit{Max: limit.Max}, nil) != nil {
		return kernel.Unknown, bytes
	}
	err := smallMap()
	_ = unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &limit, nil)
	switch {
	case err == nil:
		return kernel.Off, bytes
	case errors.Is(err, unix.EPERM):
		return kernel.On, bytes
	}
	return kernel.Unknown, bytes
}

func smallMap() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	return m.Close()
}
