// SPDX-License-Identifier: Apache-2.0

// Package filesystemtest has reports on file systems for the tests of views.
package filesystemtest

import (
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/snapshot"
)

func estimate(ns uint64) snapshot.Estimate {
	return snapshot.Estimate{Value: ns, AtLeast: ns * 4 / 5, Known: true}
}

func calls(op event.FSOp, count, each uint64) filesystem.Row {
	return filesystem.Row{Op: op, Count: count, Total: count * each, Max: each * 3, Bytes: count * 4096, P50: estimate(each), P99: estimate(each * 2)}
}

func base() *filesystem.Report {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &filesystem.Report{
		Version: "1.0", Kernel: "6.12.1", Means: "tp_btf", Start: start, End: start.Add(4 * time.Second),
		Cost: snapshot.Cost{CPUPercent: 0.4, RSSBytes: 28 << 20, ProbeNS: 2e7, ProbeRuns: 1e5, ProbeWall: time.Second},
	}
}

// Compared is a file system without a journal beside one with it.
func Compared() *filesystem.Report {
	r := base()
	r.Scope = "/mnt/a, /mnt/b"
	plain := filesystem.Division{
		Calls: 500, Total: 500 * 95_000, OnCPU: 10_900_000, RunQueue: 24_200_000, Unattributed: 100_000,
		Causes: []filesystem.Part{{Cause: blame.DataWriteback, Sleeps: 500, NS: 9_300_000}, {Cause: blame.DeviceFlush, Sleeps: 450, NS: 3_000_000}},
	}
	journaled := filesystem.Division{
		Calls: 500, Total: 500 * 783_000, OnCPU: 18_300_000, RunQueue: 23_100_000,
		Causes: []filesystem.Part{{Cause: blame.JournalCommit, Sleeps: 500, NS: 328_000_000}, {Cause: blame.DataWriteback, Sleeps: 480, NS: 22_100_000}},
	}
	a := filesystem.Mount{
		Mounted:    filesystem.Mounted{Dev: 1, Point: "/mnt/a", FSType: "ext4", Device: "loop0", Disk: 1, DiskName: "loop0"},
		Operations: []filesystem.Row{calls(event.FSRead, 500, 1_210), calls(event.FSFsync, 500, 95_000)}, Division: plain,
		Flushes: &event.FlushSum{Count: 514, NS: 2_340_000, Max: 46_300},
	}
	b := filesystem.Mount{
		Mounted:    filesystem.Mounted{Dev: 2, Point: "/mnt/b", FSType: "ext4", Device: "loop1", Disk: 2, DiskName: "loop1"},
		Operations: []filesystem.Row{calls(event.FSWrite, 500, 12_600), calls(event.FSFsync, 500, 783_000)}, Division: journaled,
		Journal: &event.JournalSum{Commits: 500, Handles: 1092, Blocks: 1500, Logged: 2939, Delay: 12_000_000, Running: 40_000_000, Locked: 1_215_000, Flushing: 1_700_000, Logging: 317_500_000, Max: 9_690_000},
		Flushes: &event.FlushSum{Count: 1008, NS: 16_000_000, Max: 3_740_000, Unseen: 1},
	}
	r.Mounts = []filesystem.Mount{a, b}
	r.Compared = &filesystem.Compared{
		Operations: []filesystem.Pair{
			{Op: event.FSRead, A: a.Operations[0], B: filesystem.Row{Op: event.FSRead}},
			{Op: event.FSFsync, A: a.Operations[1], B: b.Operations[1]},
		},
		Parts: []filesystem.PartPair{{ID: filesystem.Total, A: 95_000, B: 783_000}, {ID: "journal_commit", A: 0, B: 656_000}, {ID: "device_flush", A: 6_000, B: 0}, {ID: filesystem.OnCPU, A: 21_800, B: 36_600}, {ID: filesystem.RunQueue, A: 48_400, B: 46_200}, {ID: filesystem.Unattributed, A: 200, B: 0}},
	}
	rowA, rowB := a.Operations[1], b.Operations[1]
	rowA.Dev, rowA.File, rowA.Inode, rowA.PID, rowA.Comm, rowA.Division = 1, "/mnt/a/data/file", 12, 26984, "python3", plain
	rowB.Dev, rowB.File, rowB.Inode, rowB.PID, rowB.Comm, rowB.Division = 2, "/mnt/b/data/file", 13, 26985, "python3", journaled
	others := calls(0, 7, 40_000)
	others.Others = 3
	r.Rows = []filesystem.Row{rowB, rowA, others}
	return r
}

// Hostile has names that processes have chosen, calls that hang and a file system that has gone.
func Hostile() *filesystem.Report {
	const evil = "e\x1b[31m\n<b>\u202e\xff"
	r := base()
	r.Scope = evil
	row := calls(event.FSFdatasync, 2, 1_500_000_000)
	row.Dev, row.File, row.Inode, row.PID, row.Comm, row.Errors = 1, "/mnt/"+evil+"/file", 99, 7, evil, 1
	unnamed := calls(event.FSOpen, 1, 900)
	unnamed.Dev, unnamed.Inode, unnamed.PID = 3, 77, 8
	r.Mounts = []filesystem.Mount{
		{Mounted: filesystem.Mounted{Dev: 1, Point: "/mnt/" + evil, FSType: "xfs", Device: evil, Gone: true}, Operations: []filesystem.Row{row}},
		{Mounted: filesystem.Mounted{Dev: 2, Point: "/quiet", FSType: "btrfs", Device: "vdb"}},
		{Mounted: filesystem.Mounted{Dev: 3, Device: "0:44"}, Operations: []filesystem.Row{unnamed}},
	}
	r.Rows = []filesystem.Row{row, unnamed}
	r.UnderWay = []filesystem.Call{
		{Dev: 1, Op: event.FSFsync, File: evil, Inode: 99, PID: 7, TID: 8, Comm: evil, Age: 12e9, Cause: blame.LogForce},
		{Dev: 1, Op: event.FSRead, Inode: 98, PID: 9, TID: 9, Age: 2e9, Cause: blame.Unattributed},
	}
	r.Lost = []snapshot.Loss{{ID: "sums", Title: "calls not counted: " + evil, Count: 3, NS: 400}}
	r.Notes = []string{"the journal's commits are not told apart: " + evil}
	return r
}

// Empty is a machine on which nothing happened.
func Empty() *filesystem.Report { return base() }
