// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/cilium/ebpf/btf"

// cpuVars say where the kernel's variables of each CPU lie, by name, in bytes from where they begin.
type cpuVars map[string]int64

// findCPUVars gives none where the kernel's types do not tell, as before 5.15 or so.
func findCPUVars(types *btf.Spec) cpuVars {
	vars := cpuVars{}
	var section *btf.Datasec
	if types.TypeByName(".data..percpu", &section) != nil {
		return vars
	}
	for _, v := range section.Vars {
		vars[v.Type.TypeName()] = int64(v.Offset)
	}
	return vars
}

// runQueueVar is the one whose place on this CPU a thread leads to.
const runQueueVar = "runqueues"

// fromRunQueue is how far a place within a variable lies from the CPU's run queue; 0: not known.
func (v cpuVars) fromRunQueue(types *btf.Spec, variable string, within int64) int64 {
	at, known := v[variable]
	runQueue, ok := v[runQueueVar]
	if !known || !ok || !hasMember(types, "cfs_rq", "rq") {
		return 0
	}
	return at + within - runQueue
}
