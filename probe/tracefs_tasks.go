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

// tasks know which process a thread belongs to, from the events of its making or else from proc below
// root, and which threads come to their end. Thread ids are those of the initial pid namespace.
type tasks struct {
	root   string
	tgids  map[uint32]uint32
	ending map[uint32]uint64 // threads that have begun to end: the instant up to which they surely were there
}

const (
	maxTasks    = 1 << 16
	cloneThread = 0x10000 // CLONE_THREAD
)

func newTasks(root string) *tasks { return &tasks{root, map[uint32]uint32{}, map[uint32]uint64{}} }

// made tells of a new thread and who made it.
func (t *tasks) made(tid, by uint32, cloneFlags uint64) {
	tgid := tid
	if cloneFlags&cloneThread != 0 {
		tgid = t.process(by)
	}
	t.forget(tid)
	t.know(tid, tgid)
}

func (t *tasks) know(tid, tgid uint32) {
	if tgid != 0 && len(t.tgids) < maxTasks {
		t.tgids[tid] = tgid
	}
}

func (t *tasks) forget(tid uint32) {
	delete(t.tgids, tid)
	delete(t.ending, tid)
}

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

// lastEvents is how long after its exit a thread's events still are awaited.
const lastEvents = 100e6 // ns

// exits tells that a thread has begun to end. It still calls and waits, be it for the first time, as it
// lets go of its memory and files.
func (t *tasks) exits(tid uint32, now uint64) { t.ending[tid] = now }

// gone are the threads of which nothing more is to come, as of an instant, and forgets them. The
// kernel's event of a thread's last moment comes in the name of any other thread, for whom a filter by
// process lets nothing pass: so it is the thread's state that tells.
func (t *tasks) gone(now uint64) (tids []uint32) {
	for tid, there := range t.ending {
		if now < there+lastEvents {
			continue
		}
		if state := readActivity(t.root, tid).state; state != 0 && state != 'Z' && state != 'X' {
			t.ending[tid] = now
			continue
		}
		tids = append(tids, tid)
		t.forget(tid)
	}
	return tids
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

// activity is what proc tells of a thread's sleeping.
type activity struct {
	state    byte   // D, S, R and so on; 0: there is no such thread
	switches uint64 // how often it gave up its CPU
}

func readActivity(root string, tid uint32) activity {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(int(tid)), "status"))
	if err != nil {
		return activity{}
	}
	return parseActivity(text)
}

func parseActivity(status []byte) (a activity) {
	for line := range bytes.Lines(status) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(key) {
		case "State":
			if len(value) > 0 {
				a.state = value[0]
			}
		case "voluntary_ctxt_switches":
			a.switches, _ = strconv.ParseUint(string(value), 10, 64)
		}
	}
	return a
}

// frame is a function within which a thread sleeps, and how far into it.
type frame struct {
	function string // without what the compiler appended
	symbol   string
	offset   uint64
}

// readStack is the kernel stack of a thread that sleeps, innermost first. The
// kernel leaves out the functions of the scheduler itself, io_schedule among them.
func readStack(root string, tid uint32) []frame {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(int(tid)), "stack"))
	if err != nil {
		return nil
	}
	return parseStack(string(text))
}

// parseStack reads lines such as "[<0>] jbd2_log_wait_commit+0xaa/0x120 [jbd2]".
func parseStack(text string) (stack []frame) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		symbol, place, _ := strings.Cut(fields[1], "+")
		function, _, _ := strings.Cut(symbol, ".")
		place, _, _ = strings.Cut(place, "/")
		offset, _ := strconv.ParseUint(strings.TrimPrefix(place, "0x"), 16, 64)
		stack = append(stack, frame{function, symbol, offset})
	}
	return stack
}

// callers are functions that sleep by one of the table that such stacks leave out.
var callers = map[string]string{
	"folio_wait_bit_common": "io_schedule", "wait_on_page_bit_common": "io_schedule", "bit_wait_io": "io_schedule",
	"blk_mq_get_tag": "io_schedule", "rq_qos_wait": "io_schedule", "wbt_wait": "io_schedule", "blk_io_schedule": "io_schedule_timeout",
	"submit_bio_wait": "io_schedule_timeout", "bio_await": "io_schedule_timeout", "bio_await_chain": "io_schedule_timeout", "blk_execute_rq": "io_schedule_timeout",
	"blk_wait_io": "io_schedule_timeout", "balance_dirty_pages": "io_schedule_timeout", "congestion_wait": "io_schedule_timeout",
	"__iomap_dio_rw": "io_schedule_timeout", "__blkdev_direct_IO": "io_schedule_timeout", "__blkdev_direct_IO_simple": "io_schedule_timeout", "dio_await_one": "io_schedule_timeout",
	"blkdev_direct_IO": "io_schedule_timeout", "iomap_dio_rw": "io_schedule_timeout", "do_blockdev_direct_IO": "io_schedule_timeout",
	"blkcg_maybe_throttle_blkg": "blkcg_maybe_throttle_current", "xfs_buf_wait_unpin": "io_schedule", "__xfs_iunpin_wait": "io_schedule",
}

// Further out in a stack a caller does not tell where the thread sleeps.
const callersReach = 4

// findFunction is the innermost function of the table within which a thread sleeps.
func findFunction(stack []frame, functions map[string]*tracedFunction) *tracedFunction {
	for i, at := range stack {
		if f := functions[at.function]; f != nil {
			return f
		}
		if f := functions[callers[at.function]]; f != nil && i < callersReach {
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
