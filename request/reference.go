// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/snapshot"
)

const referenceHead = `# What is told of block requests

This page is generated from the tables of fields in request/. Lines of JSON, records of CSV and columns have the same values:
JSON and CSV in integer nanoseconds under the key, columns under the title and in the unit that it names. A value that is not known is null in
JSON, empty in CSV and - in a column, and never 0.

A request is submitted (Q), gets a request of the device's (G), is inserted into the I/O scheduler (I), issued to the
driver (D) and completes (C). Not every request has every instant, and not every source tells them.
`

// WriteReference writes the page that explains all fields.
func WriteReference(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, referenceHead)
	writeInfos(b, "Requests", "One request a line.", Infos(LineFields))
	writeInfos(b, "Rows of a summary", "A row is of a device, a process, a cgroup, a file, an operation, or the whole.", Infos(RowFields))
	writeInfos(b, "The summary", "The keys of the document.", SummaryFields)
	writeInfos(b, "Findings", "The elements of findings.", FindingFields)
	writeInfos(b, "Paces", "What before and now are.", PaceFields)
	writeInfos(b, "The victim", "The keys of victim.", VictimFields)
	writeInfos(b, "Its devices", "The elements of its devices.", CrowdFields)
	writeInfos(b, "Their processes", "The elements of a device's processes.", NeighbourFields)
	writeInfos(b, "Repeats", "The elements of repeats.", RepeatFields)
	writeInfos(b, "Losses", "The keys of losses.", LossFields)
	return b.Flush()
}

func writeInfos(w io.Writer, title, about string, infos []Info) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n| key | column | type | meaning |\n| --- | --- | --- | --- |\n", title, about)
	for i := range infos {
		f := &infos[i]
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", f.ID, f.Title, typeWord(f), strings.ReplaceAll(f.Help, "|", `\|`))
	}
}

func typeWord(f *Info) string {
	word := string(f.Kind)
	if f.Unit != snapshot.NoUnit && (f.Kind == snapshot.Integer || f.Kind == snapshot.Number) {
		word += ", " + string(f.Unit)
	}
	if f.Nullable {
		word += " or null"
	}
	return word
}
