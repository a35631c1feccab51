// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"io"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/profile"
)

// WriteReference writes the document of a kind's fields.
func WriteReference(w io.Writer, kind profile.Kind) error {
	intro := fmt.Sprintf("`iowitness %[1]s --json` writes it: one for each interval, or one for all with `--for`. `iowitness %[1]s --schema` prints its JSON schema.\n"+
		"Durations are nanoseconds; null is what is not known. docs/PROFILE.md says what the figures mean.", kind)
	return diagnosis.WritePage(w, "scheduling", fmt.Sprintf("The document of iowitness %s", kind), intro, Parts(kind))
}

// Parts are the tables of a kind's document.
func Parts(kind profile.Kind) []diagnosis.Part {
	parts := []diagnosis.Part{{Title: "Document", Fields: DocumentFields(kind)}}
	if kind == profile.RunQ {
		return append(parts, diagnosis.Part{Title: "`processes`, `cpus`", Fields: QueueFields}, diagnosis.Part{Title: "`woken`, `preempted`", Fields: PartFields},
			diagnosis.Part{Title: "`pairs`", Fields: PairFields}, diagnosis.Part{Title: "`longest`", Fields: LongFields}, diagnosis.Part{Title: "`longest.ran`", Fields: RanFields})
	}
	if kind == profile.CPU {
		parts = append(parts, diagnosis.Part{Title: "`cpus`", Fields: CPUFields}, diagnosis.Part{Title: "`gaps`", Fields: GapFields})
	} else {
		parts = append(parts, diagnosis.Part{Title: "`states`", Fields: StateFields})
	}
	return append(parts, diagnosis.Part{Title: "`functions`", Fields: FunctionFields}, diagnosis.Part{Title: "`functions.callers`, `processes.top`", Fields: CallerFields},
		diagnosis.Part{Title: "`processes`, `threads`", Fields: ProcessFields}, diagnosis.Part{Title: "`stacks`", Fields: StackFields})
}
