// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/lab"
)

// openModule witnesses by the kernel module that was built for the guest.
func openModule(t *testing.T, o Options) *kmodWitness {
	t.Helper()
	if lab.GuestModule() == "" {
		t.Skip("needs one of the lab's guests, with the kernel module beside")
	}
	o.Via, o.Module = Kmod, lab.GuestModule()
	return openWitness(t, o).(*kmodWitness)
}

func moduleLoaded(t *testing.T) bool {
	t.Helper()
	s, err := kmod.Status("/")
	if err != nil {
		t.Fatal(err)
	}
	return s.Loaded
}

func TestModuleTellsTheDevicesDelay(t *testing.T) {
	const reads, delay = 100, 20 * time.Millisecond
	device := lab.NullBlk(t, delay)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
	w := openModule(t, Options{PIDs: []uint32{child.PID()}})
	child.Go()
	truth := child.Wait()
	r := finish(t, w)
	sum, flagged, longest := r.sum(child.PID())
	if sum.Count < reads-2 || sum.Count > reads+2 || flagged < reads-2 || len(r.tallies) != 1 {
		t.Errorf("%d waits, %d of them flagged, in %d reads; %d processes", sum.Count, flagged, reads, len(r.tallies))
	}
	checkTotal(t, sum, truth, reads*delay*95/100)
	if time.Duration(longest) < delay*98/100 || longest > uint64(truth.Max) {
		t.Errorf("longest wait %v, longest read %v", time.Duration(longest), truth.Max)
	}
	tally := r.tallies[child.PID()]
	inHist := uint64(0)
	for _, c := range tally.Hist {
		inHist += uint64(c.N)
	}
	if !tally.Exited || tally.Count != sum.Count || inHist != sum.Count || tally.Start != 0 {
		t.Errorf("%+v", tally)
	}
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range losses {
		if l.Count != 0 && !l.Harmless {
			t.Errorf("%d × %s", l.Count, l.Title)
		}
	}
	if stats, err := w.Stats(); err != nil || stats.Runs < 2*reads || stats.Runtime <= 0 {
		t.Errorf("cost: %+v, %v", stats, err)
	}
	// The ended process was told: its place is free, and it is told no more.
	if again := finish(t, w); len(again.tallies) != 0 {
		t.Errorf("told again: %+v", again.tallies)
	}
	if err := w.Close(); err != nil || moduleLoaded(t) {
		t.Errorf("left behind: %v", err)
	}
	if after, err := w.Losses(); err != nil || len(after) != len(losses) {
		t.Errorf("after the end nothing is told: %v", err)
	}
}

func TestModuleRatioSilencePauseAndMin(t *testing.T) {
	device := lab.NullBlk(t, 5*time.Millisecond)
	run := func(n int) uint32 {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(n)}}.Start(t)
		child.Go()
		child.Wait()
		return child.PID()
	}
	w := openModule(t, Options{Silence: 400 * time.Millisecond, Functions: []string{"io_schedule", "io_schedule_timeout"}})
	count := func(pid uint32) uint64 {
		sum, _, _ := finish(t, w).sum(pid)
		return sum.Count
	}
	time.Sleep(600 * time.Millisecond)
	unheard := run(20)
	if closed, err := w.Heartbeat(); err != nil || !closed {
		t.Errorf("after a silence: closed %v, %v", closed, err)
	}
	if closed, err := w.Heartbeat(); err != nil || closed {
		t.Errorf("after no silence: closed %v, %v", closed, err)
	}
	if n := count(unheard); n != 0 {
		t.Errorf("%d waits seen in silence", n)
	}
	if err := w.control.SetHeartbeat(0); err != nil {
		t.Fatal(err)
	}
	if err := w.Resume(ignore); err != nil {
		t.Fatal(err)
	}
	if n := count(run(20)); n < 18 {
		t.Errorf("%d waits seen of 20 reads", n)
	}
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	if n := count(run(20)); n != 0 {
		t.Errorf("%d waits seen while paused", n)
	}
	if l := loss(t, w, "gate_closed"); l.Count < 36 {
		t.Errorf("only %d calls were not looked at", l.Count)
	}
	if err := w.Resume(ignore); err != nil {
		t.Fatal(err)
	}
	if err := w.SetDetail(Detail{Ratio: 4}); err != nil {
		t.Fatal(err)
	}
	taken := count(run(400))
	if left := loss(t, w, "ratio").Count; taken+left < 390 || taken+left > 410 || taken < 60 || taken > 140 {
		t.Errorf("%d taken and %d left out of 400 reads", taken, left)
	}
}

// A wait in progress is told with its start, and by name when its process is renamed.
func TestModuleTellsWaitsInProgress(t *testing.T) {
	device := lab.NullBlk(t, 2*time.Second)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, "2", "1"}}.Start(t)
	w := openModule(t, Options{})
	child.Go()
	time.Sleep(time.Second)
	tally := finish(t, w).tallies[child.PID()]
	if tally == nil || tally.Start == 0 || tally.Flags&event.Flagged == 0 || tally.Count != 0 || tally.Exited {
		t.Fatalf("%+v", tally)
	}
	if age := time.Duration(tally.Now - tally.Start); age < 300*time.Millisecond || age > 2*time.Second {
		t.Errorf("it is %v old", age)
	}
	child.Wait()
	if tally := finish(t, w).tallies[child.PID()]; tally == nil || tally.Start != 0 || tally.Count != 2 {
		t.Errorf("after its end: %+v", tally)
	}
}

func TestModuleFiltersAndFollows(t *testing.T) {
	device := lab.NullBlk(t, 20*time.Millisecond)
	work := lab.Workload{Name: "direct_read", Args: []string{device.Path, "10"}}
	for name, options := range map[string]Options{"follow": {Follow: true}, "pids": {}, "comm": {Comm: "not-this-one"}} {
		t.Run(name, func(t *testing.T) {
			wanted, other := work.Start(t), work.Start(t)
			if name == "pids" {
				options.PIDs = []uint32{wanted.PID()}
			}
			w := openModule(t, options)
			if name == "follow" {
				if err := w.Follow(wanted.PID()); err != nil {
					t.Fatal(err)
				}
			}
			wanted.Go()
			other.Go()
			wanted.Wait()
			other.Wait()
			r := finish(t, w)
			sum, _, _ := r.sum(wanted.PID())
			if (sum.Count >= 9) != (name != "comm") {
				t.Errorf("%d waits of the wanted process", sum.Count)
			}
			if sum, _, _ := r.sum(other.PID()); sum.Count != 0 {
				t.Errorf("%d waits of the other process", sum.Count)
			}
		})
	}
	t.Run("children", func(t *testing.T) {
		w := openModule(t, Options{Follow: true, IncludeSelf: true})
		if err := w.Follow(uint32(os.Getpid())); err != nil {
			t.Fatal(err)
		}
		child := work.Start(t)
		child.Go()
		child.Wait()
		if sum, _, _ := finish(t, w).sum(child.PID()); sum.Count < 9 {
			t.Errorf("%d waits of a child", sum.Count)
		}
	})
}

// A module that an operator has loaded is given back as it was, with its own counts.
func TestModuleOfAnOperatorIsGivenBack(t *testing.T) {
	if lab.GuestModule() == "" {
		t.Skip("needs one of the lab's guests, with the kernel module beside")
	}
	device := lab.NullBlk(t, 20*time.Millisecond)
	if err := kmod.Load(lab.GuestModule(), kmod.Params{Ratio: 1, DutyOn: time.Second, DutyEvery: 2 * time.Second, Heartbeat: time.Hour}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kmod.Unload(time.Second); err != nil {
			t.Error(err)
		}
	})
	read := func() uint32 {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "10"}}.Start(t)
		child.Go()
		child.Wait()
		return child.PID()
	}
	before := read()
	w := openModule(t, Options{})
	if _, err := Open(Options{Via: Kmod}); err == nil {
		t.Error("two may steer the module at once")
	}
	after := read()
	r := finish(t, w)
	if sum, _, _ := r.sum(before); sum.Count != 0 {
		t.Errorf("%d waits from before the start", sum.Count)
	}
	if sum, _, _ := r.sum(after); sum.Count < 9 {
		t.Errorf("%d waits", sum.Count)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := kmod.Read("/")
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Control; !c.GateOpen || c.DutyOn != time.Second || c.DutyEvery != 2*time.Second || c.Heartbeat != time.Hour {
		t.Errorf("given back as %+v", c)
	}
}
