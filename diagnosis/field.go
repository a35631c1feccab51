// SPDX-License-Identifier: Apache-2.0

package diagnosis

// Kind is the type of a value.
type Kind string

// The kinds, as documents name them.
const (
	Text    Kind = "string"
	Integer Kind = "integer"
	Boolean Kind = "boolean"
	List    Kind = "list" // of strings, unless the help says otherwise
	Object  Kind = "object"
)

// Field describes a key of the JSON document. Ids are stable.
type Field struct {
	ID       string
	Kind     Kind
	Nullable bool   // null: not known, or nothing to be said
	Title    string // in views
	Help     string
}

// DocumentFields are the keys of the document.
var DocumentFields = []Field{
	{ID: "schema", Kind: Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: Text, Nullable: true, Help: "Release of the kernel."},
	{ID: "usable", Kind: List, Help: "Ids of the means that work here, best first; empty: exit status 3."},
	{ID: "used", Kind: Text, Nullable: true, Help: "Id of the means that iowitness takes without --via."},
	{ID: "means", Kind: List, Help: "All means in order of preference, as objects."},
	{ID: "verbs", Kind: List, Help: "The commands that witness something besides waits, as objects."},
	{ID: "functions", Kind: List, Help: "The kernel functions that means by functions probe, as objects."},
	{ID: "facts", Kind: Object, Help: "What decides: an object for each fact, by its id."},
	{ID: "notes", Kind: List, Help: "Sentences: what could not be tried or read, and the way out."},
}

// MeansFields are the keys of an element of means.
var MeansFields = []Field{
	{ID: "id", Kind: Text, Help: "Id, as `--via` takes it."},
	{ID: "title", Kind: Text, Help: "What it is."},
	{ID: "verdict", Kind: Text, Help: "usable: it was tried and worked; unusable: it was refused or cannot be here; untried: privileges are missing, so it is not known what the kernel would do."},
	{ID: "used", Kind: Boolean, Help: "It is what iowitness takes without --via."},
	{ID: "reason", Kind: Text, Nullable: true, Help: "Why it is not usable, and the way out; null: it is."},
	{ID: "needs", Kind: List, Help: "What it needs."},
	{ID: "loses", Kind: List, Help: "What it does not tell that the best means tells."},
	{ID: "notes", Kind: List, Help: "Sentences: what else is missing here, though it works."},
}

// VerbFields are the keys of an element of verbs.
var VerbFields = []Field{
	{ID: "id", Kind: Text, Help: "The command: block, fs, cpu, offcpu or runq."},
	{ID: "title", Kind: Text, Help: "What it witnesses."},
	{ID: "verdict", Kind: Text, Help: "As in means: what it loads and attaches was tried, with its gate closed."},
	{ID: "means", Kind: Text, Nullable: true, Help: "Id of the means that it takes; null: none works."},
	{ID: "reason", Kind: Text, Nullable: true, Help: "Why it cannot run, for each of its means; null: it can."},
	{ID: "notes", Kind: List, Help: "Sentences: what it does not tell here."},
}

// FunctionFields are the keys of an element of functions.
var FunctionFields = []Field{
	{ID: "name", Kind: Text, Help: "Name of the function in the kernel's source."},
	{ID: "waits_for", Kind: Text, Help: "What threads wait for there."},
	{ID: "flagged", Kind: Boolean, Help: "The kernel calls these waits iowait."},
	{ID: "module", Kind: Text, Nullable: true, Help: "Module that may have it; null: the kernel itself has it."},
	{ID: "symbols", Kind: List, Help: "Symbols taken: that of the name, else what the compiler made of it (.isra.N, .constprop.N, .part.N); empty: none is there."},
	{ID: "not_seen", Kind: List, Help: "Other symbols of the function: what runs by them is not seen."},
	{ID: "arguments_changed", Kind: Boolean, Help: "The compiler may have changed the arguments of a symbol taken."},
	{ID: "copies", Kind: Integer, Help: "Functions that share the symbol's name; a probe by name cannot tell more than one apart."},
	{ID: "blacklisted", Kind: Text, Help: "In the kernel's list of functions that kprobes must leave alone: on, off or unknown."},
	{ID: "traceable", Kind: Text, Help: "In ftrace's list of functions whose entry can be witnessed: on, off or unknown."},
	{ID: "denied", Kind: Text, Nullable: true, Help: "Why iowitness refuses to probe it; null: it does not."},
	{ID: "note", Kind: Text, Nullable: true, Help: "What is to be said of the symbols."},
	{ID: "means", Kind: List, Help: "For each means by functions, an object of id, verdict and reason as in means."},
}

// FactFields are the keys of an element of facts.
var FactFields = []Field{
	{ID: "value", Kind: Text, Nullable: true, Help: "The value, of the type below; null: it could not be read."},
	{ID: "note", Kind: Text, Nullable: true, Help: "What the value means here."},
}

// FunctionMeansFields are the keys of the means of a function.
var FunctionMeansFields = []Field{
	{ID: "id", Kind: Text, Help: "Id of the means."},
	{ID: "verdict", Kind: Text, Help: "As in means."},
	{ID: "reason", Kind: Text, Nullable: true, Help: "Why it is not usable."},
}
