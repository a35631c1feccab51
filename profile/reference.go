// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes the reference of the document's keys, in Markdown.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Made by `make generate` from the tables in profile/; do not edit. -->\n\n# The document of iowitness cpu, offcpu and runq\n\n" +
		"With `--json` they write one. Durations are nanoseconds; null is what is not known.\n")
	for _, part := range []struct {
		title  string
		fields []diagnosis.Field
	}{
		{"Document", DocumentFields},
		{"`functions`", FunctionFields},
		{"`processes` and `threads`", ProcessFields},
		{"`stacks`", StackFields},
		{"`stacks.frames`", FrameFields},
		{"`lost`", LostFields},
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
