// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

const referenceHead = `# What the fields mean

This page is generated from the field table in snapshot/. A row's JSON keys and columns are the same numbers: JSON in
integer nanoseconds, columns with their unit. A value that is not known is null in JSON and - in a column, and never 0.

A mark ~ before a number says that it is scaled up from a sample. Quantiles come from a histogram with four slots an
octave and are told as the slot's upper bound, cut at the exact maximum: never too low, at most a quarter too high.
`

// WriteFieldReference writes the page that explains all fields.
func WriteFieldReference(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, referenceHead)
	writeFields(b, "Rows", "One row per process or whatever --by names: the elements of waits.", RowFields)
	writeFields(b, "Causes of a row", "The elements of causes. From joined on: the block requests that ended recorded waits.", CauseFields)
	writeFields(b, "The request of a wait", "The value of request.", RequestFields)
	writeFields(b, "Waits in progress", "The elements of in_progress.", InProgressFields)
	writeFields(b, "The document", "The keys around them.", DocumentFields)
	return b.Flush()
}

func writeFields(w io.Writer, title, about string, fields []Field) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n| JSON key | column | type | meaning |\n| --- | --- | --- | --- |\n", title, about)
	for _, f := range fields {
		key := "`" + f.ID + "`"
		if f.Where&InJSON == 0 {
			key = ""
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", key, columnWord(&f), typeWord(&f), strings.ReplaceAll(f.Help, "|", `\|`))
	}
}

func columnWord(f *Field) string {
	switch {
	case f.Title == "":
		return ""
	case f.Where&(InTable|AsKey) == 0:
		return f.Title + " (on request)"
	}
	return f.Title
}

func typeWord(f *Field) string {
	if f.Unit == NoUnit || f.Kind != Integer && f.Kind != Number {
		return string(f.Kind)
	}
	return string(f.Kind) + ", " + string(f.Unit)
}
