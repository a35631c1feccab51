// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName is a signal's name, such as SIGSEGV; one that has none is told by its number.
func SignalName(number uint32) string {
	if name := unix.SignalName(syscall.Signal(number)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", number)
}

// Codes of signals, of include/uapi/asm-generic/siginfo.h: those below 1 come from programs.
var codes = map[int32]string{
	0: "SI_USER", -1: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ", -4: "SI_ASYNCIO", -5: "SI_SIGIO", -6: "SI_TKILL", 0x80: "SI_KERNEL",
}

// faults are codes that come with an address, by signal, from 1 on.
var faults = map[syscall.Signal][]string{
	unix.SIGILL:  {"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK"},
	unix.SIGFPE:  {"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB"},
	unix.SIGSEGV: {"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"},
	unix.SIGBUS:  {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"},
}

// codeOf names a signal's code; fault says that an address comes with it.
func codeOf(number uint32, code int32) (name string, fault bool) {
	if name := codes[code]; name != "" {
		return name, false
	}
	if names := faults[syscall.Signal(number)]; code > 0 && int(code) <= len(names) {
		return names[code-1], true
	}
	return fmt.Sprintf("code %d", code), false
}
