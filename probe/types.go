// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// stableClocks are the clock sources whose machines have one scheduler clock for
// all CPUs; elsewhere the clocks of two CPUs may differ by milliseconds.
var stableClocks = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter"}

// hasSchedulerClock says whether instants can be taken from what the scheduler
// has read anyway: its clock, and the run-queue delays that it keeps for each thread.
func hasSchedulerClock(kernel *btf.Spec) bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil || !slices.Contains(stableClocks, strings.TrimSpace(string(source))) {
		return false
	}
	return hasMember(kernel, "sched_info", "last_queued") && hasMember(kernel, "sched_info", "run_delay") &&
		hasMember(kernel, "cfs_rq", "rq") && hasMember(kernel, "rq", "clock")
}

// tellsPrevState looks for the argument prev_state of sched_switch, after preempt, prev and next.
func tellsPrevState(kernel *btf.Spec) bool {
	params := tracepointParams(kernel, "sched_switch")
	if len(params) < 4 {
		return false
	}
	_, isInt := btf.UnderlyingType(params[3].Type).(*btf.Int)
	return isInt
}

// tracepointParams are a tracepoint's arguments, without the data that each has; none if
// the kernel's types do not tell.
func tracepointParams(kernel *btf.Spec, name string) []btf.FuncParam {
	var typedef *btf.Typedef
	if kernel.TypeByName("btf_trace_"+name, &typedef) != nil {
		return nil
	}
	pointer, ok := btf.UnderlyingType(typedef).(*btf.Pointer)
	if !ok {
		return nil
	}
	proto, ok := btf.UnderlyingType(pointer.Target).(*btf.FuncProto)
	if !ok || len(proto.Params) == 0 {
		return nil
	}
	return proto.Params[1:]
}

// hasHelper says whether programs can call a helper of the kernel's.
func hasHelper(kernel *btf.Spec, name string) bool {
	var ids *btf.Enum
	return kernel.TypeByName("bpf_func_id", &ids) == nil &&
		slices.ContainsFunc(ids.Values, func(v btf.EnumValue) bool { return v.Name == "BPF_FUNC_"+name })
}

// hasTaskStorage says whether the kernel keeps values beside its threads (from 5.11).
func hasTaskStorage(kernel *btf.Spec) bool {
	var types *btf.Enum
	return kernel.TypeByName("bpf_map_type", &types) == nil &&
		slices.ContainsFunc(types.Values, func(v btf.EnumValue) bool { return v.Name == "BPF_MAP_TYPE_TASK_STORAGE" })
}

func hasMember(spec *btf.Spec, name, member string) bool {
	var s *btf.Struct
	if spec.TypeByName(name, &s) != nil {
		return false
	}
	return slices.ContainsFunc(s.Members, func(m btf.Member) bool { return m.Name == member })
}
