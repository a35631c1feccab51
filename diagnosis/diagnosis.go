// SPDX-License-Identifier: Apache-2.0

// Package diagnosis is what a host can do for iowitness, as plain values: which
// means of witnessing work there, and why others do not. It describes its fields
// once, for all views and documents.
package diagnosis

// Verdict says whether a means works for this process on this host.
type Verdict string

// The verdicts.
const (
	Usable   Verdict = "usable"
	Unusable Verdict = "unusable" // refused or missing; more privileges would not help, or which are missing is said
	Untried  Verdict = "untried"  // privileges ended the trial before the kernel could show what it has
)

// Report is the diagnosis of a host.
type Report struct {
	Version string // of iowitness
	Kernel  string // release; "": unknown

	Means     []Means    // in order of preference, best first
	Verbs     []Verb     // what is witnessed besides waits
	Functions []Function // the targets of the means by functions
	Facts     []Fact     // in the order of FactTable
	Notes     []string   // sentences: what could not be tried or read, and the way out
}

// AnyUsable says whether waits can be witnessed at all.
func (r *Report) AnyUsable() bool {
	for i := range r.Means {
		if r.Means[i].Verdict == Usable {
			return true
		}
	}
	return false
}

// Means is a way to witness waits, and what became of it here.
type Means struct {
	ID      string
	Title   string
	Verdict Verdict
	Used    bool   // it is what iowitness takes without --via
	Reason  string // why it is not usable, with the way out; "" if it is
	Needs   []string
	Loses   []string // against the best means
	Notes   []string // sentences: what else is missing here, though it works
}

// Verb is something that is witnessed besides waits, by a command of its own.
type Verb struct {
	ID      string // of the command
	Title   string // what it witnesses
	Verdict Verdict
	Means   string // by which it does; "": by none
	Reason  string // why it cannot, of each means that it has; "" if it can
	Notes   []string
}

// Function is a kernel function that means by functions probe.
type Function struct {
	Name    string
	Waits   string // what is waited for there, in a few words
	Flagged bool   // the kernel calls these waits iowait
	Module  string // that has it, where it is not in the kernel itself

	Symbols          []string // taken: of that name, or else what the compiler made of it; nil: not there
	NotSeen          []string // other symbols of it, by which calls go unseen
	ArgumentsChanged bool     // the compiler may have changed the arguments
	Copies           int      // functions of the same name, of which a probe by name gets one; 1: it is clear

	Blacklisted string // the kernel refuses kprobes on it: "on", "off" or "unknown"
	Traceable   string // ftrace can witness its entry: "on", "off" or "unknown"
	Denied      string // why iowitness refuses it; "": it does not

	Note  string // what is to be said of the symbols; "": nothing
	Means []FunctionMeans
}

// FunctionMeans says whether a means can witness a function.
type FunctionMeans struct {
	ID      string
	Verdict Verdict
	Reason  string
}

// Usable are the ids of the means that can witness the function.
func (f *Function) Usable() []string {
	var ids []string
	for _, m := range f.Means {
		if m.Verdict == Usable {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// Fact is something that the kernel or this process says of itself.
type Fact struct {
	ID    string
	Value any    // string, int64, bool or []string, as FactTable says; nil: unknown
	Note  string // what it means here; "": nothing to be said
}
