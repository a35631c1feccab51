// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"hash/maphash"
	"os"
)

const maxVDSO = 256 << 10

var vdsoSeed = maphash.MakeSeed()

// openVDSO copies the code that the kernel lends to a process; it is a small ELF file, and mostly
// the same for all.
func openVDSO(folder string, a area) opened {
	var o opened
	if a.end-a.start > maxVDSO {
		return o
	}
	memory, err := os.Open(folder + "/mem")
	if err != nil {
		return o
	}
	defer memory.Close()
	content := make([]byte, a.end-a.start)
	if n, _ := memory.ReadAt(content, int64(a.start)); n < len(content) {
		return o
	}
	o.data = bytes.NewReader(content)
	o.file.key = fileKey{device: ^uint64(0), inode: maphash.Bytes(vdsoSeed, content), size: int64(len(content))}
	return o
}
