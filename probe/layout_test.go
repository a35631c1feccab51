// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/event"
)

// record is a record laid out by the object file's own type information.
type record struct {
	t *testing.T
	s *btf.Struct
	b []byte
}

func newRecord(t *testing.T, name string, kind event.Kind) *record {
	t.Helper()
	load := loadWait
	switch kind {
	case event.KindFile:
		load = loadFs
	case event.KindIO, event.KindIOWait:
		load = loadBlock
	case event.KindFailure, event.KindSignal, event.KindDeath:
		load = loadCall
	case event.KindProcess, event.KindRunQ:
		load = loadProfile
	}
	spec, err := load()
	if err != nil {
		t.Fatal(err)
	}
	var s *btf.Struct
	if err := spec.Types.TypeByName(name, &s); err != nil {
		t.Fatal(err)
	}
	r := &record{t, s, make([]byte, s.Size)}
	r.set("head.kind", uint64(kind))
	r.set("head.version", event.Version)
	r.set("head.size", uint64(s.Size))
	return r
}

// find gives the offset and size of a field such as "wait.sums.2.count".
func find(t *testing.T, typ btf.Type, path []string) (offset, size uint32) {
	t.Helper()
	typ = btf.UnderlyingType(typ)
	if len(path) == 0 {
		n, err := btf.Sizeof(typ)
		if err != nil {
			t.Fatal(err)
		}
		return 0, uint32(n)
	}
	switch x := typ.(type) {
	case *btf.Struct:
		for _, m := range x.Members {
			if m.Name == path[0] {
				offset, size = find(t, m.Type, path[1:])
				return offset + m.Offset.Bytes(), size
			}
		}
	case *btf.Array:
		i, err := strconv.Atoi(path[0])
		if err != nil {
			t.Fatal(err)
		}
		n, err := btf.Sizeof(x.Type)
		if err != nil {
			t.Fatal(err)
		}
		offset, size = find(t, x.Type, path[1:])
		return offset + uint32(i*n), size
	}
	t.Fatalf("no field %v in %v", path, typ)
	return 0, 0
}

func (r *record) set(path string, value uint64) {
	r.t.Helper()
	offset, size := find(r.t, r.s, strings.Split(path, "."))
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], value)
	copy(r.b[offset:offset+size], b[:])
}

func (r *record) text(path, value string) {
	r.t.Helper()
	offset, _ := find(r.t, r.s, strings.Split(path, "."))
	copy(r.b[offset:], value)
}

// decodes compares what event makes of the record with numbers by name.
func (r *record) decode() any {
	r.t.Helper()
	got, n, err := event.Decode(r.b)
	if err != nil || n != len(r.b) {
		r.t.Fatalf("%d of %d bytes: %v", n, len(r.b), err)
	}
	return got
}

func same(t *testing.T, pairs map[string][2]any) {
	t.Helper()
	for name, p := range pairs {
		if !reflect.DeepEqual(p[0], p[1]) {
			t.Errorf("%s is %v, not %v", name, p[0], p[1])
		}
	}
}

func setSite(r *record, prefix string) {
	r.set(prefix+"syscall", 17)
	r.set(prefix+"frames", 2)
	r.set(prefix+"cgroup", 101)
	r.set(prefix+"sched_frames", 1)
	r.set(prefix+"sched.0", 106)
	r.set(prefix+"stack.1", 102)
	r.set(prefix+"file.ino", 103)
	r.set(prefix+"file.dev", 104)
	r.set(prefix+"file.source", 1)
	r.set(prefix+"file.path_bytes", 4)
	r.set(prefix+"file.is_bdev", 1)
	r.set(prefix+"file.backing_dev", 105)
	r.text(prefix+"file.path", "b\x00a\x00")
}

func checkSite(t *testing.T, s *event.Site) {
	t.Helper()
	same(t, map[string][2]any{
		"syscall": {s.Syscall, int32(17)}, "cgroup": {s.Cgroup, uint64(101)},
		"frames": {len(s.Stack), 3}, "frame": {s.Stack[2], uint64(102)}, "inner frame": {s.Stack[0], uint64(106)},
		"file": {s.File, event.File{Ino: 103, Dev: 104, Source: event.ByFD, BlockDevice: true, Backing: 105, Path: "/a/b"}},
	})
}

func TestWaitRecordsAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	r := newRecord(t, "wait_record", event.KindWait)
	for i, field := range []string{"start", "woken", "runs", "seq", "born", "flags", "cpu", "request.sector", "request.dev", "request.bytes", "request.op", "weight", "head.tid", "head.tgid"} {
		r.set(field, uint64(i+1))
	}
	r.text("head.comm", "name")
	setSite(r, "site.")
	w := r.decode().(*event.Wait)
	same(t, map[string][2]any{
		"times": {[5]uint64{w.Start, w.Woken, w.Runs, w.Seq, w.Born}, [5]uint64{1, 2, 3, 4, 5}},
		"flags": {w.Flags, event.Flags(6)}, "cpu": {w.CPU, uint32(7)},
		"request": {w.Request, event.Request{Sector: 8, Dev: 9, Bytes: 10, Op: 11}},
		"ids":     {[3]uint32{w.Weight, w.TID, w.PID}, [3]uint32{12, 13, 14}}, "comm": {w.Comm, "name"},
	})
	checkSite(t, &w.Site)
}

func TestTalliesAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	r := newRecord(t, "tally_record", event.KindTally)
	for i, field := range []string{"now", "wait.start", "wait.woken", "wait.born", "wait.flags", "wait.count", "wait.sums.2.count", "wait.sums.2.blocked_ns", "wait.sums.2.runqueue_ns", "wait.max.1.ns", "wait.max.1.epoch", "wait.hist.127", "head.tid", "head.tgid"} {
		r.set(field, uint64(i+1))
	}
	r.set("has_site", 1)
	setSite(r, "site.")
	w := r.decode().(*event.Tally)
	same(t, map[string][2]any{
		"times": {[4]uint64{w.Now, w.Start, w.Woken, w.Born}, [4]uint64{1, 2, 3, 4}},
		"flags": {w.Flags, event.Flags(5)}, "count": {w.Count, uint64(6)},
		"sum": {w.Sums[2], event.Sum{Count: 7, Blocked: 8, RunQueue: 9}}, "max": {w.Max[1], event.Max{NS: 10, Epoch: 11}},
		"hist": {w.Hist[0], event.HistCount{Slot: 127, N: 12}}, "ids": {[2]uint32{w.TID, w.PID}, [2]uint32{13, 14}},
	})
	checkSite(t, w.Site)
}

func TestIdentitiesAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	r := newRecord(t, "identity_record", event.KindIdentity)
	for i, field := range []string{"cgroup", "start_boottime", "uid", "ppid", "ns_pid", "ns_level", "kthread", "cgroup_v1", "exe.ino", "exe.dev"} {
		r.set(field, uint64(i+1))
	}
	r.set("exe.source", 1)
	r.set("exe.path_bytes", 3)
	r.text("exe.path", "dd\x00")
	r.set("cgroup_bytes", 7)
	r.text("cgroup_path", "abc\x00de\x00")
	r.text("leader_comm", "leader")
	i := r.decode().(*event.Identity)
	same(t, map[string][2]any{
		"all": {*i, event.Identity{
			LeaderComm: "leader", Cgroup: 1, StartTime: 2, UID: 3, PPID: 4, NSPID: 5, NSLevel: 6, Kernel: true, CgroupV1: 8,
			Exe: event.File{Ino: 9, Dev: 10, Source: event.ByFD, Path: "/dd"}, CgroupPath: "/de/abc",
		}},
	})
}

func TestFilesAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	r := newRecord(t, "file_record", event.KindFile)
	r.set("file.ino", 1)
	r.set("file.dev", 2)
	r.set("file.source", 1)
	r.set("file.path_bytes", 4)
	r.text("file.path", "b\x00a\x00")
	same(t, map[string][2]any{
		"file": {*r.decode().(*event.File), event.File{Ino: 1, Dev: 2, Source: event.ByFD, Path: "/a/b"}},
	})
}

func TestRequestsAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	r := newRecord(t, "io_record", event.KindIO)
	want := event.IO{
		Owner: event.Task{TID: 21, PID: 22, Comm: "owner"}, Carrier: event.Task{TID: 23, PID: 24, Comm: "carrier"},
		File: event.File{Ino: 8, Dev: 9, Source: event.ByFolio, BlockDevice: true},
	}
	r.text("life.owner.comm", "owner")
	r.text("life.carrier.comm", "carrier")
	for field, value := range map[string]uint64{
		"owner.tid": 21, "owner.tgid": 22, "carrier.tid": 23, "carrier.tgid": 24, "ino": 8, "file_dev": 9, "file_source": 2, "file_is_bdev": 1,
	} {
		r.set("life."+field, value)
	}
	for i, field := range []string{
		"queued", "got", "inserted", "issued", "completed", "sector", "cgroup", "dev", "disk", "top", "bytes", "op", "depth", "error", "merged", "requeues", "flags", "cpu",
	} {
		r.set("life."+field, uint64(100+i))
	}
	want.Queued, want.Got, want.Inserted, want.Issued, want.Completed, want.Sector, want.Cgroup = 100, 101, 102, 103, 104, 105, 106
	want.Dev, want.Disk, want.Top, want.Bytes, want.Op, want.Depth, want.Error = 107, 108, 109, 110, 111, 112, 113
	want.Merged, want.Requeues, want.Flags, want.CPU = 114, 115, 116, 117
	same(t, map[string][2]any{"request": {*r.decode().(*event.IO), want}})

	w := newRecord(t, "io_wait_record", event.KindIOWait)
	for i, field := range []string{"head.tid", "head.tgid", "completed", "sector", "disk", "wait_ns"} {
		w.set(field, uint64(1+i))
	}
	same(t, map[string][2]any{"wait": {*w.decode().(*event.IOWait), event.IOWait{TID: 1, PID: 2, Completed: 3, Sector: 4, Disk: 5, WaitNS: 6}}})
}

func TestSumsOfRequestsAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	spec, err := loadBlock()
	if err != nil {
		t.Fatal(err)
	}
	layout := func(name string) *record {
		var s *btf.Struct
		if err := spec.Types.TypeByName(name, &s); err != nil {
			t.Fatal(err)
		}
		return &record{t, s, make([]byte, s.Size)}
	}
	key, sum := layout("io_key"), layout("io_sum")
	for i, field := range []string{"cgroup", "ino", "file_dev", "dev", "disk", "tgid", "op", "flags", "top"} {
		key.set(field, uint64(1+2*i))
	}
	fields := []string{"untimed", "bytes", "errors", "merged", "requeues", "split", "sequential", "depths", "depth_max", "depth_no_data", "carried"}
	for i, field := range fields {
		sum.set(field, uint64(1+i))
	}
	sum.set("with.0", 100)  // nothing but the whole
	sum.set("with.13", 200) // all phases but the one on the way to the I/O scheduler
	sum.set("with.31", 400) // all, with a place
	sum.set("phases.3.ns", 77)
	sum.set("phases.4.max", 78)
	sum.set("device_hist.5", 6)
	sum.set("total_hist.7", 8)
	sum.set("sizes.9", 10)
	sum.text("owner.comm", "owner")
	k, s, err := event.DecodeIOSum(key.b, sum.b)
	if err != nil {
		t.Fatal(err)
	}
	same(t, map[string][2]any{
		"key": {k, event.IOKey{Cgroup: 1, Ino: 3, FileDev: 5, Dev: 7, Disk: 9, PID: 11, Op: 13, Flags: 15, Top: 17}},
		"counts": {
			[12]uint64{s.Count, s.Bytes, s.Errors, s.Merged, s.Requeues, s.Split, s.Sequential, s.Sequenced, s.Depths, s.DepthCount, s.DepthMax, s.Carried},
			[12]uint64{701, 2, 3, 4, 5, 6, 7, 400, 8, 410, 9, 11},
		},
		"phases": {[5]uint64{s.Phases[0].Count, s.Phases[1].Count, s.Phases[2].Count, s.Phases[3].Count, s.Phases[4].Count}, [5]uint64{600, 400, 600, 600, 700}},
		"rest":   {[]any{s.Phases[3].NS, s.Phases[4].Max, s.DeviceHist, s.TotalHist, s.Sizes[9], s.Owner.Comm}, []any{uint64(77), uint64(78), event.Hist{{Slot: 5, N: 6}}, event.Hist{{Slot: 7, N: 8}}, uint32(10), "owner"}},
	})
}

func TestFailureRecordsAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	r := newRecord(t, "failed_record", event.KindFailure)
	for i, field := range []string{"start", "end", "ret", "cgroup", "arg.0", "arg.5", "number", "compat", "returns", "cpu", "has_path.1", "head.tid", "head.tgid"} {
		r.set(field, uint64(i+1))
	}
	r.set("returns", 34)
	r.set("has_path.0", 0)
	r.text("path.0", "not read")
	r.text("path.1", "/a")
	for i, field := range []string{"place", "ret", "stack", "called", "function", "failed"} {
		r.set("inner.1."+field, uint64(50+i)) // the last of 34
		r.set("inner.2."+field, uint64(60+i)) // the first that was kept
	}
	f := r.decode().(*event.Failure)
	same(t, map[string][2]any{
		"instants": {[4]uint64{f.Start, f.End, f.Ret, f.Cgroup}, [4]uint64{1, 2, 3, 4}}, "arguments": {f.Args, [6]uint64{5, 0, 0, 0, 0, 6}},
		"call":  {[]any{f.Number, f.Compat, f.Returns, f.CPU, f.TID, f.PID}, []any{uint32(7), true, uint32(34), uint32(10), uint32(12), uint32(13)}},
		"paths": {f.Paths, [2]event.Path{{}, {Text: "/a", Read: true}}}, "returns": {len(f.Inner), 32},
		"first": {f.Inner[0], event.ErrorReturn{Place: 60, Ret: 61, Stack: 62, Called: 63, Function: 64, Failed: true}},
		"last":  {f.Inner[31], event.ErrorReturn{Place: 50, Ret: 51, Stack: 52, Called: 53, Function: 54, Failed: true}},
	})
	r = newRecord(t, "signal_record", event.KindSignal)
	for i, field := range []string{"time", "address", "stack", "number", "code", "target_tid", "target_tgid"} {
		r.set(field, uint64(i+1))
	}
	r.text("target_comm", "name")
	same(t, map[string][2]any{"signal": {r.decode(), &event.Signal{Time: 1, Address: 2, Stack: 3, Number: 4, Code: 5, TargetTID: 6, TargetPID: 7, Target: "name"}}})
	r = newRecord(t, "death_record", event.KindDeath)
	for i, field := range []string{"time", "signal", "dumped"} {
		r.set(field, uint64(i+1))
	}
	same(t, map[string][2]any{"death": {r.decode(), &event.Death{Time: 1, Signal: 2, Dumped: true}}})
}

func TestEveryLossHasAName(t *testing.T) {
	spec, err := loadWait()
	if err != nil {
		t.Fatal(err)
	}
	if got, named := int(spec.Maps["losses"].MaxEntries), len(allLossNames); got != named {
		t.Errorf("the kernel side counts %d losses, %d have names", got, named)
	}
	ids := map[string]bool{}
	for _, l := range allLossNames {
		if l.ID == "" || l.Title == "" || ids[l.ID] {
			t.Errorf("loss %+v has no name of its own", l)
		}
		ids[l.ID] = true
	}
}

func TestEveryProbeOfFileSystemsHasItsPrograms(t *testing.T) {
	spec, err := loadFs()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{resolveProgram: true, underWayProgram: true, enterWithVMA: true}
	for _, p := range FSTable {
		for _, via := range fsMeans {
			if spec.Programs[p.Programs[via]] == nil {
				t.Errorf("probe %s by %s: there is no program %q", p.ID, via, p.Programs[via])
			}
			used[p.Programs[via]] = true
		}
		if p.Optional != (p.Without != "") {
			t.Errorf("probe %s: what is lost without it?", p.ID)
		}
	}
	for name := range spec.Programs {
		if !used[name] {
			t.Errorf("program %s is in no probe", name)
		}
	}
}

func TestEveryProbeHasItsPrograms(t *testing.T) {
	spec, err := loadWait()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{walkProgram: true, resolveProgram: true}
	for _, name := range sleepPrograms {
		used[name] = true
	}
	// What is witnessed may be told by one probe under some means, and by another one under others.
	by := map[string]map[Means]bool{}
	for _, p := range Table {
		if by[p.Witness] == nil {
			by[p.Witness] = map[Means]bool{}
		}
		for via := range p.Programs {
			by[p.Witness][via] = true
		}
	}
	for _, p := range Table {
		for _, via := range byTracepoints {
			onlyFunctions := !by[p.Witness][TPBTF] && !by[p.Witness][TP]
			if !by[p.Witness][via] && !p.Optional && !onlyFunctions {
				t.Errorf("that %s is told by no program of %s", p.Witness, via)
			}
		}
		for via, name := range p.Programs {
			if spec.Programs[name] == nil {
				t.Errorf("probe %s by %s: there is no program %s", p.ID, via, name)
			}
			used[name] = true
		}
		if p.Optional != (p.Without != "") {
			t.Errorf("probe %s: what is lost without it?", p.ID)
		}
	}
	for name := range spec.Programs {
		if !used[name] {
			t.Errorf("program %s is in no probe", name)
		}
	}
}

func TestEveryProbeOfRequestsHasItsPrograms(t *testing.T) {
	spec, err := loadBlock()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{resolveProgram: true}
	for _, p := range RequestTable {
		for _, programs := range []map[Means]string{p.Programs, p.Older} {
			for via, name := range programs {
				if spec.Programs[name] == nil {
					t.Errorf("probe %s by %s: there is no program %s", p.ID, via, name)
				}
				used[name] = true
			}
		}
		if p.Optional != (p.Without != "") {
			t.Errorf("probe %s: what is lost without it?", p.ID)
		}
	}
	for name := range spec.Programs {
		if !used[name] {
			t.Errorf("program %s is in no probe", name)
		}
	}
}
