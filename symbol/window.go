// SPDX-License-Identifier: Apache-2.0

package symbol

import "io"

// window reads small pieces of a file, mostly in order, through one buffer. A file that makes it
// jump to and fro is not read to its end.
type window struct {
	fills      int
	in         io.ReaderAt
	start, end uint64 // what may be read
	base       uint64 // where in the file buffer begins
	buffer     []byte
	room       [64 << 10]byte
}

func (o *object) window(offset, size uint64) *window {
	if offset > o.size {
		offset, size = o.size, 0
	}
	return &window{in: o.in, start: offset, end: offset + min(size, o.size-offset)}
}

// maxFills is how often the buffer may be filled beside four times for the whole.
const maxFills = 1 << 10

// at gives size bytes at an offset from the window's start, or fewer where it ends. They hold
// until the next call. Size is at most 64 KiB.
func (w *window) at(offset uint64, size int) []byte {
	if offset >= w.end-w.start {
		return nil
	}
	from := w.start + offset
	if n := w.end - from; uint64(size) > n {
		size = int(n)
	}
	if w.fills > maxFills+int((w.end-w.start)/(uint64(len(w.room))/4)) {
		return nil
	}
	if from < w.base || from+uint64(size) > w.base+uint64(len(w.buffer)) {
		n, _ := w.in.ReadAt(w.room[:min(uint64(len(w.room)), w.end-from)], int64(from))
		w.base, w.buffer = from, w.room[:n]
		w.fills++
		size = min(size, n)
	}
	return w.buffer[from-w.base:][:size]
}
