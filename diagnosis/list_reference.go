// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"io"
	"strings"
)

// WriteCatalogReference writes docs/LIST.md.
func WriteCatalogReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Made by `make generate` from the tables in diagnosis/; do not edit. -->\n\n# The document of iowitness list\n\n" +
		"`iowitness list 'ext4_*'` tells which functions can be probed, by which means, with their declarations, or why not;\n" +
		"`iowitness list 'block:*'` tells tracepoints with the fields of their records and the arguments that BPF gets. `--fields` adds\n" +
		"the fields of structs that functions get and return, by the expressions that read them (docs/EXPRESSIONS.md). Each means is\n" +
		"tried once, not on each function: of a single one the kernel may still refuse what is not in its lists.\n\n" +
		"`iowitness list --json` writes the document, `--schema` its JSON schema. What is not known is null.\n")
	for _, part := range []struct {
		title  string
		fields []Field
	}{
		{"The document", CatalogFields},
		{"An element of means", CatalogMeansFields},
		{"An element of functions", ProbeableFields},
		{"An argument", TypedFields},
		{"A means of a function", FunctionMeansFields},
		{"An element of tracepoints", TracepointFields},
		{"A field of a tracepoint's record", RecordFieldFields},
		{"An element of structs", StructFields},
		{"A member of a struct", StructMemberFields},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | meaning |\n|---|---|---|\n", part.title)
		for i := range part.fields {
			f := &part.fields[i]
			kind := string(f.Kind)
			if f.Nullable {
				kind += " or null"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.ID, kind, f.Help)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
