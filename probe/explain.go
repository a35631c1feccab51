// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

const (
	noOwnBTF      = "the kernel offers no type information of its own (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF): a file by --btf does not help here"
	noBTF         = "the kernel offers no type information (CONFIG_DEBUG_INFO_BTF): give a file with it by --btf"
	ftraceOff     = "kernel.ftrace_enabled is 0, which stops fexit, kprobe.multi and function tracing for everybody: sysctl kernel.ftrace_enabled=1"
	kprobesOff    = "all kprobes are switched off: echo 1 > /sys/kernel/debug/kprobes/enabled"
	confidential  = "confidentiality"
	noMulti       = "the kernel has no kprobe.multi (CONFIG_FPROBE, from 5.18)"
	noKernelReads = "BPF programs may not read kernel memory, as a trial showed"
)

// explain says why a means failed: first what no privilege changes, then what
// refused it, then the kernel's own words.
func (e *evidence) explain(d *Description, err error) (diagnosis.Verdict, string) {
	if reasons := e.impossible(d); len(reasons) > 0 {
		return diagnosis.Unusable, strings.Join(reasons, "; ")
	}
	switch {
	case d.Means == KprobeMulti && e.has.KprobeMulti == kernel.Absent:
		return diagnosis.Unusable, noMulti
	case d.bpf && e.has.ReadKernel == kernel.Absent:
		return diagnosis.Unusable, e.cannotRead()
	case e.isForbidden(d, err):
		return e.refused(d)
	case errors.Is(err, unix.ENOSYS):
		return diagnosis.Unusable, "the kernel does not have the system call for it (" + plain(err) + ")"
	case errors.Is(err, errNeverRan):
		return diagnosis.Unusable, e.neverRan(d)
	}
	return diagnosis.Unusable, plain(err)
}

// isForbidden says whether an error is about rights. The verifier says the same of programs that it
// finds wrong, and of those that it would take from a process with more capabilities.
func (e *evidence) isForbidden(d *Description, err error) bool {
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
		return false
	}
	var verifier *ebpf.VerifierError
	return !errors.As(err, &verifier) || len(verifier.Log) == 0 || len(e.lacking(d)) > 0
}

// explainWhole says why iowitness's own programs failed where the smallest one worked.
func (e *evidence) explainWhole(d *Description, err error) (diagnosis.Verdict, string) {
	switch {
	case e.facts.BTF != kernel.On && e.btfFile == "" && d.bpf:
		return diagnosis.Unusable, noBTF
	case e.has.RingBuffer == kernel.Absent && d.bpf:
		return diagnosis.Unusable, "the kernel has no BPF ring buffers (5.8)"
	case e.isForbidden(d, err):
		return e.refused(d)
	}
	return diagnosis.Unusable, "the smallest trial of it works, but not what iowitness attaches: " + plain(err)
}

// cannotRead says who keeps BPF from reading kernel memory by address, without
// which names and stacks cannot be had. Some
// kernels load programs that do, and fail each read.
func (e *evidence) cannotRead() string {
	if e.facts.Lockdown == confidential {
		return noKernelReads + ": kernel lockdown (confidentiality) forbids it: boot without lockdown=confidentiality"
	}
	return noKernelReads
}

// impossible are reasons that are certain without a trial.
func (e *evidence) impossible(d *Description) []string {
	var reasons []string
	if lacking := e.config.Without(d.options...); len(lacking) > 0 {
		reasons = append(reasons, "the kernel is built without "+strings.Join(lacking, ", "))
	}
	switch d.Means {
	case TPBTF, Fexit:
		if e.facts.BTF == kernel.Absent && len(reasons) == 0 {
			reasons = append(reasons, noOwnBTF)
		}
	case Kmod:
		reasons = append(reasons, e.noModules(len(reasons) > 0)...)
	}
	if e.facts.Lockdown == confidential && (d.Means == Kretprobe || d.Means == Tracefs || d.Means == TP) {
		reasons = append(reasons, "kernel lockdown (confidentiality) forbids kernel probes and tracefs: boot without lockdown=confidentiality")
	}
	return reasons
}

// noModules are the reasons why no module of ours is loaded.
func (e *evidence) noModules(builtWithout bool) []string {
	var reasons []string
	if e.modules.Supported == kernel.Absent && !builtWithout {
		reasons = append(reasons, "the kernel does not load modules (/proc/modules is not there)")
	}
	if e.modules.Disabled == kernel.On {
		reasons = append(reasons, "kernel.modules_disabled is 1: no module can be loaded until the next boot")
	}
	switch {
	case e.facts.Lockdown == "integrity" || e.facts.Lockdown == confidential:
		reasons = append(reasons, "kernel lockdown ("+e.facts.Lockdown+") forbids unsigned modules: sign it with a key that the kernel trusts, or boot without lockdown")
	case e.modules.Signed == kernel.On:
		reasons = append(reasons, "the kernel loads signed modules only (module.sig_enforce): sign it with a key that the kernel trusts")
	}
	return reasons
}

// cannotBuild says what is missing to build the module where it could be loaded; "": nothing.
func (e *evidence) cannotBuild() string {
	reasons := e.noModules(false)
	if e.noModule != nil {
		reasons = append(reasons, e.noModule.Error())
	}
	return strings.Join(reasons, "; ")
}

// refused says who refused it. A limit of locked memory is blamed only where it
// was seen to count.
func (e *evidence) refused(d *Description) (diagnosis.Verdict, string) {
	if missing := e.lacking(d); len(missing) > 0 {
		reasons := append([]string{"this process lacks " + strings.Join(missing, " and ") + ": run it with sudo"}, e.others(d)...)
		return diagnosis.Untried, strings.Join(reasons, "; ")
	}
	reasons := e.others(d)
	if e.tracefs == "" && (d.Means == TP || d.Means == Tracefs) {
		reasons = append(reasons, e.traceable.Why)
	}
	if len(reasons) > 0 {
		return diagnosis.Unusable, strings.Join(reasons, "; ")
	}
	return diagnosis.Unusable, "not permitted, though this process has every capability for it and no seccomp filter is active: " + e.whoElse()
}

// whoElse is who may have refused what capabilities and filters allow, of which the kernel says nothing.
func (e *evidence) whoElse() string {
	if e.facts.LSMs == nil {
		return "who refuses it is not known, as /sys/kernel/security, which names the security modules, cannot be read"
	}
	return "a security module may refuse it (active: " + strings.Join(e.facts.LSMs, ", ") + ")"
}

// lacking are the capabilities that a means needs and this process lacks.
func (e *evidence) lacking(d *Description) []string {
	var missing []string
	if d.bpf {
		missing = append(missing, e.rights.Missing()...)
	}
	for _, c := range d.capabilities {
		if e.rights.Lacks(c) {
			missing = append(missing, c.String())
		}
	}
	switch {
	case d.Means == Tracefs && e.rights.Lacks(kernel.CapDACOverride):
		missing = append(missing, "the rights of root on files (CAP_DAC_OVERRIDE)")
	case d.Means == Taskstats && e.rights.Lacks(kernel.CapNetAdmin):
		missing = append(missing, kernel.CapNetAdmin.String())
	}
	return missing
}

// others are what may refuse it beside capabilities.
func (e *evidence) others(d *Description) []string {
	var reasons []string
	if e.rights.InitialUserNamespace == kernel.Off {
		reasons = append(reasons, "this process is in a user namespace, whose capabilities do not count here: run it outside")
	}
	if e.rights.Seccomp == 2 {
		reasons = append(reasons, "a seccomp filter is active, as container runtimes set it, and may refuse the system calls for it: allow "+syscallsOf(d)+", or run it outside the container")
	}
	if d.bpf && e.rights.UnprivilegedBPFDisabled > 0 && len(e.rights.Missing()) > 0 {
		reasons = append(reasons, fmt.Sprintf("kernel.unprivileged_bpf_disabled is %d, so BPF is refused without capabilities", e.rights.UnprivilegedBPFDisabled))
	}
	if d.bpf && e.has.MemlockCounts == kernel.On && e.has.MemlockBytes >= 0 && e.rights.Lacks(kernel.CapSysResource) {
		reasons = append(reasons, fmt.Sprintf("the kernel counts BPF memory against RLIMIT_MEMLOCK, as a trial showed; it is %d bytes, and CAP_SYS_RESOURCE to raise it is missing", e.has.MemlockBytes))
	}
	return reasons
}

func syscallsOf(d *Description) string {
	switch {
	case d.bpf:
		return "bpf and perf_event_open"
	case d.Means == Kmod:
		return "init_module and finit_module"
	}
	return "mount and socket"
}

func (e *evidence) neverRan(d *Description) string {
	switch {
	case d.functions && e.tracing.Ftrace == kernel.Off:
		return ftraceOff
	case d.functions && d.Means != Fexit && e.tracing.Kprobes == kernel.Off:
		return kprobesOff
	}
	return errNeverRan.Error()
}

// plain is an error in one line: the verifier's last words, without the guesses of libraries.
func plain(err error) string {
	text := strings.TrimPrefix(reason(err), ErrUnsupported.Error()+": ")
	text = strings.ReplaceAll(text, "program "+trialProgram+": ", "")
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		text += lastWords(verifier.Log)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " ")
}

const maxWords = 160

// lastWords is the line of a verifier's log that says what it did not like.
func lastWords(log []string) string {
	for _, line := range slices.Backward(log) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "processed ") || strings.HasPrefix(line, "verification time ") || strings.HasPrefix(line, "stack depth ") {
			continue
		}
		return ": " + line[:min(len(line), maxWords)]
	}
	return ""
}

// hintless takes a library's guess out of an error: that the limit of locked
// memory is to blame is said without any proof, of every EPERM.
type hintless struct{ error }

const memlockHint = " (MEMLOCK may be too low, consider rlimit.RemoveMemlock)"

func (h hintless) Error() string { return strings.ReplaceAll(h.error.Error(), memlockHint, "") }

// Unwrap implements errors.Unwrap.
func (h hintless) Unwrap() error { return h.error }

func withoutHint(err error) error {
	if err == nil {
		return nil
	}
	return hintless{err}
}
