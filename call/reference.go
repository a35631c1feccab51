// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes docs/FUNCTIONS.md.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Made by `make generate` from the tables in call/; do not edit. -->\n\n# The documents of iowitness func and calls\n\n" +
		"`iowitness func --json` writes the first: one for each interval, or one for all with `--for`; with `--slower` or `--print`, a line for\n" +
		"each call instead, as `iowitness calls --json` does for each outermost call. Durations are nanoseconds; null is what is not known.\n")
	for _, part := range []struct {
		title  string
		fields []diagnosis.Field
	}{
		{"Document", DocumentFields},
		{"`rows`", RowFields},
		{"A line", LineFields},
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
