// SPDX-License-Identifier: Apache-2.0

package filesystem

import "github.com/iowitness/iowitness/event"

// maxFiles bounds the files whose paths are remembered.
const maxFiles = 20_000

// Files remembers the paths of files, as the kernel side tells them once each.
type Files struct {
	byNumber map[fileNumber]event.File
}

type fileNumber struct {
	dev event.Dev
	ino uint64
}

// NewFiles knows no file.
func NewFiles() *Files { return &Files{byNumber: map[fileNumber]event.File{}} }

// Learn takes a path; a later one of the same file replaces it.
func (f *Files) Learn(file *event.File) {
	number := fileNumber{file.Dev, file.Ino}
	if _, known := f.byNumber[number]; !known && len(f.byNumber) >= maxFiles {
		for old := range f.byNumber { // any: which are still in use is not known
			delete(f.byNumber, old)
			break
		}
	}
	f.byNumber[number] = *file
}

func (f *Files) find(key event.FSKey) (event.File, bool) {
	file, ok := f.byNumber[fileNumber{key.Dev, key.Ino}]
	return file, ok
}
