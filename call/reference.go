// SPDX-License-Identifier: Apache-2.0

package call

import (
	"io"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes docs/FUNCTIONS.md.
func WriteReference(w io.Writer) error {
	return diagnosis.WritePage(w, "call", "The documents of iowitness func and calls",
		"`iowitness func --json` writes the first: one for each interval, or one for all with `--for`; with `--slower` or `--print`, a line for\n"+
			"each call instead, as `iowitness calls --json` does for each outermost call. Durations are nanoseconds; null is what is not known.", []diagnosis.Part{
			{Title: "Document", Fields: DocumentFields},
			{Title: "`rows`", Fields: RowFields},
			{Title: "A line", Fields: LineFields},
		})
}
