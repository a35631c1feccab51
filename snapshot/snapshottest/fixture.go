// SPDX-License-Identifier: Apache-2.0

// Package snapshottest holds intervals and names for the tests of snapshot and
// of the views.
package snapshottest

import (
	"fmt"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// Names is a set of names for tests.
type Names struct {
	Processes map[uint32]snapshot.ProcessName
	Devices   map[event.Dev]string
	Files     map[uint64]string // by inode
	Syscalls  map[int32]string
}

// Process implements snapshot.Names.
func (n *Names) Process(pid uint32) snapshot.ProcessName { return n.Processes[pid] }

// Device implements snapshot.Names.
func (n *Names) Device(dev event.Dev) string { return n.Devices[dev] }

// File implements snapshot.Names.
func (n *Names) File(f event.File, _ uint32) string { return n.Files[f.Ino] }

// Syscall implements snapshot.Names.
func (n *Names) Syscall(number int32) string { return n.Syscalls[number] }

// The devices of the fixtures.
var (
	Vda1 = event.MakeDev(254, 1)
	Vdb  = event.MakeDev(254, 16)
)

const (
	us  = uint64(time.Microsecond)
	ms  = uint64(time.Millisecond)
	wal = "/var/lib/postgresql/16/main/pg_wal/000000010000000000000001"
)

// Hist is a histogram of equal waits.
func Hist(n uint32, ns uint64) (h event.Hist) {
	h.Add(event.HistSlot(ns), n)
	return h
}

// File is a file found by its descriptor.
func File(ino uint64, path string) event.File {
	return event.File{Ino: ino, Dev: Vda1, Source: event.ByFD, Path: path}
}

// TwoProcesses is a database that waits for its log, a backup that reads, and a
// server that is idle in io_uring.
func TwoProcesses() (*snapshot.Interval, *Names) {
	iv := base()
	iv.Threads = []blame.Thread{postgres(), backup(), proxy()}
	return iv, names()
}

func base() *snapshot.Interval {
	start := time.Date(2026, 3, 1, 12, 3, 4, 123456789, time.UTC)
	return &snapshot.Interval{
		Version: "0.1.0", Kernel: "6.18.44", Means: map[string]string{"wait": "tp_btf", "state": "task storage"},
		Start: start, End: start.Add(time.Second), Wall: time.Second,
		System: snapshot.System{
			IOWaitPercent: 2.1, IOWaitKnown: true, CPUs: 2,
			PressureSome: 71.5, PressureFull: 3.25, PressureKnown: true,
		},
		Lost:   []snapshot.Loss{{ID: "ring_wait", Title: "wait records that found the ring full"}, {ID: "stack", Title: "stacks that could not be unwound", Count: 3, NS: 4 * ms}},
		Cost:   snapshot.Cost{CPUPercent: 0.4, ProbeNS: 412_000, ProbeRuns: 3211, ProbeWall: time.Second, ProbeFresh: true, RSSBytes: 21 << 20},
		SlowNS: ms, SampleEvery: 64, Joins: true,
	}
}

func postgres() blame.Thread {
	flush := blame.Charge{
		Cause: blame.DeviceFlush, Device: Vda1, DeviceSource: blame.ByRequest, File: File(101, "/pg_wal/1"), Syscall: 74,
		Stack: []string{"submit_bio_wait", "blkdev_issue_flush", "ext4_sync_file", "do_fsync"},
		Count: 120, Blocked: 582 * ms, RunQueue: ms, Max: 12 * ms, Hist: Hist(120, 5*ms), Seen: 120, Joins: flushes(), Flagged: true,
	}
	commit := blame.Charge{
		Cause: blame.JournalCommit, Device: Vda1, DeviceSource: blame.BySuperblock, File: File(102, "/base/1"), Syscall: 74,
		Stack: []string{"jbd2_log_wait_commit", "ext4_sync_file", "do_fsync"},
		Count: 10, Blocked: 58 * ms, Max: 9 * ms, Hist: Hist(10, 6*ms), Seen: 10,
	}
	h := append(event.Hist(nil), flush.Hist...)
	h.Add(event.HistSlot(6*ms), 10)
	return blame.Thread{
		TID: 4711, PID: 4711, Comm: "postgres", Count: 130, Blocked: 640 * ms, FlaggedBlocked: 582 * ms, RunQueue: ms,
		Max: 12 * ms, Hist: h, Charges: []blame.Charge{flush, commit},
	}
}

func flushes() blame.Joins {
	longest := event.Request{Dev: Vda1, Op: event.OpWrite | event.OpPreflush | event.OpSync, Queue: 20 * us, Device: 11_900 * us}
	return joins(118, 4850*us, event.Request{Queue: 20 * us, Device: 4800 * us}, 12*ms, longest)
}

// joins are n waits that lasted as long as one another, but for the longest.
func joins(n, wait uint64, each event.Request, longest uint64, of event.Request) blame.Joins {
	s := blame.SplitBy(wait, each)
	return blame.Joins{
		Waits: n, Timed: n, Blocked: n * wait, Before: n * s.Before, Within: n * s.Within,
		Device: n * each.Device, Queue: n * each.Queue, QueueTimed: n, Longest: of, LongestWait: longest,
	}
}

// QuickDevice is a loop of small writes and fsync that waits 10 ms each time, though the
// device has its requests for 0.66 ms.
func QuickDevice() (*snapshot.Interval, *Names) {
	const n = 80
	iv := base()
	write := event.Request{Sector: 2_457_616, Dev: Vda1, Bytes: 4096, Op: event.OpWrite | event.OpSync, Queue: 30 * us, Device: 660 * us}
	sync := blame.Charge{
		Cause: blame.DataWriteback, Flagged: true, Device: Vda1, DeviceSource: blame.ByRequest, File: File(101, "/pg_wal/1"), Syscall: 74,
		Stack: []string{"io_schedule", "folio_wait_writeback", "file_write_and_wait_range", "ext4_sync_file"},
		Count: n, Blocked: n * 10 * ms, Max: 12 * ms, Hist: Hist(n, 10*ms), Seen: n, Joins: joins(n, 10*ms, write, 12*ms, write),
	}
	commit := blame.Charge{
		Cause: blame.JournalCommit, Device: Vda1, DeviceSource: blame.BySuperblock, File: File(101, "/pg_wal/1"), Syscall: 74,
		Count: n, Blocked: n * ms, Max: 2 * ms, Hist: Hist(n, ms), Seen: n,
	}
	h := Hist(n, 10*ms)
	h.Add(event.HistSlot(ms), n)
	iv.Threads = []blame.Thread{{
		TID: 4711, PID: 4711, Comm: "postgres", Count: 2 * n, Blocked: n * 11 * ms, FlaggedBlocked: n * 10 * ms,
		Max: 12 * ms, Hist: h, Charges: []blame.Charge{sync, commit},
	}}
	return iv, names()
}

// backup reads in short waits, of which a sample is seen, and hangs in one.
func backup() blame.Thread {
	read := blame.Charge{
		Cause: blame.PageCacheRead, Flagged: true, Device: Vdb, DeviceSource: blame.ByRequest, File: File(201, "/img"), Syscall: 0,
		Count: 1234, Blocked: 123 * ms, RunQueue: 2 * ms, Max: ms / 2, Hist: Hist(1234, ms/10), Seen: 20, Sampled: true,
	}
	hang := blame.Charge{Cause: blame.PageCacheRead, Flagged: true, Device: Vdb, DeviceSource: blame.ByFile, File: File(201, "/img"), Syscall: 0, Blocked: 200 * ms, Max: 40_200 * ms}
	return blame.Thread{
		TID: 815, PID: 814, Comm: "reader/1", Count: 1234, Blocked: 323 * ms, FlaggedBlocked: 323 * ms, RunQueue: 2 * ms,
		Max: 40_200 * ms, Hist: read.Hist, Charges: []blame.Charge{read, hang},
		Pending: &blame.Pending{
			Age: 40_200 * ms, Adopted: true, Flagged: true, Cause: blame.PageCacheRead, Device: Vdb, DeviceSource: blame.ByFile,
			File: File(201, "/img"), Syscall: 0, Stack: []string{"io_schedule", "folio_wait_bit_common", "filemap_read"},
		},
	}
}

func proxy() blame.Thread {
	return blame.Thread{
		TID: 99, PID: 99, Comm: "proxy", Blocked: 1000 * ms, FlaggedBlocked: 1000 * ms, Max: 3000 * ms,
		Charges: []blame.Charge{{Cause: blame.IOUringIdle, Flagged: true, Syscall: 426, Blocked: 1000 * ms, Max: 3000 * ms}},
		Pending: &blame.Pending{Age: 3000 * ms, Flagged: true, Cause: blame.IOUringIdle, Syscall: 426},
	}
}

func names() *Names {
	return &Names{
		Processes: map[uint32]snapshot.ProcessName{
			4711: {Comm: "postgres", Exe: "/usr/lib/postgresql/16/bin/postgres", Cwd: "/var/lib/postgresql/16/main", Cgroup: "/system.slice/postgresql.service", User: "postgres", UID: 101, NSPID: 4711, Known: true},
			814:  {Comm: "backup", Exe: "/usr/bin/backup", Cwd: "/", Cgroup: "/docker/" + id64, Container: id64, UID: 1000, NSPID: 7, Known: true},
			99:   {Comm: "proxy", Exe: "/usr/bin/proxy", Cgroup: "/system.slice/proxy.service", User: "root", NSPID: 99, Known: true},
		},
		Devices:  map[event.Dev]string{Vda1: "vda1", Vdb: "vdb"},
		Files:    map[uint64]string{101: wal, 102: "/var/lib/postgresql/16/main/base/5/16384", 201: "/srv/backup/image.raw"},
		Syscalls: map[int32]string{0: "read", 74: "fsync", 426: "io_uring_enter"},
	}
}

const id64 = "3f4e8a1bc0de3f4e8a1bc0de3f4e8a1bc0de3f4e8a1bc0de3f4e8a1bc0de1234"

// Estimated is TwoProcesses as a means tells it that sees waits only by chance:
// nothing is exact, and part of what is iowait is not known.
func Estimated() (*snapshot.Interval, *Names) {
	iv, names := TwoProcesses()
	iv.Estimated, iv.RunQueueUnknown, iv.Joins = true, true, false
	iv.Means = map[string]string{"wait": "taskstats", "state": "sightings"}
	iv.Cost.ProbeWall = 0
	iv.Lost = []snapshot.Loss{{ID: "polls", Title: "polls left out to stay within the budget of CPU time", Count: 12}}
	iv.Notes = []string{"coarse: /proc is polled 20 times a second"}
	for i := range iv.Threads {
		t := &iv.Threads[i]
		t.RunQueue, t.Hist = 0, nil
		for j := range t.Charges {
			c := &t.Charges[j]
			c.Sampled, c.RunQueue, c.Hist, c.Seen, c.Joins = true, 0, nil, min(c.Count, 9), blame.Joins{}
		}
	}
	reader := &iv.Threads[1]
	reader.FlaggedBlocked = 0
	for j := range reader.Charges {
		reader.Charges[j].Flagged, reader.Charges[j].FlagUnknown = false, true
	}
	reader.Pending.Flagged, reader.Pending.FlagUnknown, reader.Pending.Adopted = false, true, false
	return iv, names
}

// Empty is an interval in which nobody waited, on a kernel that says little.
func Empty() (*snapshot.Interval, *Names) {
	iv := base()
	iv.System = snapshot.System{CPUs: 2}
	iv.Lost, iv.Cost.ProbeWall = nil, 0
	iv.Notes = []string{"probe run times are unknown: set kernel.bpf_stats_enabled=1 to have them"}
	return iv, names()
}

// HangingOnly has no wait that ended: a thread of a file system that never answers.
func HangingOnly() (*snapshot.Interval, *Names) {
	iv := base()
	t := backup()
	t.Count, t.Hist, t.RunQueue, t.Blocked, t.FlaggedBlocked = 0, event.Hist{}, 0, 1000*ms, 1000*ms
	t.Charges = t.Charges[1:]
	t.Charges[0].Blocked = 1000 * ms
	iv.Threads = []blame.Thread{t}
	return iv, names()
}

// HostileNames are names that would break a view that trusts them.
var HostileNames = []string{
	"\x1b[2J\x1b]0;hi\a", "two\nlines\r", "cut \xe5\x8a", "<b>&\"'", "\u202eevil", "0123456789abcd\xff", "tab\tand|pipe", "名前が長い", "\x00\x7f\u0085\u009b1m",
}

// Hostile is an interval in which every name is a hostile one.
func Hostile() (*snapshot.Interval, *Names) {
	iv, n := base(), names()
	iv.Scope, iv.Notes = HostileNames[0], HostileNames
	n.Syscalls[74] = HostileNames[1]
	for i, name := range HostileNames {
		pid := uint32(1000 + i)
		t := postgres()
		t.PID, t.TID, t.Comm = pid, pid, name
		ino := uint64(5000 + i)
		t.Charges[0].File.Ino, t.Charges[0].File.Path = ino, name
		t.Charges[0].Device = event.MakeDev(9, pid)
		t.Charges[0].Stack = []string{name}
		t.Pending = &blame.Pending{Age: 5000 * ms, Cause: blame.DeviceFlush, Device: event.MakeDev(9, pid), File: t.Charges[0].File, Syscall: 74, Stack: []string{name}}
		n.Devices[event.MakeDev(9, pid)], n.Files[ino] = name, "/"+name
		n.Processes[pid] = snapshot.ProcessName{Comm: name, Exe: "/" + name, Cwd: "/" + name, Cgroup: "/" + name, Container: name, User: name, Known: true}
		iv.Threads = append(iv.Threads, t)
	}
	return iv, n
}

// Many is an interval with n processes, the first of which waited longest.
func Many(n int) (*snapshot.Interval, *Names) {
	iv, names := base(), names()
	for i := range n {
		t := postgres()
		t.PID, t.TID, t.Comm = uint32(2000+i), uint32(2000+i), fmt.Sprintf("worker%d", i)
		less := uint64(i) * ms / 2
		t.Blocked -= less
		t.FlaggedBlocked -= less
		t.Charges[0].Blocked -= less
		iv.Threads = append(iv.Threads, t)
	}
	return iv, names
}
