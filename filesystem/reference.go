// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes docs/FILESYSTEMS.md.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Made by `make generate` from the tables in filesystem/; do not edit. -->\n\n# The document of iowitness fs\n\n" +
		"`iowitness fs --json` writes it: one for each interval, or one for all with `--for`. `iowitness fs --schema` prints its JSON schema.\n" +
		"Durations are nanoseconds; null is what is not known. A call counts in the interval in which it returns.\n")
	for _, part := range []struct {
		title  string
		fields []diagnosis.Field
	}{
		{"Document", DocumentFields},
		{"`mounts`", MountFields},
		{"`mounts.operations`", CallFields},
		{"`sync`, of mounts and files", DivisionFields},
		{"`sync.causes`", CauseFields},
		{"`mounts.journal`", JournalFields},
		{"`mounts.flushes`", FlushFields},
		{"`files`: these, those of operations, and `sync`", FileFields},
		{"`under_way`", UnderWayFields},
		{"`compared`", ComparedFields},
		{"`compared.operations`", PairFields},
		{"`compared.sync_parts`", PartFields},
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
