// SPDX-License-Identifier: Apache-2.0

// Package probe chooses, loads, attaches, counts and closes what witnesses the
// kernel. Its table describes each probe once.
package probe

import (
	"slices"
	"strings"

	"github.com/iowitness/iowitness/spelling"
)

// Means is a way to witness a point of the kernel.
type Means string

// The means, by the ids used in documents, JSON and messages.
const (
	TPBTF Means = "tp_btf" // BTF tracepoint: typed arguments, read directly
	RawTP Means = "raw_tp" // raw tracepoint: the same arguments, untyped
	TP    Means = "tp"     // plain tracepoint: the fields of its format file

	Fexit     Means = "fexit"     // entry and return of functions that sleep, by BPF trampolines
	Kretprobe Means = "kretprobe" // the same by kernel probes, into BPF
	Tracefs   Means = "tracefs"   // the same without BPF, by the tracing file system
	Kmod      Means = "kmod"      // the same by our kernel module
	Taskstats Means = "taskstats" // delay accounting and polling of /proc: coarse
)

// byTracepoints are the means that see the scheduler itself.
var byTracepoints = []Means{TPBTF, RawTP, TP}

// preference is the order in which the means are tried.
var preference = append(slices.Clone(byTracepoints), Fexit, Kretprobe, Tracefs, Kmod, Taskstats)

// MeansNames are the ids of all means, best first.
func MeansNames() string {
	return strings.Join(meansIDs(preference), ", ")
}

func meansIDs(means []Means) (ids []string) {
	for _, m := range means {
		ids = append(ids, string(m))
	}
	return ids
}

// ParseMeans reads the id of a means.
func ParseMeans(id string) (Means, error) {
	for _, m := range preference {
		if string(m) == id {
			return m, nil
		}
	}
	return "", spelling.Unknown("no means", id, meansIDs(preference))
}

// Probe is one point of the kernel and the program for each means of witnessing it.
type Probe struct {
	ID       string // as it appears in documents and JSON
	Group    string // the tracepoint's subsystem
	Point    string // the tracepoint's name
	Witness  string // what it tells, in a few words
	Programs map[Means]string
	Optional bool // without it the main job is still done: what is lost is in Without
	Without  string
	Follow   bool // only used to follow a command's children

	Until string           // the point's name on kernels that do not have it yet
	Older map[Means]string // and the programs for that
	Joins bool             // only used to join requests to waits
}

// Table is all that is witnessed by tracepoints. All probes of a run use the same
// means, because they share the threads' state. Means by entry and return of
// functions need few of them; their points are in Functions.
var Table = []Probe{
	{
		ID: "switch", Group: "sched", Point: "sched_switch", Witness: "a thread stops running and another runs",
		Programs: map[Means]string{TPBTF: "switch_tp_btf", RawTP: "switch_raw_tp", TP: "switch_tp"},
	},
	{
		ID: "waking", Group: "sched", Point: "sched_waking", Witness: "a waiting thread is woken",
		Programs: map[Means]string{TPBTF: "waking_tp_btf", RawTP: "waking_raw_tp", TP: "waking_tp"},
	},
	{
		ID: "issue", Group: "block", Point: "block_rq_issue", Witness: "a driver has a block request",
		Programs: map[Means]string{TPBTF: "issue_tp_btf", RawTP: "issue_raw_tp"},
		Optional: true, Without: "of a request that ends a wait it is not told how long it was queued",
	},
	{
		ID: "complete", Group: "block", Point: "block_rq_complete", Witness: "a block request is completed",
		Programs: map[Means]string{TPBTF: "complete_tp_btf", RawTP: "complete_raw_tp", TP: "complete_tp"},
		Optional: true, Without: "waits are not joined to block requests: devices come from the file systems only",
	},
	{
		ID: "fork", Group: "sched", Point: "sched_process_fork", Witness: "a followed thread has a child",
		Programs: map[Means]string{TPBTF: "fork_tp_btf", RawTP: "fork_raw_tp", Fexit: "fork_tp_btf", Kretprobe: "fork_raw_tp"}, Follow: true,
	},
	{
		ID: "made", Group: "task", Point: "task_newtask", Witness: "a followed thread has a child",
		Programs: map[Means]string{TP: "made_tp"}, Follow: true,
	},
	{
		ID: "exit", Group: "sched", Point: "sched_process_exit", Witness: "a thread begins to end",
		Programs: map[Means]string{Fexit: "exit_tp_btf", Kretprobe: "exit_tp_btf"},
	},
	{
		ID: "free", Group: "sched", Point: "sched_process_free", Witness: "a thread has ended",
		Programs: map[Means]string{Fexit: "free_tp_btf", Kretprobe: "free_tp_btf"},
	},
}

// sleepPrograms are those of the means by entry and return of functions.
var sleepPrograms = []string{"enter_fentry", "leave_fexit", "enter_kprobe", "leave_kretprobe", "enter_multi", "leave_multi"}

// walks are the iterators over all threads: not tracepoints, so not in the table.
const (
	walkProgram    = "walk"
	resolveProgram = "resolve"
)
