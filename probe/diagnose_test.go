// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

func TestAHostOnWhichAllWorks(t *testing.T) {
	r := usual().diagnose(t)
	if got := usableIDs(r); got != "tp_btf raw_tp tp fexit kretprobe tracefs kmod taskstats" {
		t.Errorf("usable: %s", got)
	}
	for i := range r.Means {
		if r.Means[i].Used != (i == 0) || len(r.Means[i].Needs) == 0 || (len(r.Means[i].Loses) == 0) != (i == 0) {
			t.Errorf("%+v", r.Means[i])
		}
	}
	for _, f := range r.Functions {
		if got := strings.Join(f.Usable(), " "); got != "fexit kretprobe tracefs kmod" {
			t.Errorf("%s by %q: %+v", f.Name, got, f)
		}
	}
}

func TestReasons(t *testing.T) {
	eperm := fmt.Errorf("attach: %w", unix.EPERM)
	noProgram := &ebpf.VerifierError{Cause: unix.EINVAL, Log: []string{"0: (85) call bpf_probe_read_kernel#113", "unknown func bpf_probe_read_kernel#113", "processed 1 insns"}}
	for _, c := range []struct {
		name    string
		host    *host
		means   Means
		verdict diagnosis.Verdict
		says    []string
		not     string
	}{
		{
			"confidentiality: tracepoints cannot read",
			func() *host {
				h := usual().with("sys/kernel/security/lockdown", "none integrity [confidentiality]\n")
				h.wholes[TPBTF], h.has.ReadKernel = noProgram, kernel.Absent
				return h
			}(),
			TPBTF, diagnosis.Unusable,
			[]string{"may not read kernel memory", "lockdown (confidentiality)"},
			"",
		},
		{
			"confidentiality: no kprobes",
			func() *host {
				h := usual().with("sys/kernel/security/lockdown", "none integrity [confidentiality]\n")
				h.fails[Kretprobe] = eperm
				return h
			}(),
			Kretprobe, diagnosis.Unusable,
			[]string{"lockdown (confidentiality) forbids kernel probes"},
			"security module",
		},
		{
			"integrity: no modules, though they could be built",
			usual().with("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
			Kmod, diagnosis.Unusable,
			[]string{"lockdown (integrity) forbids unsigned modules"},
			"headers",
		},
		{
			"no BTF: BTF tracepoints",
			func() *host {
				h := usual().without("sys/kernel/btf/vmlinux")
				h.fails[TPBTF] = errors.New("not found")
				return h
			}(),
			TPBTF, diagnosis.Unusable,
			[]string{"no type information of its own", "--btf does not help"},
			"",
		},
		{
			"no BTF: raw tracepoints",
			func() *host {
				h := usual().without("sys/kernel/btf/vmlinux")
				h.wholes[RawTP] = fmt.Errorf("%w: no BTF", ErrUnsupported)
				return h
			}(),
			RawTP, diagnosis.Unusable,
			[]string{"give a file with it by --btf"},
			"",
		},
		{
			"a container without tracefs",
			func() *host {
				h := usual()
				h.place, h.traceable = "", kernel.Listing{Why: "tracefs is not mounted"}
				h.fails[TP], h.fails[Tracefs] = eperm, eperm
				return h
			}(),
			TP, diagnosis.Unusable,
			[]string{"tracefs is not mounted"},
			"security module",
		},
		{
			"no capabilities",
			usual().bpfRefused().with("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0\n").with("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"),
			RawTP, diagnosis.Untried,
			[]string{"lacks CAP_BPF and CAP_PERFMON", "unprivileged_bpf_disabled is 2"},
			"MEMLOCK",
		},
		{
			"one capability",
			usual().bpfRefused().with("proc/self/status", fmt.Sprintf("CapEff:\t%016x\nSeccomp:\t0\n", uint64(1)<<kernel.CapPerfmon)),
			Fexit, diagnosis.Untried,
			[]string{"lacks CAP_BPF: run it with sudo"},
			"CAP_PERFMON",
		},
		{
			"before CAP_BPF",
			usual().bpfRefused().with("proc/self/status", "CapEff:\t0\nSeccomp:\t0\n").with("proc/sys/kernel/cap_last_cap", "37\n"),
			TPBTF, diagnosis.Untried,
			[]string{"lacks CAP_SYS_ADMIN"},
			"CAP_BPF",
		},
		{
			"a seccomp filter",
			usual().bpfRefused().with("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t2\n"),
			TPBTF, diagnosis.Unusable,
			[]string{"seccomp filter", "allow bpf and perf_event_open"},
			"security module",
		},
		{
			"a user namespace",
			usual().bpfRefused().with("proc/self/ns/user", "-> user:[4026532600]"),
			TPBTF, diagnosis.Unusable,
			[]string{"user namespace"},
			"security module",
		},
		{
			"a security module",
			func() *host {
				h := usual().with("sys/kernel/security/lsm", "lockdown,capability,bpf")
				h.fails[Fexit] = eperm
				return h
			}(),
			Fexit, diagnosis.Unusable,
			[]string{"a security module may refuse it (active: lockdown, capability, bpf)"},
			"MEMLOCK",
		},
		{
			"a limit of locked memory that counts",
			func() *host {
				h := usual().bpfRefused().with("proc/self/status", fmt.Sprintf("CapEff:\t%016x\nSeccomp:\t0\n", uint64(1)<<kernel.CapSysAdmin))
				h.has.MemlockCounts, h.has.MemlockBytes = kernel.On, 65536
				return h
			}(),
			TPBTF, diagnosis.Unusable,
			[]string{"as a trial showed", "65536 bytes", "CAP_SYS_RESOURCE"},
			"security module",
		},
		{
			"a limit that does not count is not blamed",
			usual().bpfRefused().with("proc/self/status", fmt.Sprintf("CapEff:\t%016x\nSeccomp:\t0\n", uint64(1)<<kernel.CapSysAdmin)),
			TPBTF, diagnosis.Unusable,
			[]string{"security module"},
			"MEMLOCK",
		},
		{
			"no kprobes built in",
			func() *host {
				h := usual().with("boot/config-6.12.1", "CONFIG_BPF_SYSCALL=y\n# CONFIG_KPROBES is not set\n")
				h.fails[Kretprobe] = errors.New("not supported")
				return h
			}(),
			Kretprobe, diagnosis.Unusable,
			[]string{"built without", "CONFIG_KPROBES"},
			"",
		},
		{
			"kprobes switched off",
			func() *host {
				h := usual().with("sys/kernel/debug/kprobes/enabled", "0\n")
				h.fails[Kretprobe] = errNeverRan
				return h
			}(),
			Kretprobe, diagnosis.Unusable,
			[]string{"echo 1 > /sys/kernel/debug/kprobes/enabled"},
			"",
		},
		{
			"ftrace switched off",
			func() *host {
				h := usual().with("proc/sys/kernel/ftrace_enabled", "0\n")
				h.fails[Fexit] = errNeverRan
				return h
			}(),
			Fexit, diagnosis.Unusable,
			[]string{"sysctl kernel.ftrace_enabled=1"},
			"",
		},
		{
			"signed modules only", usual().with("sys/module/module/parameters/sig_enforce", "Y\n"),
			Kmod, diagnosis.Unusable,
			[]string{"signed modules only"},
			"",
		},
		{
			"no module until the next boot",
			func() *host {
				h := usual().with("proc/sys/kernel/modules_disabled", "1\n")
				h.fails[Kmod] = eperm
				return h
			}(),
			Kmod, diagnosis.Unusable,
			[]string{"modules_disabled is 1"},
			"security module",
		},
		{
			"no headers",
			func() *host {
				h := usual()
				h.noModule = errors.New("there are no headers of Linux 6.12.1")
				return h
			}(),
			Kmod, diagnosis.Unusable,
			[]string{"no headers of Linux 6.12.1"},
			"",
		},
		{
			"not root, for modules",
			func() *host {
				h := usual().with("proc/self/status", fmt.Sprintf("CapEff:\t%016x\nSeccomp:\t0\n", uint64(1)<<kernel.CapBPF))
				h.fails[Kmod] = eperm
				return h
			}(),
			Kmod, diagnosis.Untried,
			[]string{"lacks CAP_SYS_MODULE"},
			"CAP_PERFMON",
		},
		{
			"the verifier",
			func() *host {
				h := usual()
				h.wholes[TPBTF] = noProgram
				return h
			}(),
			TPBTF, diagnosis.Unusable,
			[]string{"verifier refused it", "unknown func bpf_probe_read_kernel#113"},
			"processed",
		},
		{
			"no system call",
			func() *host {
				h := usual()
				h.fails[TPBTF] = fmt.Errorf("map create: %w", unix.ENOSYS)
				return h
			}(),
			TPBTF, diagnosis.Unusable,
			[]string{"does not have the system call"},
			"",
		},
		{"no /proc", usual().without("proc/self/stat"), Taskstats, diagnosis.Unusable, []string{"mount -t proc"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := meansOf(t, c.host.diagnose(t), c.means)
			if m.Verdict != c.verdict {
				t.Errorf("%s, not %s", m.Verdict, c.verdict)
			}
			for _, part := range c.says {
				if !strings.Contains(m.Reason, part) {
					t.Errorf("%q does not say %q", m.Reason, part)
				}
			}
			if c.not != "" && strings.Contains(m.Reason, c.not) {
				t.Errorf("%q says %q", m.Reason, c.not)
			}
		})
	}
}

// TestTaskstatsIsMarked (case G4): what is not known is never told as 0.
func TestTaskstatsIsMarked(t *testing.T) {
	h := usual().with("proc/sys/kernel/task_delayacct", "0\n").with("proc/self/status", "CapEff:\t0\nSeccomp:\t0\n")
	h.fails[Taskstats] = fmt.Errorf("asking: %w", unix.EPERM)
	m := meansOf(t, h.diagnose(t), Taskstats)
	if notes := strings.Join(m.Notes, "\n"); m.Verdict != diagnosis.Usable || !strings.Contains(notes, "lacks CAP_NET_ADMIN") || !strings.Contains(notes, "which is not 0: sysctl kernel.task_delayacct=1") {
		t.Errorf("%+v", m)
	}
}

func TestTheBestMeansThatWorksIsUsed(t *testing.T) {
	h := usual()
	h.wholes[TPBTF] = errors.New("no")
	r := h.diagnose(t)
	if meansOf(t, r, TPBTF).Used || !meansOf(t, r, RawTP).Used {
		t.Errorf("%+v", r.Means)
	}
	h = usual().bpfRefused().without("proc/self/stat").with("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
	h.fails[Tracefs] = unix.EPERM
	if r := h.diagnose(t); r.AnyUsable() {
		t.Errorf("usable: %s", usableIDs(r))
	}
}

func TestAllFactsAreTold(t *testing.T) {
	for name, h := range map[string]*host{"usual": usual(), "nothing": {files: map[string]string{}}} {
		r := h.diagnose(t)
		if len(r.Facts) != len(diagnosis.FactTable) {
			t.Fatalf("%s: %d facts", name, len(r.Facts))
		}
		for i, f := range r.Facts {
			described := diagnosis.FactTable[i]
			if f.ID != described.ID || !fits(f.Value, described) {
				t.Errorf("%s: %s = %#v, where %s is due (null: %v)", name, f.ID, f.Value, described.Kind, described.Nullable)
			}
		}
	}
}

func TestFactsAndTheirTableAgree(t *testing.T) {
	told := slices.Sorted(maps.Keys((&evidence{}).factValues()))
	var described []string
	for _, f := range diagnosis.FactTable {
		described = append(described, f.ID)
	}
	slices.Sort(described)
	if diff := cmp.Diff(described, told); diff != "" {
		t.Error(diff)
	}
}

func fits(value any, f diagnosis.Field) bool {
	switch value.(type) {
	case nil:
		return f.Nullable
	case string:
		return f.Kind == diagnosis.Text
	case int64:
		return f.Kind == diagnosis.Integer
	case bool:
		return f.Kind == diagnosis.Boolean
	case []string:
		return f.Kind == diagnosis.List
	}
	return false
}
