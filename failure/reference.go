// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"io"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes docs/ERRORS.md.
func WriteReference(w io.Writer) error {
	return diagnosis.WritePage(w, "failure", "The document of iowitness errors",
		"`iowitness errors --json` writes one, at the end. Durations are nanoseconds; null is what is not known.", []diagnosis.Part{
			{Title: "Document", Fields: DocumentFields},
			{Title: "`rows`", Fields: RowFields},
			{Title: "`origins`", Fields: OriginFields},
			{Title: "`paths`", Fields: PathFields},
			{Title: "`example`, `during`", Fields: CallFields},
			{Title: "`steps`, `before`, `others`", Fields: StepFields},
			{Title: "`deaths`", Fields: DeathFields},
			{Title: "`sender`", Fields: SenderFields},
		})
}
