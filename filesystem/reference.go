// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"io"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteReference writes docs/FILESYSTEMS.md.
func WriteReference(w io.Writer) error {
	return diagnosis.WritePage(w, "filesystem", "The document of iowitness fs",
		"`iowitness fs --json` writes it: one for each interval, or one for all with `--for`. `iowitness fs --schema` prints its JSON schema.\n"+
			"Durations are nanoseconds; null is what is not known. A call counts in the interval in which it returns.", []diagnosis.Part{
			{Title: "Document", Fields: DocumentFields},
			{Title: "`mounts`", Fields: MountFields},
			{Title: "`mounts.operations`", Fields: CallFields},
			{Title: "`sync`, of mounts and files", Fields: DivisionFields},
			{Title: "`sync.causes`", Fields: CauseFields},
			{Title: "`mounts.journal`", Fields: JournalFields},
			{Title: "`mounts.flushes`", Fields: FlushFields},
			{Title: "`files`: these, those of operations, and `sync`", Fields: FileFields},
			{Title: "`under_way`", Fields: UnderWayFields},
			{Title: "`compared`", Fields: ComparedFields},
			{Title: "`compared.operations`", Fields: PairFields},
			{Title: "`compared.sync_parts`", Fields: PartFields},
		})
}
