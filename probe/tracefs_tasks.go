// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tasks know which process a thread belongs to: from the events of its making,
// or else from proc below root. Thread ids are those of the initial pid namespace.
type tasks struct {
	root  string
	tgids map[uint32]uint32
}

const (
	maxTasks    = 1 << 16
	cloneThread = 0x10000 // CLONE_THREAD
)

func newTasks(root string) *tasks { return &tasks{root, map[uint32]uint32{}} }

// made tells of a new thread and who made it.
func (t *tasks) made(tid, by uint32, cloneFlags uint64) {
	tgid := tid
	if cloneFlags&cloneThread != 0 {
		tgid = t.process(by)
	}
	delete(t.tgids, tid)
	t.know(tid, tgid)
}

func (t *tasks) know(tid, tgid uint32) {
	if tgid != 0 && len(t.tgids) < maxTasks {
		t.tgids[tid] = tgid
	}
}

func (t *tasks) forget(tid uint32) { delete(t.tgids, tid) }

// process is a thread's process; 0 where that cannot be known any more.
func (t *tasks) process(tid uint32) uint32 {
	if tgid, ok := t.tgids[tid]; ok {
		return tgid
	}
	tgid, err := readTgid(t.root, tid)
	if err != nil {
		return 0
	}
	t.know(tid, tgid)
	return tgid
}

func readTgid(root string, tid uint32) (uint32, error) {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(int(tid)), "status"))
	if err != nil {
		return 0, err
	}
	return parseTgid(text)
}

func parseTgid(status []byte) (uint32, error) {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("Tgid:")); ok {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 32)
			return uint32(n), err
		}
	}
	return 0, fmt.Errorf("a status without a Tgid")
}

// threadState is the letter by which proc tells a thread's state; 0: there is no such thread.
func threadState(root string, tid uint32) byte {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(int(tid)), "stat"))
	if err != nil {
		return 0
	}
	return parseState(text)
}

// parseState looks behind the name, which may hold anything.
func parseState(stat []byte) byte {
	if at := bytes.LastIndexByte(stat, ')'); at >= 0 && at+2 < len(stat) {
		return stat[at+2]
	}
	return 0
}

// sleepsIn is the innermost function of the table within which a thread sleeps, or
// nil; known is false where its stack cannot be read, or it runs.
func sleepsIn(root string, tid uint32, functions map[string]*tracedFunction) (in *tracedFunction, known bool) {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(int(tid)), "stack"))
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return nil, false
	}
	return findFunction(string(text), functions), true
}

// findFunction reads lines such as "[<0>] io_schedule+0x46/0x70", innermost first.
func findFunction(stack string, functions map[string]*tracedFunction) *tracedFunction {
	for line := range strings.Lines(stack) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ = strings.Cut(name, "+")
		name, _, _ = strings.Cut(name, ".")
		if f := functions[name]; f != nil {
			return f
		}
	}
	return nil
}

// threadsOf lists the threads of a process.
func threadsOf(root string, pid uint32) (tids []uint32, err error) {
	entries, err := os.ReadDir(filepath.Join(root, "proc", strconv.Itoa(int(pid)), "task"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 32); err == nil {
			tids = append(tids, uint32(n))
		}
	}
	return tids, nil
}

// processes lists all processes.
func processes(root string) (pids []uint32) {
	entries, _ := os.ReadDir(filepath.Join(root, "proc"))
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 32); err == nil {
			pids = append(pids, uint32(n))
		}
	}
	return pids
}

// initialPIDs is the link of the kernel's first pid namespace.
const initialPIDs = "pid:[4026531836]"

// seesInitialPIDs says whether proc shows threads by the numbers that the kernel traces them by.
func seesInitialPIDs(root string) bool {
	link, err := os.Readlink(filepath.Join(root, "proc/self/ns/pid"))
	return err == nil && link == initialPIDs
}
