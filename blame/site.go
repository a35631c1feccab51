// SPDX-License-Identifier: Apache-2.0

package blame

import "strings"

// Evidence is what is known of the place where a thread sleeps.
type Evidence struct {
	Stack         []string // function names, innermost first; compiler suffixes allowed
	Proc          bool     // the stack lacks the scheduler's functions, as those of /proc do
	Flagged       bool     // the kernel calls it iowait
	FlagUnknown   bool     // or it may do so
	Interruptible bool     // state S with in_iowait set
	Joined        bool     // a block request's completion woke the thread
	Syscall       string   // name without prefix, e.g. "fsync"; "" if none or unknown
	Fault         bool     // no system call: a page fault, or a kernel thread
	Kernel        bool     // a kernel thread
}

// Classify finds the cause of a wait. It gives Unknown for an empty stack and
// for one that no rule explains; it never guesses.
func Classify(e Evidence) Cause {
	if r := explain(&e); r != nil {
		return r.cause
	}
	return Unknown
}

// explain finds the rule that decides, or nil.
func explain(e *Evidence) *rule {
	if e.Proc && len(e.Stack) > 1 {
		return explainProc(e)
	}
	s := &site{Evidence: e, frames: ownFrames(functions(e.Stack))}
	for _, t := range tables(s) {
		if r := t.find(s); r != nil {
			return r
		}
	}
	return nil
}

// site is evidence made ready for the rules.
type site struct {
	*Evidence
	frames []string // innermost first
}

// functions takes away what compilers and stack printers add to names: "f.isra.0"
// and "f+0x1f [xfs]" are f. No kernel function has a dot in its own name.
func functions(stack []string) []string {
	frames := make([]string, 0, len(stack))
	for _, name := range stack {
		if i := strings.IndexAny(name, ".+ [\t"); i >= 0 {
			name = name[:i]
		}
		if name != "" {
			frames = append(frames, name)
		}
	}
	return frames
}

// faultEntries are where a fault enters the kernel, by architecture and version.
var faultEntries = []string{
	"asm_exc_page_fault", "page_fault", "async_page_fault", "exc_page_fault",
	"do_mem_abort", "do_DataAbort", "do_PrefetchAbort", "do_page_fault", "do_dat_exception",
}

// ownFrames drops what lies outside the innermost page fault. A fault is an
// errand of its own: that it happened while copying for a write, say, does not
// tell what it waits for.
func ownFrames(frames []string) []string {
	for i, name := range frames {
		if anyMatches(faultEntries, name) {
			return frames[:i+1]
		}
	}
	return frames
}
