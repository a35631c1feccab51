// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/profile"
)

// WriteReference writes the document of a kind's fields.
func WriteReference(w io.Writer, kind profile.Kind) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made by `make generate` from the tables in scheduling/; do not edit. -->\n\n# The document of iowitness %[1]s\n\n"+
		"`iowitness %[1]s --json` writes it: one for each interval, or one for all with `--for`. `iowitness %[1]s --schema` prints its JSON schema.\n"+
		"Durations are nanoseconds; null is what is not known. docs/PROFILE.md says what the figures mean.\n", kind)
	for _, part := range Parts(kind) {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | meaning |\n|---|---|---|\n", part.Title)
		for i := range part.Fields {
			f := &part.Fields[i]
			value := string(f.Kind)
			if f.Nullable {
				value += " or null"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.ID, value, f.Help)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// TablePart is the table of one object of a document.
type TablePart struct {
	Title  string
	Fields []diagnosis.Field
}

// Parts are the tables of a kind's document.
func Parts(kind profile.Kind) []TablePart {
	parts := []TablePart{{"Document", DocumentFields(kind)}}
	if kind == profile.RunQ {
		return append(parts, TablePart{"`processes`, `cpus`", QueueFields}, TablePart{"`woken`, `preempted`", PartFields},
			TablePart{"`pairs`", PairFields}, TablePart{"`longest`", LongFields}, TablePart{"`longest.ran`", RanFields})
	}
	if kind == profile.CPU {
		parts = append(parts, TablePart{"`cpus`", CPUFields}, TablePart{"`gaps`", GapFields})
	} else {
		parts = append(parts, TablePart{"`states`", StateFields})
	}
	return append(parts, TablePart{"`functions`", FunctionFields}, TablePart{"`functions.callers`, `processes.top`", CallerFields},
		TablePart{"`processes`, `threads`", ProcessFields}, TablePart{"`stacks`", StackFields})
}
