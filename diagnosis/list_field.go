// SPDX-License-Identifier: Apache-2.0

package diagnosis

// CatalogFields are the keys of the document of iowitness list.
var CatalogFields = []Field{
	{ID: "schema", Kind: Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: Text, Nullable: true, Help: "Release of the kernel."},
	{ID: "patterns", Kind: List, Help: "What was asked for; empty: functions are counted, and none listed."},
	{ID: "means", Kind: List, Help: "The means of witnessing functions in order of preference, each tried once, as objects."},
	{ID: "matched", Kind: Integer, Help: "Functions that the patterns mean; without any, all that there are."},
	{ID: "refused", Kind: Integer, Help: "Of these, those that no means could probe even where it works."},
	{ID: "functions", Kind: List, Help: "The functions, as objects, by name."},
	{ID: "tracepoints", Kind: List, Help: "The tracepoints, as objects, by group and name."},
	{ID: "structs", Kind: List, Help: "With --fields: the structs that the functions get or return, as objects."},
	{ID: "notes", Kind: List, Help: "Sentences: what could not be read or tried, and the way out."},
}

// CatalogMeansFields are the keys of an element of means.
var CatalogMeansFields = []Field{
	{ID: "id", Kind: Text, Help: "Id, as `iowitness func --via` takes it."},
	{ID: "verdict", Kind: Text, Help: "usable: it was tried and worked; unusable: it was refused or cannot be here; untried: privileges are missing, so it is not known what the kernel would do."},
	{ID: "reason", Kind: Text, Nullable: true, Help: "Why it is not usable, and the way out; null: it is."},
	{ID: "functions", Kind: Integer, Help: "Of those matched, functions that it can probe as far as is known; 0 where it is not usable."},
}

// ProbeableFields are the keys of an element of functions.
var ProbeableFields = []Field{
	{ID: "name", Kind: Text, Help: "Name of the function in the kernel's source."},
	{ID: "module", Kind: Text, Nullable: true, Help: "Module that has it; null: the kernel itself."},
	{ID: "signature", Kind: Text, Nullable: true, Help: "Its declaration as C has it; null: its types are not known."},
	{ID: "arguments", Kind: List, Nullable: true, Help: "What it takes, as objects; null: not known."},
	{ID: "returns", Kind: Text, Nullable: true, Help: "The type of its result; null: not known."},
	{ID: "symbols", Kind: List, Help: "Symbols to probe: that of the name, else what the compiler made of it (.isra.N, .constprop.N, .part.N)."},
	{ID: "not_seen", Kind: List, Help: "Other symbols of the function: what runs by them is not seen."},
	{ID: "arguments_changed", Kind: Boolean, Help: "The compiler may have changed the arguments of a symbol: they are arg1 to arg6."},
	{ID: "copies", Kind: Integer, Help: "Functions that share the symbol's name; a probe by name cannot tell more than one apart."},
	{ID: "blacklisted", Kind: Text, Help: "In the kernel's list of functions that kprobes must leave alone: on, off or unknown."},
	{ID: "traceable", Kind: Text, Help: "In ftrace's list of functions whose entry can be witnessed: on, off or unknown."},
	{ID: "denied", Kind: Text, Nullable: true, Help: "Why iowitness refuses to probe it; null: it does not."},
	{ID: "means", Kind: List, Help: "For each means, an object of id, verdict and reason."},
}

// TypedFields are the keys of an argument.
var TypedFields = []Field{
	{ID: "name", Kind: Text, Help: "Its name; empty: it has none."},
	{ID: "type", Kind: Text, Help: "Its type, as C writes it."},
}

// TracepointFields are the keys of an element of tracepoints.
var TracepointFields = []Field{
	{ID: "group", Kind: Text, Nullable: true, Help: "Its group, such as block; null: not known, since tracefs cannot be read."},
	{ID: "name", Kind: Text, Help: "Its name."},
	{ID: "fields", Kind: List, Nullable: true, Help: "The fields of its records in tracefs, as objects; null: they cannot be read."},
	{ID: "arguments", Kind: List, Nullable: true, Help: "The arguments that BPF gets of it, as objects; null: not known."},
}

// RecordFieldFields are the keys of a field of a tracepoint's record.
var RecordFieldFields = []Field{
	{ID: "name", Kind: Text, Help: "Its name."},
	{ID: "type", Kind: Text, Help: "Its type, as the kernel declares it."},
	{ID: "offset", Kind: Integer, Help: "Bytes from the record's begin."},
	{ID: "size", Kind: Integer, Help: "Its bytes."},
}

// StructFields are the keys of an element of structs.
var StructFields = []Field{
	{ID: "function", Kind: Text, Help: "The function."},
	{ID: "value", Kind: Text, Help: "The argument, ret, or the expression that has the type."},
	{ID: "type", Kind: Text, Help: "Its type."},
	{ID: "members", Kind: List, Help: "The fields of the struct, as objects, in their order."},
}

// StructMemberFields are the keys of a member.
var StructMemberFields = []Field{
	{ID: "path", Kind: Text, Help: "The expression that reads it, as --where, --by and --print take it."},
	{ID: "type", Kind: Text, Help: "Its type."},
	{ID: "offset", Kind: Integer, Help: "Bytes from the struct's begin."},
	{ID: "bits", Kind: Integer, Help: "The width of a bit field; 0: it is none."},
}
