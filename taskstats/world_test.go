// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

// world is a tree of /proc whose time is the test's.
type world struct {
	t      *testing.T
	root   string
	now    uint64 // ns, CLOCK_MONOTONIC
	poller *Poller
}

// task is a thread in it.
type task struct {
	pid, tid, ppid uint32
	comm           string
	state          byte
	runs           int
	start          uint64 // ticks since boot
	ticks          uint64 // of delay accounting
	threads        int
	stack, syscall string
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, root: lab.Dir(t), now: instant(monotonic)}
	w.put("proc/sys/kernel/task_delayacct", "0\n")
	w.put("proc/cmdline", "quiet\n")
	for path, text := range files {
		w.put(path, text)
	}
	return w
}

func (w *world) put(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.root, path)
	if err := os.WriteFile(full, []byte(text), 0o644); err == nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open(c Config) *Poller {
	w.t.Helper()
	c.Root = w.root
	p, err := Open(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { p.Close() })
	p.client, p.exits = nil, nil // those of the real kernel
	p.clock = func() uint64 { return w.now }
	p.maxOpen = 0 // an open file would outlive its removal here
	w.poller = p
	return p
}

func (w *world) start() {
	w.t.Helper()
	if err := w.poller.Start(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) poll() {
	w.t.Helper()
	if err := w.poller.Poll(); err != nil {
		w.t.Fatal(err)
	}
}

// settle gives the accounts by thread.
func (w *world) settle() map[uint32]Account {
	w.t.Helper()
	accounts := map[uint32]Account{}
	if err := w.poller.Settle(true, func(a Account) { accounts[a.TID] = a }); err != nil {
		w.t.Fatal(err)
	}
	return accounts
}

// bornNow is a start in ticks of a thread that begins at this instant.
func (w *world) bornNow() uint64 {
	offset := since(instant(7), instant(monotonic)) // CLOCK_BOOTTIME
	return (w.now + offset + TickNS - 1) / TickNS
}

// move writes what polls read.
func (w *world) move(task *task) {
	w.t.Helper()
	if task.pid == 0 {
		task.pid = task.tid
	}
	stat := fmt.Sprintf("%d (%s) %c %d 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 %d 0 %d 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 %d 0 0 0 0 0 0 0 0 0 0\n",
		task.tid, task.comm, task.state, task.ppid, max(task.threads, 1), task.start, task.ticks)
	dir := fmt.Sprintf("proc/%d/task/%d/", task.pid, task.tid)
	w.put(dir+"stat", stat)
	w.put(dir+"schedstat", fmt.Sprintf("1 1 %d\n", task.runs))
	if task.tid == task.pid {
		w.put(fmt.Sprintf("proc/%d/stat", task.pid), stat)
	}
}

// write writes all of a thread.
func (w *world) write(task *task) {
	w.t.Helper()
	w.move(task)
	dir := fmt.Sprintf("proc/%d/task/%d/", task.pid, task.tid)
	w.put(dir+"stack", task.stack)
	wchan, _, _ := strings.Cut(strings.TrimPrefix(task.stack, "[<0>] "), "+")
	w.put(dir+"wchan", wchan)
	w.put(dir+"syscall", task.syscall)
	if task.tid == task.pid {
		w.put(fmt.Sprintf("proc/%d/status", task.pid), fmt.Sprintf("Name:\t%s\nTgid:\t%d\nUid:\t7 7 7 7\nNSpid:\t%d\n", task.comm, task.pid, task.pid))
	}
}

func (w *world) end(task *task) {
	w.t.Helper()
	dir := fmt.Sprintf("proc/%d/task/%d", task.pid, task.tid)
	if task.tid == task.pid {
		dir = fmt.Sprintf("proc/%d", task.pid)
	}
	if err := os.RemoveAll(filepath.Join(w.root, dir)); err != nil {
		w.t.Fatal(err)
	}
}

const ms = uint64(1_000_000)

func (w *world) link(path, target string) {
	w.t.Helper()
	full := filepath.Join(w.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, full); err != nil {
		w.t.Fatal(err)
	}
}
