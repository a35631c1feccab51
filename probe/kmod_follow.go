// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"github.com/iowitness/iowitness/kmod"
)

// kmodFollowed tells who descends from the processes that are followed. The
// module tells each process's parent as of its first wait; of a parent that never
// waited, only proc knows the parent, while it lives.
type kmodFollowed struct {
	root    string
	threads map[uint32]uint32 // followed, and their processes
	parents map[uint32]uint32
	family  map[uint32]bool // known to descend, or to be followed itself
}

func newKmodFollowed(root string) kmodFollowed {
	return kmodFollowed{root, map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]bool{}}
}

func (f *kmodFollowed) add(pid, tid uint32) {
	f.threads[tid], f.family[pid] = pid, true
}

// remove forgets a thread, but not who descends from it.
func (f *kmodFollowed) remove(tid uint32) {
	delete(f.threads, tid)
}

func (f *kmodFollowed) learn(seen map[processKey]*kmod.Process) {
	for _, p := range seen {
		if _, known := f.parents[p.TGID]; !known {
			f.parents[p.TGID] = p.PPID
		}
	}
}

const maxGenerations = 64

func (f *kmodFollowed) descends(pid uint32) bool {
	var line []uint32
	for at := pid; at > 1 && len(line) < maxGenerations; at = f.parent(at) {
		if f.family[at] {
			for _, child := range line {
				f.family[child] = true
			}
			return true
		}
		line = append(line, at)
	}
	return false
}

func (f *kmodFollowed) parent(pid uint32) uint32 {
	if parent, known := f.parents[pid]; known {
		return parent
	}
	text, err := os.ReadFile(filepath.Join(f.root, "proc", strconv.Itoa(int(pid)), "status"))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("PPid:")); ok {
			n, _ := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 32)
			f.parents[pid] = uint32(n)
			return uint32(n)
		}
	}
	return 0
}
