// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes docs/ERRORS.md.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Made by `make generate` from the tables in failure/; do not edit. -->\n\n# The document of iowitness errors\n\n" +
		"`iowitness errors --json` writes one, at the end. Durations are nanoseconds; null is what is not known.\n")
	for _, part := range []struct {
		title  string
		fields []diagnosis.Field
	}{
		{"Document", DocumentFields},
		{"`rows`", RowFields},
		{"`origins`", OriginFields},
		{"`paths`", PathFields},
		{"`example`, `during`", CallFields},
		{"`steps`, `before`, `others`", StepFields},
		{"`deaths`", DeathFields},
		{"`sender`", SenderFields},
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
