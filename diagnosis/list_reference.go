// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"io"
)

// WriteCatalogReference writes docs/LIST.md.
func WriteCatalogReference(w io.Writer) error {
	return WritePage(w, "diagnosis", "The document of iowitness list",
		"`iowitness list 'ext4_*'` tells which functions can be probed, by which means, with their declarations, or why not;\n"+
			"`iowitness list 'block:*'` tells tracepoints with the fields of their records and the arguments that BPF gets. `--fields` adds\n"+
			"the fields of structs that functions get and return, by the expressions that read them (docs/EXPRESSIONS.md). Each means is\n"+
			"tried once, not on each function: of a single one the kernel may still refuse what is not in its lists.\n\n"+
			"`iowitness list --json` writes the document, `--schema` its JSON schema. What is not known is null.", []Part{
			{Title: "The document", Fields: CatalogFields},
			{Title: "An element of means", Fields: CatalogMeansFields},
			{Title: "An element of functions", Fields: ProbeableFields},
			{Title: "An argument", Fields: TypedFields},
			{Title: "A means of a function", Fields: FunctionMeansFields},
			{Title: "An element of tracepoints", Fields: TracepointFields},
			{Title: "A field of a tracepoint's record", Fields: RecordFieldFields},
			{Title: "An element of structs", Fields: StructFields},
			{Title: "A member of a struct", Fields: StructMemberFields},
		})
}
