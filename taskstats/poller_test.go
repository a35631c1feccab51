// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// life is a thread that waits and runs in turn, by a schedule that is known.
type life struct {
	task
	rnd     *rand.Rand
	wait    uint64 // ns, the mean
	run     uint64
	until   uint64 // of the state it is in
	waited  uint64 // ns, all in all: the truth
	waits   uint64
	account bool // the kernel accounts for its waits
	spent   uint64
}

// live goes on to an instant.
func (l *life) live(from, now uint64) {
	for at := from; at < now; {
		if l.until <= at {
			l.turn(at)
		}
		next := min(l.until, now)
		if l.state == 'D' {
			l.waited += next - at
			l.spent += next - at
		}
		at = next
	}
}

func (l *life) turn(at uint64) {
	if l.state == 'D' {
		l.state = 'R'
		l.until = at + l.rnd.Uint64N(2*l.run+1)
		l.runs++
		if l.account {
			l.ticks = l.spent / TickNS
		}
		return
	}
	l.state = 'D'
	l.waits++
	l.until = at + l.rnd.Uint64N(2*l.wait+1) + 1
}

// TestTotalsAreRightWhateverTheLengthOfWaits: most of the short waits are seen by
// no poll, and some wait for one that never ends; the totals come out right.
func TestTotalsAreRightWhateverTheLengthOfWaits(t *testing.T) {
	for _, c := range []struct {
		wait, run uint64
		account   bool
		within    float64
	}{
		{300 * ms, 50 * ms, false, 0.08},
		{100 * ms, 5 * ms, false, 0.08},
		{20 * ms, 20 * ms, false, 0.15},
		{2 * ms, 8 * ms, false, 0.25},
		{300 * ms, 50 * ms, true, 0.03},
		{20 * ms, 20 * ms, true, 0.06},
		{2 * ms, 8 * ms, true, 0.15},
	} {
		w := newWorld(t, nil)
		if c.account {
			w.put("proc/sys/kernel/task_delayacct", "1\n")
			w.put("proc/cmdline", "quiet delayacct\n")
		}
		rnd := rand.New(rand.NewPCG(c.wait, c.run))
		l := &life{rnd: rnd, wait: c.wait, run: c.run, account: c.account}
		l.task = task{tid: 50, ppid: 1, comm: "x", state: 'R', start: w.bornNow() - 100}
		w.write(&l.task)
		p := w.open(Config{Detail: true})
		w.start()
		var total Account
		var records, seen uint64
		for i := range 1200 {
			before := w.now
			w.now += uint64(float64(50*ms) * (0.75 + 0.5*rnd.Float64()))
			l.live(before, w.now)
			w.move(&l.task)
			w.poll()
			if i%20 == 19 {
				if a, ok := w.settle()[50]; ok {
					total = a
				}
				for _, wait := range p.Waits() {
					records++
					seen += wait.Blocked()
					if wait.Start > wait.First || wait.First > wait.Last || wait.Last > wait.End || wait.Seen < 1 {
						t.Fatalf("%+v", wait)
					}
				}
			}
		}
		told := total.Flagged.NS + total.Unflagged.NS
		off := float64(told)/float64(l.waited) - 1
		t.Logf("waits of %d ms, runs of %d ms: %d waits of %d ms in all; told %d of %d ms (%+.1f%%), %d seen",
			c.wait/ms, c.run/ms, l.waits, l.waited/ms, total.Flagged.Count+total.Unflagged.Count, told/ms, 100*off, records)
		if off > c.within || off < -c.within {
			t.Errorf("the total is off by %.0f%%", 100*off)
		}
		if c.account && total.Flagged.NS < l.waited*9/10 {
			t.Errorf("of %d ms %d are told as iowait", l.waited/ms, total.Flagged.NS/ms)
		}
	}
}

// TestWaitsInARowAreToldApart by how often the thread ran, though each poll sees it wait.
func TestWaitsInARowAreToldApart(t *testing.T) {
	w := newWorld(t, nil)
	x := &task{tid: 60, comm: "x", state: 'D', runs: 1}
	w.write(x)
	p := w.open(Config{Detail: true})
	w.start()
	for _, runs := range []int{1, 1, 2, 3, 3} {
		w.now += 50 * ms
		x.runs = runs
		w.write(x)
		w.poll()
	}
	w.now += 50 * ms
	x.state, x.runs = 'S', 4
	w.write(x)
	w.poll()
	account := w.settle()[60]
	waits := p.Waits()
	if len(waits) != 3 || !waits[0].Adopted || waits[1].Adopted || account.Unflagged.Count != 3 {
		t.Fatalf("%+v", waits)
	}
	for i, seen := range []int{3, 1, 2} {
		if waits[i].Seen != seen {
			t.Errorf("wait %d was seen %d times", i, waits[i].Seen)
		}
		if i > 0 && waits[i].Start != waits[i-1].End {
			t.Errorf("wait %d begins at %d, the one before ends at %d", i, waits[i].Start, waits[i-1].End)
		}
	}
	// The first poll to the middle between the last that saw it and the next.
	if account.Unflagged.NS != 275*ms {
		t.Errorf("%d ms in all", account.Unflagged.NS/ms)
	}
}

// TestAWaitThatGoesOnIsTold, with its place, and the accounting judges it when it ends.
func TestAWaitThatGoesOnIsTold(t *testing.T) {
	w := newWorld(t, map[string]string{"proc/sys/kernel/task_delayacct": "1\n", "proc/cmdline": "delayacct\n"})
	x := &task{tid: 61, comm: "x", state: 'R', runs: 1}
	w.write(x)
	p := w.open(Config{Detail: true, FDArguments: [512]uint8{17: 1}})
	w.start()
	w.now += 50 * ms
	x.state, x.stack, x.syscall = 'D', "[<0>] submit_bio_wait+0x1/0x2\n[<0>] vfs_read+0x1/0x2\n", "17 0x3 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"
	w.write(x)
	w.poll()
	account := w.settle()[61]
	if account.Wait == nil || account.Wait.Flag != FlagUnknown || account.Flagged.Count+account.Unflagged.Count != 0 || len(p.Waits()) != 0 {
		t.Fatalf("%+v", account)
	}
	if site := account.Wait.Site; !slices.Equal(site.Names, []string{"submit_bio_wait", "vfs_read"}) || site.Syscall != 17 {
		t.Errorf("%+v", site)
	}
	w.now += 450 * ms
	x.state, x.runs, x.ticks = 'R', 2, 48
	w.write(x)
	w.poll()
	account = w.settle()[61]
	if account.Wait != nil || account.Flagged != (Sum{1, 480 * ms}) || account.Unflagged != (Sum{}) {
		t.Errorf("%+v", account)
	}
	// What is learned of a place holds for the next wait there, and for other threads.
	w.now += 50 * ms
	x.state, x.runs = 'D', 3
	w.write(x)
	w.poll()
	if got := w.settle()[61].Wait.Flag; got != Flagged {
		t.Errorf("the next wait there is %v", got)
	}
	// Another wait, which the accounting does not know.
	x.state, x.runs, x.stack = 'D', 4, "[<0>] jbd2_log_wait_commit+0x1/0x2\n"
	w.now += 50 * ms
	w.write(x)
	w.poll()
	w.now += 300 * ms
	w.poll()
	x.state, x.runs = 'R', 5
	w.write(x)
	w.poll()
	if account = w.settle()[61]; account.Unflagged.Count != 1 || account.Unflagged.NS < 300*ms {
		t.Errorf("%+v", account)
	}
}

// TestUnknownIsNotZero (case G4): a thread that began before the switch stays at 0,
// and is told by what is seen; one that began after it is covered.
func TestUnknownIsNotZero(t *testing.T) {
	w := newWorld(t, map[string]string{"proc/sys/kernel/task_delayacct": "1\n"})
	old := &task{tid: 70, comm: "old", state: 'D', runs: 1}
	w.write(old)
	w.open(Config{})
	w.start()
	w.now += 100 * ms
	young := &task{tid: 71, comm: "young", state: 'R', runs: 1, start: w.bornNow()}
	w.write(young)
	w.now += 100 * ms
	w.poll()
	w.now += 200 * ms
	old.state, old.runs = 'R', 2
	w.write(old)
	w.poll()
	accounts := w.settle()
	if a := accounts[70]; a.Covered || a.Unflagged.Count != 1 || a.Unflagged.NS < 200*ms {
		t.Errorf("old: %+v", a)
	}
	young.ticks, young.runs = 4, 2
	w.write(young)
	w.now += 50 * ms
	w.poll()
	if a := w.settle()[71]; !a.Covered || a.Flagged != (Sum{1, 40 * ms}) {
		t.Errorf("young: %+v", a)
	}
}

// TestTheSwitchIsWatched: what is off when the watch begins may be switched on.
func TestTheSwitchIsWatched(t *testing.T) {
	w := newWorld(t, nil)
	p := w.open(Config{})
	w.start()
	if s := p.Sources(); s.Switch != Off {
		t.Fatalf("%+v", s)
	}
	w.put("proc/sys/kernel/task_delayacct", "1\n")
	w.settle()
	p.client, p.exits = nil, nil
	x := &task{tid: 72, comm: "x", state: 'R', runs: 1, start: w.bornNow() + 1}
	w.write(x)
	w.now += 100 * ms
	w.poll()
	x.ticks, x.runs = 5, 2
	w.write(x)
	w.now += 100 * ms
	w.poll()
	if a := w.settle()[72]; a.Flagged.NS != 50*ms {
		t.Errorf("%+v", a)
	}
	if s := p.Sources(); s.Switch != On {
		t.Errorf("%+v", s)
	}
}

// TestThreadsComeAndGo, and ids are used again.
func TestThreadsComeAndGo(t *testing.T) {
	w := newWorld(t, nil)
	leader := &task{tid: 80, comm: "main", state: 'S', runs: 1, threads: 2}
	second := &task{pid: 80, tid: 81, comm: "worker", state: 'D', runs: 1, threads: 2}
	w.write(leader)
	w.write(second)
	p := w.open(Config{})
	w.start()
	w.now += 50 * ms
	w.poll()
	if p.Threads() != 2 || w.settle()[81].Wait == nil {
		t.Fatalf("%d threads", p.Threads())
	}
	w.end(second)
	leader.threads, leader.runs = 1, 2
	w.write(leader)
	w.now += 50 * ms
	w.poll()
	if a := w.settle()[81]; !a.Exited || a.Unflagged.Count != 1 {
		t.Errorf("%+v", a)
	}
	w.end(leader)
	other := &task{tid: 80, comm: "other", state: 'D', runs: 9, start: w.bornNow()}
	w.write(other)
	w.now += 50 * ms
	w.poll()
	a := w.settle()[80]
	if a.Comm != "other" || a.Wait == nil || a.Exited || p.Threads() != 1 {
		t.Errorf("%+v", a)
	}
	w.end(other)
	w.now += 50 * ms
	w.poll()
	if a := w.settle()[80]; !a.Exited || a.Unflagged.Count != 1 || p.Threads() != 0 || len(p.processes) != 0 {
		t.Errorf("%+v", a)
	}
}

// TestAnIdleRingIsFound though it is in state S (case G1), also where the wait is part of the call itself.
func TestAnIdleRingIsFound(t *testing.T) {
	for _, stack := range []string{"[<0>] io_cqring_wait+0x1/0x2\n[<0>] __do_sys_io_uring_enter+0x1/0x2\n", "[<0>] __do_sys_io_uring_enter+0x1/0x2\n"} {
		w := newWorld(t, nil)
		ring := &task{tid: 90, comm: "ring", state: 'S', runs: 1, stack: stack}
		sleeper := &task{tid: 91, comm: "sleeper", state: 'S', runs: 1, stack: "[<0>] hrtimer_nanosleep+0x1/0x2\n"}
		w.write(ring)
		w.write(sleeper)
		w.open(Config{Detail: true})
		w.start()
		for range 3 {
			w.now += 50 * ms
			w.poll()
		}
		accounts := w.settle()
		if a := accounts[90]; a.Wait == nil || !a.Wait.Interruptible || !a.Wait.Adopted || !strings.HasPrefix(stack, "[<0>] "+a.Wait.Site.Names[0]) {
			t.Errorf("%+v", a)
		}
		if len(accounts) != 1 {
			t.Errorf("%+v", accounts)
		}
	}
}

func TestFiltersOfThreads(t *testing.T) {
	tree := map[string]string{
		"proc/100/cgroup": "0::/a/b\n", "proc/101/cgroup": "0::/a/bc\n", "proc/102/cgroup": "9:blkio,memory:/a/b/c\n0::/\n",
	}
	for name, c := range map[string]struct {
		config Config
		want   []uint32
	}{
		"none":    {Config{}, []uint32{100, 101, 102, 103}},
		"skip":    {Config{Skip: 101}, []uint32{100, 102, 103}},
		"pid":     {Config{PIDs: []uint32{101, 4000}}, []uint32{101}},
		"comm":    {Config{Comm: "two"}, []uint32{101, 102}},
		"cgroup":  {Config{Cgroup: Cgroup{Path: "/a/b"}}, []uint32{100}},
		"blkio":   {Config{Cgroup: Cgroup{Controller: "blkio", Path: "/a/b/"}}, []uint32{102}},
		"several": {Config{Comm: "two", Cgroup: Cgroup{Controller: "memory", Path: "/a"}}, []uint32{102}},
	} {
		w := newWorld(t, tree)
		for i, comm := range []string{"one", "two", "two", "three"} {
			w.write(&task{tid: uint32(100 + i), comm: comm, state: 'D', runs: 1})
		}
		w.open(c.config)
		w.start()
		var got []uint32
		for tid := range w.settle() {
			got = append(got, tid)
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestChildrenAreFollowed from the thread that makes them down.
func TestChildrenAreFollowed(t *testing.T) {
	w := newWorld(t, nil)
	self := &task{tid: 200, ppid: 1, comm: "self", state: 'R', runs: 1}
	before := &task{tid: 201, ppid: 200, comm: "before", state: 'D', runs: 1}
	w.write(self)
	w.write(before)
	p := w.open(Config{Follow: true, Skip: 200})
	w.start()
	w.now += 100 * ms
	if err := p.Follow(200); err != nil {
		t.Fatal(err)
	}
	if err := p.Follow(4000); err == nil {
		t.Error("a thread that does not exist is followed")
	}
	child := &task{tid: 202, ppid: 200, comm: "child", state: 'D', runs: 1, start: w.bornNow() + 1}
	w.write(child)
	if err := p.Unfollow(200); err != nil {
		t.Fatal(err)
	}
	w.now += 100 * ms
	grandchild := &task{tid: 203, ppid: 202, comm: "grandchild", state: 'D', runs: 1, start: w.bornNow()}
	later := &task{tid: 204, ppid: 200, comm: "later", state: 'D', runs: 1, start: w.bornNow()}
	stranger := &task{tid: 205, ppid: 1, comm: "stranger", state: 'D', runs: 1, start: w.bornNow()}
	for _, x := range []*task{grandchild, later, stranger} {
		w.write(x)
	}
	w.now += 50 * ms
	w.poll()
	var got []uint32
	for tid := range w.settle() {
		got = append(got, tid)
	}
	if slices.Sort(got); !slices.Equal(got, []uint32{202, 203}) {
		t.Errorf("followed are %v", got)
	}
	// A child that no poll saw, told of at its end, and its own child before it.
	p.meetStrangers([]Stats{
		{Version: 13, TID: 302, PID: 302, PPID: 301, Elapsed: ms, BlockIO: Delay{Count: 1, Total: 1}},
		{Version: 13, TID: 301, PID: 301, PPID: 203, Elapsed: 9 * ms, BlockIO: Delay{Count: 2, Total: 5 * ms}},
		{Version: 13, TID: 303, PID: 303, PPID: 1, Elapsed: ms, BlockIO: Delay{Count: 1, Total: 1}},
	})
	accounts := w.settle()
	if a := accounts[301]; !a.Exited || a.Flagged != (Sum{2, 5 * ms}) {
		t.Errorf("%+v", accounts)
	}
	if _, told := accounts[303]; told || accounts[302].Flagged.Count != 1 {
		t.Errorf("%+v", accounts)
	}
}

// TestAPauseIsNobodysBusiness: neither a wait that goes on, nor what is accounted meanwhile.
func TestAPauseIsNobodysBusiness(t *testing.T) {
	w := newWorld(t, map[string]string{"proc/sys/kernel/task_delayacct": "1\n", "proc/cmdline": "delayacct\n"})
	x := &task{tid: 300, comm: "x", state: 'D', runs: 1, ticks: 7}
	w.write(x)
	p := w.open(Config{})
	w.start()
	w.now += 50 * ms
	x.runs, x.ticks = 2, 9
	w.write(x)
	w.poll()
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	w.now += 1000 * ms
	x.runs, x.ticks = 50, 99
	w.write(x)
	if a := w.settle()[300]; a.Flagged.NS == 0 || a.Wait != nil {
		t.Errorf("what was before the pause is told as %+v", a)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	w.now += 50 * ms
	x.runs, x.state, x.ticks = 51, 'R', 103
	w.write(x)
	w.poll()
	a := w.settle()[300]
	if a.Flagged.NS < 40*ms || a.Flagged.NS > 60*ms {
		t.Errorf("%d ms of iowait were told: 60 ms were before and after the pause, 900 ms in it", a.Flagged.NS/ms)
	}
}

// TestShortWaitsAreLeftOut where that is asked for.
func TestShortWaitsAreLeftOut(t *testing.T) {
	w := newWorld(t, nil)
	x := &task{tid: 310, comm: "x", state: 'R', runs: 1}
	w.write(x)
	p := w.open(Config{Min: 100 * ms})
	w.start()
	for _, length := range []int{1, 5} {
		x.state, x.runs = 'D', x.runs+1
		w.write(x)
		for range length {
			w.now += 50 * ms
			w.poll()
		}
		x.state = 'R'
		w.write(x)
		x.runs++
		w.now += 50 * ms
		w.write(x)
		w.poll()
	}
	if a := w.settle()[310]; a.Unflagged.Count != 1 || len(p.Waits()) != 1 {
		t.Errorf("%+v", a)
	}
}

// TestFilesAreFoundWithoutAskingTheFileSystem (a stat could hang for ever).
func TestFilesAreFoundWithoutAskingTheFileSystem(t *testing.T) {
	const mountinfo = "29 1 254:1 / / rw - ext4 /dev/vda1 rw\n" +
		"30 29 0:6 / /dev rw - devtmpfs devtmpfs rw\n" +
		"31 29 0:50 /sub/vol /srv/data rw - btrfs /dev/loop1 rw\n"
	w := newWorld(t, map[string]string{
		"proc/400/mountinfo": mountinfo, "sys/class/block/loop7/dev": "7:7\n",
		"proc/400/fdinfo/3": "pos:\t0\nmnt_id:\t29\nino:\t1234\n", "proc/400/fdinfo/4": "pos:\t0\nmnt_id:\t30\nino:\t9\n",
		"proc/400/fdinfo/5": "pos:\t0\nmnt_id:\t31\nino:\t77\n", "proc/400/fdinfo/6": "pos:\t0\nmnt_id:\t12\n", "proc/400/fdinfo/7": "pos:\t0\nmnt_id:\t99\n",
	})
	for fd, target := range map[string]string{"3": "/var/x (deleted)", "4": "/dev/loop7", "5": "/srv/data/db/file", "6": "socket:[123]", "7": "/lost/file"} {
		w.link("proc/400/fd/"+fd, target)
	}
	p := w.open(Config{})
	for fd, want := range map[uint32]event.File{
		3: {Source: event.ByFD, Dev: event.MakeDev(254, 1), Ino: 1234, Path: "/var/x"},
		4: {Source: event.ByFD, Dev: event.MakeDev(7, 7), Ino: 9, BlockDevice: true, Path: "/loop7"},
		5: {Source: event.ByFD, Dev: event.MakeDev(0, 50), Ino: 77, Path: "/sub/vol/db/file"},
		6: {}, 7: {}, 8: {},
	} {
		for range 2 { // the second time from memory
			if got, ok := p.files.find(400, fd); got != want || ok != (want != event.File{}) {
				t.Errorf("descriptor %d: %+v, want %+v", fd, got, want)
			}
		}
	}
}
