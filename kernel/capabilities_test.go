// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/kernel"
)

const (
	bpfBit      = uint64(1) << 39
	perfmonBit  = uint64(1) << 38
	sysAdminBit = uint64(1) << 21
)

func TestMissingCapabilities(t *testing.T) {
	for _, c := range []struct {
		name     string
		rights   kernel.Rights
		missing  []string
		sentence string
	}{
		{"none", kernel.Rights{Known: true, LastCap: 40}, []string{"CAP_BPF", "CAP_PERFMON"}, "iowitness needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); this process lacks CAP_BPF and CAP_PERFMON: run it with sudo"},
		{"no bpf", kernel.Rights{Known: true, LastCap: 40, Effective: perfmonBit}, []string{"CAP_BPF"}, "iowitness needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); this process lacks CAP_BPF: run it with sudo"},
		{"both", kernel.Rights{Known: true, LastCap: 40, Effective: perfmonBit | bpfBit}, nil, ""},
		{"admin", kernel.Rights{Known: true, LastCap: 40, Effective: sysAdminBit}, nil, ""},
		{"old kernel", kernel.Rights{Known: true, LastCap: 37}, []string{"CAP_SYS_ADMIN"}, "iowitness needs CAP_SYS_ADMIN on this kernel; this process lacks CAP_SYS_ADMIN: run it with sudo"},
		{"unknown last", kernel.Rights{Known: true, LastCap: -1, Effective: bpfBit}, []string{"CAP_PERFMON"}, "iowitness needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); this process lacks CAP_PERFMON: run it with sudo"},
		{"unknown", kernel.Rights{LastCap: 40}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.missing, c.rights.Missing()); diff != "" {
				t.Error(diff)
			}
			if got := c.rights.Sentence(); got != c.sentence {
				t.Errorf("sentence %q, want %q", got, c.sentence)
			}
		})
	}
}

func TestWhatRightsAreReadFrom(t *testing.T) {
	r := kernel.Capabilities(tree(t, map[string]string{
		"proc/self/status":                          "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t2\nNSpid:\t1\n",
		"proc/sys/kernel/cap_last_cap":              "40\n",
		"proc/sys/kernel/unprivileged_bpf_disabled": "2\n",
		"proc/self/ns/user":                         "-> user:[4026532600]",
	}))
	if r.InitialUserNamespace != kernel.Off || r.Seccomp != 2 || r.UnprivilegedBPFDisabled != 2 || len(r.Optional()) != 3 {
		t.Errorf("%+v, optional: %q", r, r.Optional())
	}
}

func TestRightsWithoutProcAreUnknown(t *testing.T) {
	r := kernel.Capabilities(t.TempDir())
	if r.Known || r.Seccomp != -1 || r.LastCap != -1 || len(r.Optional()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRightsOfThisProcess(t *testing.T) {
	if r := kernel.Capabilities("/"); !r.Known || r.LastCap < 0 || r.InitialUserNamespace == kernel.Unknown {
		t.Errorf("%+v", r)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("Name:\tcat\nCapEff:\t000001fffeffffff\nSeccomp:\t0\nNSpid:\t7\t1\n")
	f.Add("CapEff:\tzz")
	f.Add("CapEff\nSeccomp:-9\nNSpid: x")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := kernel.ParseStatus(text)
		if err == nil && s.Seccomp < -1 {
			t.Errorf("seccomp %d", s.Seccomp)
		}
	})
}

func TestSingleCapabilities(t *testing.T) {
	r := kernel.Rights{Known: true, Effective: 1<<16 | bpfBit}
	if !r.Has(kernel.CapSysModule) || r.Lacks(kernel.CapBPF) || !r.Lacks(kernel.CapNetAdmin) || r.Has(kernel.CapSysAdmin) {
		t.Errorf("%+v", r)
	}
	unknown := kernel.Rights{Effective: ^uint64(0)}
	if unknown.Has(kernel.CapBPF) || unknown.Lacks(kernel.CapBPF) {
		t.Error("what is not known is neither there nor lacking")
	}
	if kernel.CapSysModule.String() != "CAP_SYS_MODULE" || kernel.Capability(3).String() != "capability 3" {
		t.Error("names")
	}
}
