// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// PerfEvent is the means of samples.
const PerfEvent Means = "perf_event"

var profileMeans = map[ProfileKind][]Means{
	ProfileCPU:    {PerfEvent},
	ProfileOffCPU: byTracepoints,
	ProfileRunQ:   byTracepoints,
}

const (
	offWalkProgram   = "off_walk"
	withoutProcesses = "of programs that begin or end meanwhile functions may be missing or wrong"
)

// rawBut is a raw tracepoint's program that serves by each means but plain tracepoints, which have their own.
func rawBut(name, plain string) map[Means]string {
	return map[Means]string{PerfEvent: name, TPBTF: name, RawTP: name, TP: plain}
}

var processProbes = []Probe{
	{
		ID: "fork", Group: "sched", Point: "sched_process_fork", Witness: "a process or thread is made",
		Programs: rawBut("fork_raw_tp", ""), Optional: true, Without: withoutProcesses,
	},
	{
		ID: "made", Group: "task", Point: "task_newtask", Witness: "a process or thread is made",
		Programs: map[Means]string{TP: "made_tp"},
	},
	{
		ID: "exec", Group: "sched", Point: "sched_process_exec", Witness: "a process begins another program",
		Programs: rawBut("exec_raw_tp", "exec_tp"), Optional: true, Without: withoutProcesses,
	},
	{
		ID: "exit", Group: "sched", Point: "sched_process_exit", Witness: "a thread begins to end",
		Programs: rawBut("exit_raw_tp", "exit_tp"), Optional: true, Without: withoutProcesses,
	},
	{
		ID: "free", Group: "sched", Point: "sched_process_free", Witness: "a thread has ended",
		Programs: rawBut("free_raw_tp", "free_tp"), Optional: true, Without: withoutProcesses,
	},
}

var wakingProbe = Probe{
	ID: "waking", Group: "sched", Point: "sched_waking", Witness: "a thread is woken, and by whom",
	Programs: map[Means]string{TPBTF: "waking_tp_btf", RawTP: "waking_raw_tp", TP: "waking_tp"},
}

// ProfileTables are all by which the CPU is profiled.
var ProfileTables = map[ProfileKind][]Probe{
	ProfileCPU: append([]Probe{{
		ID: "sample", Group: "perf", Point: "cpu-clock or cycles, on each CPU", Witness: "what runs",
		Programs: map[Means]string{PerfEvent: "cpu_sample"},
	}}, processProbes...),
	ProfileOffCPU: append([]Probe{{
		ID: "switch", Group: "sched", Point: "sched_switch", Witness: "a thread stops running and another runs",
		Programs: map[Means]string{TPBTF: "off_switch_tp_btf", RawTP: "off_switch_raw_tp", TP: "off_switch_tp"},
	}, wakingProbe}, processProbes...),
	ProfileRunQ: append([]Probe{{
		ID: "switch", Group: "sched", Point: "sched_switch", Witness: "a thread stops running and another runs",
		Programs: map[Means]string{TPBTF: "runq_switch_tp_btf", RawTP: "runq_switch_raw_tp", TP: "runq_switch_tp"},
	}, wakingProbe, {
		ID: "new", Group: "sched", Point: "sched_wakeup_new", Witness: "a new thread waits for its first CPU",
		Programs: map[Means]string{TPBTF: "new_tp_btf", RawTP: "new_raw_tp", TP: "new_tp"},
	}}, processProbes...),
}

// keep leaves only the programs of one verb and means in the collection, with the maps that they use.
func (p *Profile) keep(spec *ebpf.CollectionSpec, iterates bool) {
	keep := map[string]bool{resolveProgram: iterates, offWalkProgram: iterates && p.kind == ProfileOffCPU}
	for _, point := range ProfileTables[p.kind] {
		keep[point.Programs[p.via]] = true
	}
	used := map[string]bool{"records": true, "losses": true, "wanted_tgids": true, "followed": true, "told": true, "stacks": true}
	for name, program := range spec.Programs {
		if !keep[name] {
			delete(spec.Programs, name)
			continue
		}
		for i := range program.Instructions {
			used[program.Instructions[i].Reference()] = true
		}
	}
	for name := range spec.Maps {
		if !used[name] && !strings.HasPrefix(name, ".") {
			delete(spec.Maps, name)
		}
	}
	for name, entries := range map[string]uint32{"stacks": p.options.Stacks, "sums_even": p.options.Sums, "sums_odd": p.options.Sums} {
		if m := spec.Maps[name]; m != nil {
			m.MaxEntries = entries
		}
	}
	// Programs of perf events may use only preallocated maps until 6.1.
	followed := spec.Maps["followed"]
	followed.Flags = 0
	if followed.MaxEntries = 16384; !p.options.Follow {
		followed.MaxEntries = 1
	}
	spec.Maps["wanted_tgids"].Flags = 0
}

// settings are the constants of the kernel side.
func (p *Profile) settings(types *btf.Spec) map[string]any {
	o := &p.options
	subsystems, vars := subsystemIDs(types), findCPUVars(types)
	count, rest := vars.preemptCount(), vars.idleTime()
	settings := map[string]any{
		"include_self": o.IncludeSelf, "filter_tgid": len(o.PIDs) > 0, "filter_follow": o.Follow,
		"filter_comm": o.Comm != "", "wanted_comm": commBytes(o.Comm),
		"filter_cgroup": o.Cgroup.ID, "filter_subsystem": subsystems[o.Cgroup.Controller], "v1_subsystems": v1Hierarchies(subsystems),
		"kernel_only": o.KernelOnly, "storage_by_hash": p.via == RawTP || p.via == TP || !o.hasStorage(types),
		"tells_prev_state": tellsPrevState(types), "preempt_count_from_rq": count.fromRunQueue, "interrupt_bits": count.interruptBits,
		"least_ns": uint64(max(o.Least, 0)), "long_ns": uint64(o.Long), "wanted_states": o.States, "kernel_threads": o.Threads,
		"unwinds_late": p.via == TPBTF, "idle_from_rq": rest.idle, "iowait_from_rq": rest.iowait,
	}
	if p.events != nil {
		if p.events.period > 0 && rest.idle == 0 {
			p.notes = append(p.notes, "a CPU that took no sample may have been idle: this kernel's types do not tell where it counts its idle time")
		}
		settings["period_ns"], settings["sample_ns"] = uint64(p.events.period), uint64(time1e9)/uint64(o.Frequency)
	}
	return settings
}

const time1e9 = 1_000_000_000

func (o *ProfileOptions) hasStorage(types *btf.Spec) bool { return !o.old && hasTaskStorage(types) }

// memberOffset finds a member, also in structs and unions without a name, in bytes.
func memberOffset(spec *btf.Spec, name, member string) (uint32, bool) {
	var s *btf.Struct
	if spec.TypeByName(name, &s) != nil {
		return 0, false
	}
	return offsetIn(s.Members, member)
}

func offsetIn(members []btf.Member, name string) (uint32, bool) {
	for _, m := range members {
		if m.Name == name {
			return m.Offset.Bytes(), true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if at, ok := offsetIn(inner, name); ok {
			return m.Offset.Bytes() + at, true
		}
	}
	return 0, false
}

// profileShares are the losses that other witnesses have too.
var profileShares = []string{"ring_identity", "no_wake", "name_cut", "clock", "follow_full", "no_end"}

// profileLossNames go on where those of block requests end.
var profileLossNames = []Loss{
	{ID: "prof_threads", Title: "not counted: no memory for the thread's state"},
	{ID: "prof_sums", Title: "not counted: no room for another stack and thread"},
	{ID: "prof_kernel", Title: "counted without the kernel's stack: it could not be taken"},
	{ID: "prof_user", Title: "counted without the program's stack: it could not be taken"},
	{ID: "prof_room", Title: "counted without a stack: no room for another one"},
	{ID: "prof_collision", Title: "counted without a stack: another one has its number"},
	{ID: "prof_shed", Title: "counted without stacks: detail was shed"},
	{ID: "prof_pairs", Title: "wake-ups not told by pair: no room for another one"},
	{ID: "prof_budget", Title: "long waits for a CPU not told one by one: the interval's budget was used up"},
	{ID: "ring_process", Title: "processes not told: the ring was full"},
	{ID: "ring_runq", Title: "long waits for a CPU not told one by one: the ring was full"},
	{ID: "prof_gaps", Title: "gaps between samples not told by place: no room for another one"},
}
