// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
)

// fsMeans are the means of witnessing file systems, best first.
var fsMeans = []Means{TPBTF, RawTP}

const (
	withoutCommits = "the journal's commits are not told apart"
	withoutFlushes = "flushes of the devices' write caches are not told"
	withoutMsync   = "msync is not counted: this kernel does not tell which file is mapped at an address (5.17)"
)

// notCalls is what moves data of files by no call that is counted.
const notCalls = "only read, write, open, the calls that synchronize and their like are counted: not what goes through mappings (page faults), io_uring, io_submit, splice, sendfile or copy_file_range"

// enterWithVMA takes the place of enter_tp_btf where the kernel finds what is mapped at an address.
const enterWithVMA = "enter_vma_tp_btf"

// programNames are the programs of one means, by the id of their probe.
func (o *FSOptions) programNames(via Means, types *btf.Spec) map[string]string {
	programs := map[string]string{}
	for _, p := range FSTable {
		programs[p.ID] = p.Programs[via]
	}
	if via == TPBTF && !o.old && hasHelper(types, "find_vma") {
		programs["enter"] = enterWithVMA
	}
	return programs
}

// both is a program that serves by each means.
func both(name string) map[Means]string { return map[Means]string{TPBTF: name, RawTP: name} }

// FSTable is all by which calls to file systems are witnessed.
var FSTable = []Probe{
	{
		ID: "enter", Group: "raw_syscalls", Point: "sys_enter", Witness: "a system call begins",
		Programs: map[Means]string{TPBTF: "enter_tp_btf", RawTP: "enter_raw_tp"},
	},
	{
		ID: "exit", Group: "raw_syscalls", Point: "sys_exit", Witness: "a system call returns",
		Programs: map[Means]string{TPBTF: "exit_tp_btf", RawTP: "exit_raw_tp"},
	},
	{
		ID: "switch", Group: "sched", Point: "sched_switch", Witness: "a thread stops running and another runs",
		Programs: map[Means]string{TPBTF: "switch_tp_btf", RawTP: "switch_raw_tp"},
	},
	{
		ID: "waking", Group: "sched", Point: "sched_waking", Witness: "a thread that sleeps is woken",
		Programs: map[Means]string{TPBTF: "waking_tp_btf", RawTP: "waking_raw_tp"},
	},
	{
		ID: "commit_locking", Group: "jbd2", Point: "jbd2_commit_locking", Witness: "a commit begins",
		Programs: both("commit_locking"), Optional: true, Without: withoutCommits,
	},
	{
		ID: "commit_flushing", Group: "jbd2", Point: "jbd2_commit_flushing", Witness: "its last handle was closed",
		Programs: both("commit_flushing"), Optional: true, Without: withoutCommits,
	},
	{
		ID: "commit_logging", Group: "jbd2", Point: "jbd2_commit_logging", Witness: "data that it must follow is written",
		Programs: both("commit_logging"), Optional: true, Without: withoutCommits,
	},
	{
		ID: "commit_stats", Group: "jbd2", Point: "jbd2_run_stats", Witness: "it is on the device",
		Programs: both("commit_stats"), Optional: true, Without: withoutCommits,
	},
	{
		ID: "flush_issue", Group: "block", Point: "block_rq_issue", Witness: "the driver has a flush request",
		Programs: both("flush_issue"), Optional: true, Without: withoutFlushes,
	},
	{
		ID: "flush_complete", Group: "block", Point: "block_rq_complete", Witness: "a flush request is completed",
		Programs: both("flush_complete"), Optional: true, Without: withoutFlushes,
	},
}

// FSKinds are the kinds of file systems that are witnessed: their types as
// /proc/self/mountinfo names them, by the magic numbers of their superblocks. ext2 and
// ext3 share ext4's number and, today, its driver.
var FSKinds = []struct {
	Magic uint64
	Types []string
}{
	{0xef53, []string{"ext4", "ext3", "ext2"}},
	{0x58465342, []string{"xfs"}},
	{0x9123683e, []string{"btrfs"}},
	{0xf2f52010, []string{"f2fs"}},
}

// IsFSKind says whether file systems of a type are witnessed.
func IsFSKind(fstype string) bool {
	for i := range FSKinds {
		if slices.Contains(FSKinds[i].Types, fstype) {
			return true
		}
	}
	return false
}

// callOps gives system calls their operation; any is false where the numbers of system
// calls are not known.
func callOps() (ops [kernel.MaxSyscalls]uint8, any bool) {
	for op, names := range event.FSCalls {
		for _, number := range kernel.SyscallNumbers(names...) {
			ops[number], any = uint8(op), true
		}
	}
	return ops, any
}

func (o *FSOptions) hasStorage(types *btf.Spec) bool { return !o.old && hasTaskStorage(types) }

// fsSettings are the constants of the kernel side.
func (o *FSOptions) fsSettings(via Means, types *btf.Spec) map[string]any {
	var magic [4]uint64
	for i := range FSKinds {
		magic[i] = FSKinds[i].Magic
	}
	ops, _ := callOps()
	return map[string]any{
		"call_op": ops, "wanted_magic": magic, "filter_dev": len(o.Devs) > 0,
		"filter_tgid": len(o.PIDs) > 0, "filter_comm": o.Comm != "", "wanted_comm": commBytes(o.Comm),
		"storage_by_hash":  via == RawTP || !o.hasStorage(types),
		"tells_prev_state": tellsPrevState(types), "rq_comes_second": comesSecond(types, "block_rq_issue"),
		"v1_subsystems": v1Hierarchies(subsystemIDs(types)),
	}
}
