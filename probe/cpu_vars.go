// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/cilium/ebpf/btf"

// cpuVars say where the kernel's variables of each CPU lie, by name, in bytes from where they begin.
type cpuVars struct {
	types *btf.Spec
	at    map[string]int64
}

// findCPUVars gives none where the kernel's types do not tell, as before 5.15 or so.
func findCPUVars(types *btf.Spec) *cpuVars {
	vars := &cpuVars{types, map[string]int64{}}
	var section *btf.Datasec
	if types.TypeByName(".data..percpu", &section) != nil {
		return vars
	}
	for _, v := range section.Vars {
		vars.at[v.Type.TypeName()] = int64(v.Offset)
	}
	return vars
}

// runQueueVar is the one whose place on this CPU a thread leads to.
const runQueueVar = "runqueues"

// fromRunQueue is how far a place within a variable lies from the CPU's run queue; 0: not known.
func (v *cpuVars) fromRunQueue(variable string, within int64) int64 {
	at, known := v.at[variable]
	runQueue, ok := v.at[runQueueVar]
	if !known || !ok || !hasMember(v.types, "cfs_rq", "rq") {
		return 0
	}
	return at + within - runQueue
}
