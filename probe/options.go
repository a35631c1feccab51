// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// Options is what to witness, and how finely. The zero value of a field means
// its default, or no filter.
type Options struct {
	Slow        time.Duration // a wait this long is always recorded with its stack; default 1 ms
	Min         time.Duration // shorter waits are left out altogether
	SampleEvery uint32        // of the shorter waits one in this many is recorded, and fewer the more there are; 1: each; default 64
	SampleFirst uint32        // and the first few of each thread and interval; default 2
	Budget      uint32        // wait records per CPU and interval; default 4,000
	RingBytes   uint32        // of the ring of records, a power of two; default 2 MiB

	PIDs        []uint32      // only these processes, as the caller's pid namespace numbers them
	Comm        string        // only threads of this name, up to 15 bytes
	Cgroup      Cgroup        // only threads in this cgroup or below
	Follow      bool          // only threads given to Follow and their descendants
	IncludeSelf bool          // also the calling process
	Silence     time.Duration // without a heartbeat for this long the kernel side does no work; 0: never mind

	Cancelled func() bool // asked while much is attached one after the other; nil: never

	FDArguments [512]uint8 // by system call: which argument is the file's descriptor, from 1
	BTF         string     // file with the kernel's BTF, where the kernel does not offer its own
	Via         Means      // only this means
	Functions   []string   // of the table, for means by entry and return; empty: all
	MaxActive   int        // threads that may sleep in a probed function at once; 0: by the number of CPUs
	Module      string     // file of the kernel module, where it is not loaded; default kmod.DefaultPath
	States      uint32     // threads in the hash of states, where there is no task storage; default 16,384
	Polls       uint32     // of /proc a second, by the means taskstats; default 20
	PollBudget  float64    // percent of one CPU that they may cost: beyond it there are fewer; default 1
}

// Cgroup is a cgroup to watch. Ids are unique only within a hierarchy.
type Cgroup struct {
	ID         uint64 // kernfs id: the inode of its directory; 0: no filter
	Controller string // of the v1 hierarchy, such as "memory" or "blkio"; "" is the unified one
	Path       string // within the hierarchy, as /proc/PID/cgroup tells it
}

func (o *Options) fill() {
	def := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	if o.Slow == 0 {
		o.Slow = time.Millisecond
	}
	def(&o.SampleEvery, 64)
	def(&o.SampleFirst, 2)
	def(&o.Budget, 4000)
	def(&o.RingBytes, 2<<20)
	def(&o.States, 16384)
	def(&o.Polls, 20)
	if o.PollBudget <= 0 {
		o.PollBudget = 1
	}
}

// configure writes the options into the programs' constants.
func (o *Options) configure(spec *ebpf.CollectionSpec, settings map[string]any, kernel *btf.Spec) error {
	subsystems := subsystemIDs(kernel)
	subsystem, known := subsystems[o.Cgroup.Controller]
	if !known && o.Cgroup.Controller != "" {
		return fmt.Errorf("the kernel does not tell threads' cgroups in the hierarchy of the controller %s", o.Cgroup.Controller)
	}
	maps.Copy(settings, map[string]any{
		"slow_ns": uint64(o.Slow), "min_ns": uint64(o.Min),
		"sample_every": o.SampleEvery, "sample_first": o.SampleFirst, "budget": o.Budget,
		"include_self": o.IncludeSelf, "rq_comes_second": comesSecond(kernel, "block_rq_issue"), "tells_prev_state": tellsPrevState(kernel), "function_flagged": functionFlags(),
		"filter_tgid": len(o.PIDs) > 0, "filter_follow": o.Follow, "filter_comm": o.Comm != "",
		"filter_cgroup": o.Cgroup.ID, "filter_subsystem": subsystem, "wanted_comm": commBytes(o.Comm),
		"fd_argument": o.FDArguments, "v1_subsystems": v1Hierarchies(subsystems),
	})
	if err := setAll(spec, settings); err != nil {
		return err
	}
	spec.Maps["records"].MaxEntries = o.RingBytes
	spec.Maps["thread_hash"].MaxEntries = o.States
	spec.Maps["call_hash"].MaxEntries = o.States
	return nil
}

// commBytes is a thread's name as the kernel keeps it.
func commBytes(name string) (comm [16]byte) {
	copy(comm[:15], name)
	return comm
}

func setAll(spec *ebpf.CollectionSpec, settings map[string]any) error {
	for name, value := range settings {
		v, ok := spec.Variables[name]
		if !ok {
			return fmt.Errorf("the kernel side has no setting %s", name)
		}
		if err := v.Set(value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// subsystemIDs are the kernel's numbers of its cgroup controllers, each plus
// one. They depend on the kernel's configuration: only BTF knows them.
func subsystemIDs(kernel *btf.Spec) map[string]uint8 {
	ids := map[string]uint8{}
	var enum *btf.Enum
	if kernel.TypeByName("cgroup_subsys_id", &enum) != nil {
		return ids
	}
	for _, value := range enum.Values {
		if name, ok := strings.CutSuffix(value.Name, "_cgrp_id"); ok {
			ids[name] = uint8(value.Value) + 1
		}
	}
	ids["blkio"] = ids["io"] // the controller's name in v1
	return ids
}

// v1Hierarchies are the controllers whose v1 hierarchies name a thread's cgroup, best first.
func v1Hierarchies(subsystems map[string]uint8) (ids [4]uint8) {
	n := 0
	for _, name := range []string{"memory", "io", "pids", "cpu"} {
		if id := subsystems[name]; id != 0 {
			ids[n] = id
			n++
		}
	}
	return ids
}
