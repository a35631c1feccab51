// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"strings"
)

// Capability is the number of a capability (capabilities(7)).
type Capability int

// The capabilities that matter here.
const (
	CapDACOverride Capability = 1
	CapNetAdmin    Capability = 12
	CapSysModule   Capability = 16
	CapSysPtrace   Capability = 19
	CapSysAdmin    Capability = 21
	CapSysResource Capability = 24
	CapSyslog      Capability = 34
	CapPerfmon     Capability = 38
	CapBPF         Capability = 39
)

var capabilityNames = map[Capability]string{
	CapDACOverride: "CAP_DAC_OVERRIDE", CapNetAdmin: "CAP_NET_ADMIN", CapSysModule: "CAP_SYS_MODULE",
	CapSysPtrace: "CAP_SYS_PTRACE", CapSysAdmin: "CAP_SYS_ADMIN", CapSysResource: "CAP_SYS_RESOURCE",
	CapSyslog: "CAP_SYSLOG", CapPerfmon: "CAP_PERFMON", CapBPF: "CAP_BPF",
}

// String is the capability's name.
func (c Capability) String() string {
	if name, ok := capabilityNames[c]; ok {
		return name
	}
	return fmt.Sprintf("capability %d", int(c))
}

// Rights is what this process may do, and what else may refuse it BPF.
type Rights struct {
	Effective               uint64  // capability bits; meaningless unless Known
	Known                   bool    // proc/self/status could be read
	LastCap                 int     // highest capability this kernel has, -1: unknown; CAP_BPF is 39 (5.8)
	Seccomp                 int     // 2: a filter is active, which may refuse bpf(2); -1: unknown
	UnprivilegedBPFDisabled int     // -1: unknown
	InitialUserNamespace    Setting // Off: capabilities do not count for BPF, whatever they are
}

// Capabilities reads the rights of this process from the files below root.
func Capabilities(root string) Rights {
	status, err := ReadStatus(root)
	if err != nil {
		status = Status{Seccomp: UnknownNumber}
	}
	return Rights{
		Effective:               status.Effective,
		Known:                   err == nil,
		LastCap:                 number(root, "proc/sys/kernel/cap_last_cap"),
		Seccomp:                 status.Seccomp,
		UnprivilegedBPFDisabled: number(root, "proc/sys/kernel/unprivileged_bpf_disabled"),
		InitialUserNamespace:    initialNamespace(root, "user", initialUserNamespace),
	}
}

// Has says that this process is known to have a capability.
func (r Rights) Has(c Capability) bool { return r.Known && r.has(c) }

// Lacks says that this process is known to be without a capability.
func (r Rights) Lacks(c Capability) bool { return r.Known && !r.has(c) }

func (r Rights) has(c Capability) bool { return r.Effective>>c&1 == 1 }

// onlyAdmin: before 5.8 CAP_SYS_ADMIN is the one capability for BPF and perf.
func (r Rights) onlyAdmin() bool { return r.LastCap >= 0 && r.LastCap < int(CapBPF) }

// Missing names the capabilities that the witness needs and this process
// lacks: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN instead of both. It is
// empty if nothing is missing or if the rights are not known.
func (r Rights) Missing() []string {
	switch {
	case !r.Known || r.has(CapSysAdmin):
		return nil
	case r.onlyAdmin():
		return []string{"CAP_SYS_ADMIN"}
	}
	var missing []string
	if !r.has(CapBPF) {
		missing = append(missing, "CAP_BPF")
	}
	if !r.has(CapPerfmon) {
		missing = append(missing, "CAP_PERFMON")
	}
	return missing
}

// Optional names what is lacking but not needed, with what it is for.
func (r Rights) Optional() []string {
	if !r.Known {
		return nil
	}
	var lacking []string
	for _, c := range []struct {
		bit Capability
		use string
	}{
		{CapSysResource, "CAP_SYS_RESOURCE: to raise the limit of locked memory, which kernels before 5.11 ask for"},
		{CapSyslog, "CAP_SYSLOG: to read kernel symbols, without which causes are unknown"},
		{CapSysPtrace, "CAP_SYS_PTRACE: to read executables and working directories of other users' processes"},
	} {
		if !r.has(c.bit) {
			lacking = append(lacking, c.use)
		}
	}
	return lacking
}

// Sentence says what this process lacks and the way out; "" if it lacks nothing.
func (r Rights) Sentence() string {
	missing := r.Missing()
	if len(missing) == 0 {
		return ""
	}
	needs := "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN)"
	if r.onlyAdmin() {
		needs = "CAP_SYS_ADMIN on this kernel"
	}
	return fmt.Sprintf("iowitness needs %s; this process lacks %s: run it with sudo", needs, strings.Join(missing, " and "))
}
