// SPDX-License-Identifier: Apache-2.0

// Package requesttest holds block requests, summaries and names for the tests of
// request and of the views.
package requesttest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

// Names is a set of names for tests.
type Names struct {
	Devices map[event.Dev]string
	Cgroups map[uint64]string
	Files   map[uint64]string // by inode
}

// Device implements request.Names.
func (n *Names) Device(dev event.Dev) string { return n.Devices[dev] }

// Cgroup implements request.Names.
func (n *Names) Cgroup(id uint64) string { return n.Cgroups[id] }

// File implements request.Names.
func (n *Names) File(f event.File, _ uint32) string { return n.Files[f.Ino] }

// The devices of the fixtures.
var (
	Sda   = event.MakeDev(8, 0)
	Sda3  = event.MakeDev(8, 3)
	Nvme  = event.MakeDev(259, 0)
	Nvme1 = event.MakeDev(259, 1)
	DM    = event.MakeDev(253, 0)
	Path  = event.MakeDev(259, 7) // of Nvme
)

// Times in ns.
const (
	US = 1000
	MS = 1000 * US
	S  = 1000 * MS
)

const zero = 5_000 * S

// Clock is that of the fixtures: their first request is submitted at its zero.
func Clock() request.Clock {
	return request.Clock{Zero: zero, Epoch: time.Date(2026, 3, 4, 12, 3, 4, 0, time.UTC)}
}

// NewNames are the names of the fixtures.
func NewNames() *Names {
	return &Names{
		Devices: map[event.Dev]string{Sda: "sda", Sda3: "sda3", Nvme: "nvme0n1", Nvme1: "nvme0n1p1", DM: "dm-0", Path: "nvme0c0n1"},
		Cgroups: map[uint64]string{7: "/system.slice/postgresql.service", 9: "/user.slice/user-1000.slice"},
		Files:   map[uint64]string{42: "/var/lib/postgresql/16/main/pg_wal/000000010000000000000001", 43: "/home/ada/backup.tar"},
	}
}

func task(pid uint32, comm string) event.Task { return event.Task{TID: pid, PID: pid, Comm: comm} }

// life gives a request its instants: when it was submitted, and how long until G, I, D and C.
func life(o event.IO, at uint64, steps ...uint64) event.IO {
	at += zero
	o.Queued = at
	for i, to := range []*uint64{&o.Got, &o.Inserted, &o.Issued, &o.Completed} {
		at += steps[i]
		*to = at
	}
	return o
}

// Requests is one of each sort: a read, a log write with its flush, writeback by a kworker for
// another, a stacked bio and what it became, a discard, an error, one by a scheduler-less path, one of
// which little is known, one that runs backwards, and one that never completed.
func Requests() []event.IO {
	wal := event.File{Ino: 42, Dev: Sda3, Source: event.ByFolio, Path: "/main/pg_wal/000000010000000000000001"}
	tar := event.File{Ino: 43, Dev: Nvme1, Source: event.ByFolio}
	return []event.IO{
		life(event.IO{Owner: task(1200, "fio"), Cgroup: 9, Dev: Nvme1, Disk: Nvme, Sector: 2048, Bytes: 4096, Op: event.OpRead | event.OpSync, Depth: 1, WaitTID: 1201, WaitNS: 95 * US}, 0, 2*US, 1*US, 3*US, 80*US),
		life(event.IO{Owner: task(4711, "postgres"), Cgroup: 7, Dev: Sda3, Disk: Sda, Top: DM, Sector: 123456, Bytes: 8192, Op: event.OpWrite | event.OpSync | event.OpFUA, Depth: 2, Flags: event.IOSequential, File: wal, WaitTID: 4711, WaitNS: 4 * MS}, 1*MS, 5*US, 5*US, 90*US, 4200*US),
		life(event.IO{Owner: task(4711, "postgres"), Cgroup: 7, Dev: Sda3, Disk: Sda, Op: event.OpWrite | event.OpSync | event.OpPreflush, Depth: 3, WaitTID: 4711, WaitNS: 9 * MS}, 2*MS, 5*US, 5*US, 10*US, 9*MS),
		life(event.IO{Owner: task(1300, "tar"), Carrier: task(77, "kworker/u8:2"), Cgroup: 9, Dev: Nvme1, Disk: Nvme, Sector: 1 << 33, Bytes: 1 << 20, Op: event.OpWrite, Depth: 31, Merged: 7, Flags: event.IODirtied | event.IOUncharged | event.IOSequential | event.IOSplit, File: tar}, 3*MS, 40*US, 200*US, 2*MS, 700*US),
		life(event.IO{Owner: task(4711, "postgres"), Cgroup: 7, Dev: DM, Disk: DM, Sector: 121408, Bytes: 8192, Op: event.OpWrite | event.OpSync, Flags: event.IOBio, File: wal}, 1*MS, 0, 0, 0, 4400*US),
		life(event.IO{Owner: task(600, "fstrim"), Dev: Nvme1, Disk: Nvme, Sector: 4096, Bytes: 1 << 30, Op: event.OpDiscard, Depth: 1}, 6*MS, 1*US, 1*US, 1*US, 12*MS),
		life(event.IO{Owner: task(1200, "fio"), Cgroup: 9, Dev: Sda, Disk: Sda, Sector: 99, Bytes: 512, Op: event.OpRead | event.OpRahead, Error: 5, Requeues: 2, Depth: 4}, 8*MS, 1*US, 1*US, 1*US, 2*S),
		{Owner: task(0, ""), Dev: Sda, Disk: Sda, Sector: 8, Bytes: 4096, Op: event.OpRead | event.OpMeta, Issued: zero + 9*MS, Completed: zero + 10*MS, File: event.File{Source: event.ByFolio, Ino: 1234}},
		{Owner: task(900, "clock"), Dev: Sda, Disk: Sda, Sector: 16, Bytes: 4096, Op: event.OpRead, Queued: zero + 30*MS, Issued: zero + 20*MS, Completed: zero + 21*MS},
		{Owner: task(901, "stuck"), Dev: Sda, Disk: Sda, Sector: 24, Bytes: 4096, Op: event.OpWrite, Queued: zero + 30*MS, Got: zero + 31*MS, Issued: zero + 32*MS, Flags: event.IOUnfinished},
	}
}

// Paths are requests of a disk with two paths, of which one has no name, and of a partition of it.
func Paths() []event.IO {
	const passed = event.IOPassed | event.IODevAbove
	return []event.IO{
		life(event.IO{Owner: task(1200, "fio"), Dev: Nvme, Disk: Path, Top: Nvme, Sector: 2048, Bytes: 4096, Op: event.OpRead, Depth: 1, Flags: passed}, 0, 2*US, 1*US, 3*US, 80*US),
		life(event.IO{Owner: task(1200, "fio"), Dev: Nvme1, Disk: Path, Top: Nvme, Sector: 4096, Bytes: 4096, Op: event.OpWrite, Depth: 1, Flags: passed}, 1*MS, 2*US, 1*US, 3*US, 80*US),
		life(event.IO{Owner: task(1300, "tar"), Dev: Nvme, Disk: Path + 1, Top: Nvme, Sector: 8192, Bytes: 4096, Op: event.OpRead, Depth: 1, Flags: passed}, 2*MS, 2*US, 1*US, 3*US, 40*US),
		// A stripe whose member is a partition.
		life(event.IO{Owner: task(1400, "dd"), Dev: Sda3, Disk: Sda, Top: DM, Sector: 100, Bytes: 4096, Op: event.OpRead, Depth: 1, Flags: event.IOPassed}, 3*MS, 2*US, 1*US, 3*US, 40*US),
	}
}

// Hostile are requests in which every name is a hostile one.
func Hostile() ([]event.IO, *Names) {
	names := NewNames()
	var list []event.IO
	for i, name := range snapshottest.HostileNames {
		dev, id := event.MakeDev(9, uint32(i)), uint64(100+i)
		names.Devices[dev], names.Cgroups[id], names.Files[id] = name, "/"+name, "/"+name
		list = append(list, life(event.IO{
			Owner: task(uint32(100+i), name), Carrier: task(50, name), Cgroup: id, Dev: dev, Disk: dev, Top: dev + 1, Bytes: 4096, Op: event.OpRead,
			File: event.File{Ino: id, Dev: dev, Source: event.ByFolio, Path: name},
		}, uint64(i)*MS, US, US, US, MS))
	}
	return list, names
}

// Options are those of the fixtures' summaries.
func Options(wall time.Duration) request.Options {
	start := Clock().Epoch
	return request.Options{Version: "0.1.0", Kernel: "6.18.44", Start: start, End: start.Add(wall), Wall: wall, Top: 10}
}

// Collected takes in requests.
func Collected(list []event.IO) *request.Collector {
	c := request.NewCollector(0, 0)
	for i := range list {
		c.Add(&list[i])
	}
	return c
}

// Summary is of Requests.
func Summary() *request.Summary {
	o := Options(2500 * time.Millisecond)
	o.Losses = request.Losses{Started: 10, Completed: 9, InFlight: 1, Unmatched: 2}
	o.Notes = []string{"no I/O scheduler is witnessed on sda"}
	return Collected(Requests()).Summary(o)
}

// Suffering is of a database that shares its disk with a backup.
func Suffering() *request.Suffering {
	return &request.Suffering{
		Name: "postgres", PID: 4711, Comm: "postgres", All: 5000, Slow: 500, Least: 4 * MS, Unplaced: 1,
		Crowds: []request.Crowd{{Disk: Sda, Waits: 499, NS: 3 * S, Max: 21 * MS, Neighbours: []request.Neighbour{
			{PID: 3000, Comm: "tar", Share: request.Share{Requests: 1200, Bytes: 1200 << 20, NS: 2800 * MS}, Percent: 70},
			{PID: 4711, Comm: "postgres", Share: request.Share{Requests: 510, Bytes: 510 << 13, NS: 1100 * MS}, Percent: 27.5, Itself: true},
			{Share: request.Share{Requests: 4, NS: 100 * MS}, Percent: 2.5},
		}}, {Disk: Nvme, Waits: 1, NS: 5 * MS, Max: 5 * MS, Neighbours: []request.Neighbour{{PID: 4711, Comm: "postgres", Share: request.Share{Requests: 1, Bytes: 512, NS: 5 * MS}, Percent: 100, Itself: true}}}},
	}
}

// Folded is of a set that was too small, from a trace that has no clock and lost something.
func Folded() *request.Summary {
	c := request.NewCollector(2, 0)
	for _, o := range Requests()[:6] {
		c.Add(&o)
	}
	s := c.Summary(request.Options{Version: "0.1.0", Source: "old.blktrace", Top: 10, Losses: request.Losses{Started: 6, Completed: 6, Dropped: 3}})
	s.Victim = Suffering()
	s.Findings = []request.Finding{{
		ID: request.DeviceSlow, Device: Sda, Op: event.KindWrite, Even: true,
		Now: request.Pace{NS: 60 * S, Count: 3000, PerSecond: 50, MeanNS: 20 * MS, MeanBytes: 4096, Depth: 1.02},
	}}
	s.Missed = 2
	s.Repeats = []request.Repeat{
		{Disk: Sda, Op: event.KindWrite, PID: 4711, Comm: "postgres", File: event.File{Ino: 42, Dev: Sda3, Source: event.ByFolio}, Extents: 8, Bytes: 8 << 12, Requests: 4000, Least: 500, Most: 500, Own: 4010, Share: 87.5},
		{Disk: Nvme, Op: event.KindRead, PID: 3000, Comm: "tar", Extents: 1, Bytes: 4096, Requests: 120, Least: 120, Most: 120, Own: 120, Share: 0.4},
	}
	return s
}

// Million is a minute of a database and a backup that share a disk with a cache: what hits takes some
// 80 µs, the rest 4.2 ms. There are a hundred clients.
func Million() *request.Summary {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	c := request.NewCollector(0, 0)
	for i := range uint64(n) {
		median, sigma := 80.0*US, .2
		if r.Float64() < .29 {
			median, sigma = 4.2*MS, .4
		}
		o := event.IO{Owner: task(2000+uint32(r.IntN(100)), "postgres"), Cgroup: 7, Dev: Nvme1, Disk: Nvme, Bytes: 8192, Op: event.OpRead | event.OpSync, Depth: uint32(1 + r.IntN(16))}
		if r.IntN(10) == 0 {
			o.Owner, o.Cgroup, o.Bytes, o.Op, o.Flags = task(3000, "tar"), 9, 1<<20, event.OpWrite, event.IOSequential
		}
		o = life(o, i*60*US, 2*US, 3*US, 10*US, uint64(median*math.Exp(sigma*r.NormFloat64())))
		c.Add(&o)
	}
	o := Options(time.Minute)
	o.Top, o.Losses = 5, request.Losses{Started: n, Completed: n}
	return c.Summary(o)
}

// Throttled is a disk that serves 900 reads a second for half a minute, and for another 50: a
// cloud volume whose credits are spent.
func Throttled() *request.Summary {
	c := request.NewCollector(0, 0)
	r := rand.New(rand.NewPCG(3, 4))
	at := uint64(0)
	for at < 60*S {
		took, every := uint64(900*US+r.IntN(200*US)), uint64(S/900)
		if at >= 30*S {
			took, every = uint64(19*MS+r.IntN(1*MS)), S/50
		}
		o := life(event.IO{Owner: task(1200, "fio"), Dev: Sda, Disk: Sda, Bytes: 4096, Op: event.OpRead, Depth: 1}, at, US, US, US, took)
		c.Add(&o)
		at += every
	}
	return c.Summary(Options(time.Minute))
}
