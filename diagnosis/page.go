// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"io"
	"strings"
)

// Part is the table of one object of a document.
type Part struct {
	Title  string
	Fields []Field
}

// WritePage writes the page of a document that is made from tables of fields: tables
// is the folder that has them, title and intro are in Markdown.
func WritePage(w io.Writer, tables, title, intro string, parts []Part) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made by `make generate` from the tables in %s/; do not edit. -->\n\n# %s\n\n%s\n", tables, title, intro)
	for _, part := range parts {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | meaning |\n|---|---|---|\n", part.Title)
		for i := range part.Fields {
			f := &part.Fields[i]
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
