// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// TestARefusalGivesTheDoctorsReason, whatever the attempt itself failed with.
func TestARefusalGivesTheDoctorsReason(t *testing.T) {
	noKprobes := "CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_EVENTS=y\nCONFIG_PERF_EVENTS=y\n"
	wrong := &ebpf.VerifierError{Cause: unix.EACCES, Log: []string{"R1 invalid mem access 'scalar'"}}
	for _, c := range []struct {
		name      string
		host      *host
		via       Means
		err       error
		says, not string
	}{
		{
			"no kernel probes built in", usual().with("boot/config-6.12.1", noKprobes), Kretprobe,
			errors.New("neither debugfs nor tracefs are mounted"), "built without CONFIG_KPROBE_EVENTS, CONFIG_KPROBES, CONFIG_KRETPROBES", "not mounted",
		},
		{
			"no probe for many functions built in", usual().with("boot/config-6.12.1", noKprobes+"CONFIG_KPROBES=y\nCONFIG_KRETPROBES=y\n"), KprobeMulti,
			errors.New("filters differ"), "built without CONFIG_FPROBE", "CONFIG_KPROBES",
		},
		{
			"an option that is built in is not missed", usual().with("boot/config-6.12.1", noKprobes+"CONFIG_KPROBES=y\nCONFIG_KRETPROBES=y\nCONFIG_FPROBE=y\n"), KprobeMulti,
			errors.New("filters differ"), "filters differ", "CONFIG_",
		},
		{
			"no probe for many functions, of a kernel whose options are not known", usual().having(func(f *bpfFeatures) { f.KprobeMulti = kernel.Absent }), KprobeMulti,
			wrong, "the kernel has no kprobe.multi", "invalid",
		},
		{
			"security modules are known", usual(), Fexit,
			fmt.Errorf("load: %w", unix.EPERM), "a security module may refuse it (active: lockdown, capability, landlock)", "refuses it",
		},
		{
			"security modules are not known", usual().without("sys/kernel/security/lsm"), Fexit,
			&ebpf.VerifierError{Cause: unix.EPERM}, "who refuses it is not known, as /sys/kernel/security", "verifier",
		},
		{
			"what the verifier finds wrong is not forbidden", usual(), Fexit,
			wrong, "invalid mem access", "not permitted",
		},
		{
			"what the verifier wants capabilities for is", usual().with("proc/self/status", "CapEff:\t0\nSeccomp:\t0\n"), Fexit,
			wrong, "lacks CAP_BPF and CAP_PERFMON", "invalid",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r refusals
			r.host = c.host.evidence(t)
			r.add(c.via, c.err)
			if got := r.String(); !strings.HasPrefix(got, string(c.via)+": ") || !strings.Contains(got, c.says) || c.not != "" && strings.Contains(got, c.not) {
				t.Error(got)
			}
		})
	}
}

// TestCallsAreRefusedAsTheDoctorSays, of each means that does not work here.
func TestCallsAreRefusedAsTheDoctorSays(t *testing.T) {
	lab.NeedRoot(t)
	find, targets := findCalls(t, "vfs_read")
	reasons := map[string]string{}
	for _, m := range thisHost().Means {
		reasons[m.ID] = m.Reason
	}
	catalog, err := List("/", ListOptions{Patterns: []string{"vfs_read"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range catalog.Means {
		if told, ok := reasons[m.ID]; ok && told != m.Reason {
			t.Errorf("%s: the list says %q, and the doctor %q", m.ID, m.Reason, told)
		}
		w, err := OpenCallWitness(find, targets, CallOptions{Sums: true, Via: Means(m.ID)})
		switch {
		case err == nil:
			w.Close()
			if m.Verdict != diagnosis.Usable {
				t.Errorf("%s works, though it is said: %s", m.ID, m.Reason)
			}
		case m.Verdict != diagnosis.Usable && !strings.Contains(err.Error(), m.ID+": "+m.Reason):
			t.Errorf("%v, where %q was said", err, m.Reason)
		}
	}
}

func (h *host) having(change func(*bpfFeatures)) *host {
	change(&h.has)
	return h
}

// evidence is what is read of the host.
func (h *host) evidence(t *testing.T) *evidence {
	t.Helper()
	e := gatherHost(h.root(t), DiagnoseOptions{})
	e.has = h.has
	if e.facts.BTF != kernel.On {
		t.Fatal("the host has no BTF")
	}
	return e
}
