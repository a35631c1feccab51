// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iowitness/iowitness/event"
)

func TestThreadsProcesses(t *testing.T) {
	tasks := newTasks(t.TempDir())
	tasks.tgids[10] = 10
	tasks.made(11, 10, cloneThread|0x900) // a thread
	tasks.made(12, 11, 0x1200011)         // a process, by a thread
	tasks.made(13, 12, cloneThread)
	tasks.made(14, 99, cloneThread) // by somebody unknown
	for tid, want := range map[uint32]uint32{10: 10, 11: 10, 12: 12, 13: 12, 14: 0, 99: 0} {
		if got := tasks.process(tid); got != want {
			t.Errorf("thread %d is of process %d, not %d", tid, got, want)
		}
	}
	tasks.made(11, 12, 0) // the number again
	if got := tasks.process(11); got != 11 {
		t.Errorf("thread 11 is of process %d", got)
	}
}

// TestAThreadIsGoneWhenItIsFreed: not as it begins to end, for it still calls then, be it for the first time.
func TestAThreadIsGoneWhenItIsFreed(t *testing.T) {
	const began = uint64(1e9)
	tasks := newTasks(t.TempDir())
	status := filepath.Join(tasks.root, "proc", "11", "status")
	if err := os.MkdirAll(filepath.Dir(status), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &tracedCalls{tasks: tasks, threads: map[uint32]*callThread{}}
	tasks.made(11, 10, 0)
	tasks.exits(11, began)
	w.threads[11] = &callThread{tid: 11} // met by its first call
	for _, step := range []struct {
		state string
		at    uint64
		gone  bool
	}{{"Z (zombie)", began + 1, false}, {"D (disk sleep)", began + lastEvents, false}, {"Z (zombie)", began + lastEvents + 1, false}, {"Z (zombie)", began + 2*lastEvents, true}} {
		if err := os.WriteFile(status, []byte("State:\t"+step.state+"\nTgid:\t11\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		w.ahead = step.at
		w.bury()
		if gone := w.threads[11] == nil; gone != step.gone || gone != (len(tasks.tgids) == 0) {
			t.Errorf("%v: %v", step, gone)
		}
	}
	tasks.exits(12, began)
	tasks.made(12, 10, 0) // the number again
	if gone := tasks.gone(began + lastEvents); len(gone) != 0 {
		t.Errorf("%d", gone)
	}
}

func TestProcIsReadAsTheKernelWritesIt(t *testing.T) {
	if n, err := parseTgid([]byte("Name:\tTgid:\t7\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t4711\nNgid:\t0\n")); err != nil || n != 4711 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := parseTgid([]byte("Name:\tx\n")); err == nil {
		t.Error("no Tgid, no error")
	}
	for text, want := range map[string]activity{
		"Name:\tState:\nState:\tD (disk sleep)\nTgid:\t7\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n": {'D', 150},
		"State:\n": {}, "": {}, "State:\tS (sleeping)": {'S', 0},
	} {
		if got := parseActivity([]byte(text)); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	leaf, other, _ := testFunctions()
	functions := map[string]*tracedFunction{leaf.Name: leaf, other.Name: other}
	const byCaller, bySelf = "[<0>] folio_wait_bit_common+0x13d/0x350\n", "[<0>] jbd2_log_wait_commit.isra.0+0xaa/0x120 [jbd2]\n"
	const far = "[<0>] a+0x1/0x2\n[<0>] b+0x1/0x2\n[<0>] c+0x1/0x2\n[<0>] d+0x1/0x2\n"
	for text, want := range map[string]*tracedFunction{
		byCaller + bySelf: leaf, bySelf + byCaller: other, far + byCaller: nil, far + bySelf: other, "[<0>] io_schedule_x+0x46/0x70\n": nil, "": nil,
	} {
		if got := findFunction(parseStack(text), functions); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := parseStack("[<0>] jbd2_log_wait_commit.isra.0+0xaa/0x120 [jbd2]\n"); !slices.Equal(got, []frame{{"jbd2_log_wait_commit", "jbd2_log_wait_commit.isra.0", 0xaa}}) {
		t.Errorf("%+v", got)
	}
}

func TestWhoStillSleepsInACall(t *testing.T) {
	leaf, other, _ := testFunctions()
	fuse := &tracedFunction{Function: Function{Name: "request_wait_answer"}, signal: true}
	for _, c := range []struct {
		f         *tracedFunction
		seen, now activity
		want      bool
	}{
		{leaf, activity{}, activity{'D', 5}, true},
		{leaf, activity{'D', 5}, activity{'D', 5}, true},
		{leaf, activity{'D', 5}, activity{'D', 6}, false}, // another sleep
		{other, activity{'D', 5}, activity{'D', 6}, true}, // it may wake and sleep again
		{leaf, activity{'D', 5}, activity{'S', 5}, false},
		{fuse, activity{}, activity{'S', 5}, true},
		{fuse, activity{}, activity{'R', 5}, false},
		{leaf, activity{'D', 5}, activity{}, false},
	} {
		if got := (&openCall{function: c.f, seen: c.seen}).sleepsOn(c.now); got != c.want {
			t.Errorf("%s, %+v then %+v: %v", c.f.Name, c.seen, c.now, got)
		}
	}
}

func TestCgroupsAreFoundByTheirPath(t *testing.T) {
	for _, c := range []struct {
		filter cgroupFilter
		text   string
		want   bool
	}{
		{cgroupFilter{"", "/a"}, "0::/a\n", true},
		{cgroupFilter{"", "/a"}, "0::/a/b\n", true},
		{cgroupFilter{"", "/a"}, "0::/ab\n", false},
		{cgroupFilter{"", "/"}, "0::/x\n", true},
		{cgroupFilter{"memory", "/a"}, "0::/a\n4:memory:/b\n", false},
		{cgroupFilter{"blkio", "/a"}, "3:cpu,blkio:/a:b/c\n", false},
		{cgroupFilter{"blkio", "/a:b"}, "3:cpu,blkio:/a:b/c\n", true},
	} {
		if got := c.filter.matches(c.text); got != c.want {
			t.Errorf("%+v in %q: %v", c.filter, c.text, got)
		}
	}
	const v2 = "30 23 0:26 /sub /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw"
	if within, dir, ok := cgroupMount(v2, ""); !ok || within != "/sub" || dir != "/sys/fs/cgroup" {
		t.Errorf("%q, %q, %v", within, dir, ok)
	}
	const v1 = "31 23 0:27 / /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu,cpuacct"
	if _, _, ok := cgroupMount(v1, "cpuacct"); !ok {
		t.Error("cpuacct was not found")
	}
	if _, _, ok := cgroupMount(v1, ""); ok {
		t.Error("a v1 hierarchy was taken for the unified one")
	}
}

func TestSitesBeginInTheProbedFunction(t *testing.T) {
	for _, c := range []struct{ stack, want []uint64 }{
		{nil, []uint64{0x1001}},
		{[]uint64{0x1001, 0x2005}, []uint64{0x1001, 0x2005}},
		{[]uint64{0x1005, 0x2005}, []uint64{0x1001, 0x2005}},
		{[]uint64{0x2005, 0x3005}, []uint64{0x1001, 0x2005, 0x3005}},
		{[]uint64{0x0fff, 0x3005}, []uint64{0x1001, 0x0fff, 0x3005}},
	} {
		if got := siteOf(0x1000, c.stack, []uint64{9, 9, 9}); !slices.Equal(got, c.want) {
			t.Errorf("%#x: %#x", c.stack, got)
		}
	}
}

// TestSamplesStandForTheRest: the first of an interval, all slow ones, and of the
// others so many that their weights add up to about all.
func TestSamplesStandForTheRest(t *testing.T) {
	o := &Options{SampleEvery: 64, SampleFirst: 2}
	thread := &tracedThread{}
	const n = 20_000
	var first, slow, weights uint64
	for i := range n {
		flags := event.Flagged
		if i%1000 == 999 {
			flags |= event.Slow
		}
		chosen, weight, ok := thread.sample(flags, 7, o)
		switch {
		case ok && chosen&event.First != 0:
			first++
		case ok && chosen&event.Slow != 0:
			slow++
		case ok:
			weights += uint64(weight)
		case flags&event.Slow != 0:
			t.Fatal("a slow wait was left out")
		}
	}
	if first != 2 || slow != n/1000 || weights < n*6/10 || weights > n*14/10 {
		t.Errorf("%d first, %d slow, weights of %d for %d", first, slow, weights, n)
	}
}

func TestCounters(t *testing.T) {
	thread := &tracedThread{}
	thread.count(1000, 5000, event.Flagged, 3)
	thread.count(6000, 2_006_000, event.Flagged|event.Slow, 3)
	thread.count(3_000_000, 3_009_000, 0, 4)
	tally := thread.tell(10_000_000, &openCall{start: 9_000_000, pointer: 1, flagged: true})
	if tally.Born != 1000 || tally.Count != 3 || tally.Sums[event.Flagged] != (event.Sum{Count: 1, Blocked: 4000}) ||
		tally.Sums[event.Flagged|event.Slow] != (event.Sum{Count: 1, Blocked: 2_000_000}) || tally.Sums[0].Blocked != 9000 {
		t.Errorf("%+v", tally)
	}
	if tally.Max[1] != (event.Max{NS: 2_000_000, Epoch: 3}) || tally.Max[0] != (event.Max{NS: 9000, Epoch: 4}) {
		t.Errorf("%+v", tally.Max)
	}
	if tally.Start != 9_000_000 || tally.Flags != event.Flagged || tally.Now != 10_000_000 {
		t.Errorf("in progress: %+v", tally)
	}
	thread.count(9_000_000, 9_500_000, 0, 4)
	var told uint64
	for _, c := range tally.Hist {
		told += uint64(c.N)
	}
	if told != 3 {
		t.Errorf("a tally that was told has changed: %d waits in its histogram", told)
	}
}
