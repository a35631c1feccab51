// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

var ioFunctions = []string{"io_schedule", "io_schedule_timeout"}

// openTraced opens the witness by the tracing file system, which a guest must have.
func openTraced(t *testing.T, o Options) *tracefsWitness {
	t.Helper()
	o.Via = Tracefs
	begun := time.Now()
	w := openWitness(t, o).(*tracefsWitness)
	t.Logf("opened in %v", time.Since(begun))
	t.Cleanup(func() {
		begun := time.Now()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("closed in %v", time.Since(begun))
	})
	return w
}

// checkBalance: no entry is unexplained, and all that the kernel counted was read.
func checkBalance(t *testing.T, w *tracefsWitness, all bool) map[string]Balance {
	t.Helper()
	balances, err := w.Balances()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Balance{}
	for _, b := range balances {
		by[b.Function] = b
		if b.Entries+b.EntryHits > 0 {
			t.Logf("%+v", b)
		}
		if b.Unpaired() != 0 {
			t.Errorf("%s: %d entries without an explanation", b.Function, b.Unpaired())
		}
		if all && b.Entries > b.EntryHits {
			t.Errorf("%s: %d entries read, %d hits", b.Function, b.Entries, b.EntryHits)
		}
	}
	return by
}

func lossesOf(t *testing.T, w Witness) map[string]Loss {
	t.Helper()
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Loss{}
	for _, l := range losses {
		by[l.ID] = l
		if l.Count > 0 {
			t.Logf("%d × %s", l.Count, l.Title)
		}
	}
	return by
}

// TestTracefsTellsTheDevicesDelay: reads of a known number and delay.
func TestTracefsTellsTheDevicesDelay(t *testing.T) {
	const reads, delay = 500, 10 * time.Millisecond
	device := lab.NullBlk(t, delay)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
	w := openTraced(t, Options{PIDs: []uint32{child.PID()}, Functions: ioFunctions})
	for _, note := range w.Facts().Notes {
		t.Log(note)
	}
	child.Go()
	truth := child.Wait()
	r := finish(t, w)
	sum, flagged, longest := r.sum(child.PID())
	t.Logf("%d waits, %v of %v, longest %v of %v, %d records", sum.Count, time.Duration(sum.Blocked), truth.Total, time.Duration(longest), truth.Max, len(r.waits))
	if sum.Count < reads-reads/100 || sum.Count > reads+reads/100 || flagged < reads-reads/100 {
		t.Errorf("%d waits, %d of them flagged, in %d reads", sum.Count, flagged, reads)
	}
	if blocked, total := time.Duration(sum.Blocked), truth.Total; blocked > total || blocked < reads*delay*98/100 {
		t.Errorf("waited %v of %v in reads that take the device %v", blocked, total, reads*delay)
	}
	if longest > uint64(truth.Max) {
		t.Errorf("the longest wait %v, the longest read %v", time.Duration(longest), truth.Max)
	}
	deep := 0
	for _, wait := range r.waits {
		if wait.Runs < wait.Start || wait.Woken != wait.Runs || wait.PID != child.PID() {
			t.Fatalf("%+v", wait)
		}
		if len(wait.Site.Stack) > 5 {
			deep++
		}
	}
	if deep < len(r.waits)*99/100 || len(r.waits) < reads-reads/100 {
		t.Errorf("%d records, %d of them with a stack", len(r.waits), deep)
	}
	for _, l := range lossesOf(t, w) {
		if l.Count != 0 && !l.Harmless {
			t.Errorf("%d × %s", l.Count, l.Title)
		}
	}
	checkBalance(t, w, true)
	t.Logf("%+v", w.reader.Counts())
}

// TestAllFunctionsAtOnce: whatever else is probed, the device's time is told once.
func TestAllFunctionsAtOnce(t *testing.T) {
	const reads, delay = 300, 5 * time.Millisecond
	device := lab.NullBlk(t, delay)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
	w := openTraced(t, Options{PIDs: []uint32{child.PID()}})
	for _, note := range w.Facts().Notes {
		t.Log(note)
	}
	child.Go()
	truth := child.Wait()
	sum, flagged, _ := finish(t, w).sum(child.PID())
	t.Logf("%d waits, %v of %v", sum.Count, time.Duration(sum.Blocked), truth.Total)
	if flagged < reads*99/100 || sum.Blocked > uint64(truth.Total)+uint64(20*time.Millisecond) || sum.Blocked < uint64(reads*delay*98/100) {
		t.Errorf("%d waits, %d of them flagged, %v of %v in %d reads", sum.Count, flagged, time.Duration(sum.Blocked), truth.Total, reads)
	}
	balances := checkBalance(t, w, true)
	if len(balances) < 12 {
		t.Errorf("only %d functions are probed", len(balances))
	}
}

// TestMissedReturnsAreCounted: 64 threads wait where there is room for 4.
func TestMissedReturnsAreCounted(t *testing.T) {
	const threads, reads, delay = 64, 20, 50 * time.Millisecond
	device := lab.NullBlk(t, delay)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(reads)}}.Start(t)
	w := openTraced(t, Options{PIDs: []uint32{child.PID()}, Functions: ioFunctions, MaxActive: 4})
	child.Go()
	truth := child.Wait()
	time.Sleep(2 * lastEvents)
	r := finish(t, w)
	sum, _, _ := r.sum(child.PID())
	losses := lossesOf(t, w)
	var total Balance
	for _, b := range checkBalance(t, w, true) {
		total.Entries += b.Entries
		total.Returns += b.Returns
		total.ReturnMisses += b.ReturnMisses
		total.InFlight += b.InFlight
	}
	real := total.Entries - total.Returns
	shown := losses["missed_return"].Count + losses["missed_awake"].Count
	t.Logf("%d reads, %d entries, %d returns, %d waits; %d returns missed, %d by the kernel's count", truth.Ops, total.Entries, total.Returns, sum.Count, shown, total.ReturnMisses)
	if int(total.Entries) < truth.Ops || int(total.Entries) > truth.Ops*101/100 {
		t.Errorf("%d entries in %d reads", total.Entries, truth.Ops)
	}
	if shown == 0 || shown*100 < real*99 || shown > real || total.InFlight != 0 {
		t.Errorf("%d missed returns shown of %d real ones, %d in flight", shown, real, total.InFlight)
	}
	if total.ReturnMisses != real {
		t.Errorf("%d missed returns, the kernel counts %d", real, total.ReturnMisses)
	}
	if sum.Count > total.Returns+threads {
		t.Errorf("%d waits of %d returns", sum.Count, total.Returns)
	}
}

// TestTracefsTellsWaitsInProgress: with age and stack while they last, also one
// that began before; and what was told of them is counted at their end.
func TestTracefsTellsWaitsInProgress(t *testing.T) {
	const delay = 8 * time.Second
	device := lab.DMDelay(t, lab.Loop(t, 16), delay)
	early := lab.Workload{Name: "direct_read", Args: []string{device.Path, "1"}}.Start(t)
	late := lab.Workload{Name: "direct_read", Args: []string{device.Path, "1"}}.Start(t)
	early.Go()
	time.Sleep(500 * time.Millisecond)
	w := openTraced(t, Options{Functions: ioFunctions})
	late.Go()
	time.Sleep(2 * time.Second)
	r := finish(t, w)
	told := map[uint32]uint64{}
	for name, pid := range map[string]uint32{"early": early.PID(), "late": late.PID()} {
		tally := r.tallies[pid]
		if tally == nil || tally.Start == 0 || tally.PID != pid {
			t.Errorf("%s: not in progress: %+v", name, tally)
			continue
		}
		told[pid] = tally.Now - tally.Start
		if age := time.Duration(told[pid]); age < delay/20 || age > delay || (tally.Flags&event.Adopted != 0) != (name == "early") || tally.Flags&event.Flagged == 0 {
			t.Errorf("%s: %v, %+v", name, age, tally)
		}
		if name == "late" && (tally.Site == nil || len(tally.Site.Stack) < 5) {
			t.Errorf("%s: no stack: %+v", name, tally.Site)
		}
	}
	early.Wait()
	truth := late.Wait()
	ended := map[uint32]uint64{}
	for range 4 {
		time.Sleep(2 * lastEvents)
		for pid, tally := range finish(t, w).tallies {
			for _, sum := range tally.Sums {
				ended[pid] = max(ended[pid], sum.Blocked)
			}
			if tally.Start != 0 && told[pid] != 0 {
				t.Errorf("thread %d is told as in progress after its end: %+v", pid, tally)
			}
		}
	}
	if got := ended[early.PID()]; got < told[early.PID()] || got > uint64(delay) {
		t.Errorf("early: %v counted, %v told while it lasted", time.Duration(got), time.Duration(told[early.PID()]))
	}
	if got := ended[late.PID()]; got > uint64(truth.Max) || got < uint64(delay)*98/100 {
		t.Errorf("late: %v counted, the read took %v", time.Duration(got), truth.Max)
	}
	checkBalance(t, w, true)
}

// TestASwitchThatSilencesProbesIsTold, with what switches it on again.
func TestASwitchThatSilencesProbesIsTold(t *testing.T) {
	if !lab.Guest() {
		t.Skip("it is the machine's")
	}
	if err := os.WriteFile("/proc/sys/kernel/ftrace_enabled", []byte("0"), 0); err != nil {
		t.Skipf("this kernel has no such switch: %v", err)
	}
	t.Cleanup(func() { os.WriteFile("/proc/sys/kernel/ftrace_enabled", []byte("1"), 0) })
	w, err := Open(Options{Via: Tracefs, Functions: ioFunctions})
	if err == nil {
		w.Close()
	}
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "sysctl kernel.ftrace_enabled=1") {
		t.Errorf("%v", err)
	}
	leftOver(t, 0)
}

// TestPauseDisarmsAndResumeArms: nothing is seen in between, and nothing is made
// up of what was cut.
func TestPauseDisarmsAndResumeArms(t *testing.T) {
	const reads = 100
	device := lab.NullBlk(t, 5*time.Millisecond)
	w := openTraced(t, Options{Functions: ioFunctions})
	run := func() (pid uint32) {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
		child.Go()
		child.Wait()
		return child.PID()
	}
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	before, err := w.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if sum, _, _ := finish(t, w).sum(run()); sum.Count != 0 {
		t.Errorf("%d waits during a pause", sum.Count)
	}
	run()
	if after, _ := w.Stats(); after.Runs != before.Runs {
		t.Errorf("the probes were hit %d times during a pause", after.Runs-before.Runs)
	}
	if err := w.Resume(func(*event.Tally) {}); err != nil {
		t.Fatal(err)
	}
	pid := run()
	if sum, _, _ := finish(t, w).sum(pid); sum.Count < reads*95/100 || sum.Count > reads*101/100+2 {
		t.Errorf("%d waits in %d reads", sum.Count, reads)
	}
	checkBalance(t, w, true)
}

// TestDetailIsShed: without stacks all is counted, by ratio a part of it.
func TestDetailIsShed(t *testing.T) {
	const reads = 400
	device := lab.NullBlk(t, 2*time.Millisecond)
	w := openTraced(t, Options{Functions: ioFunctions})
	run := func(d Detail) (count uint64, waits int) {
		if err := w.SetDetail(d); err != nil {
			t.Fatal(err)
		}
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
		child.Go()
		child.Wait()
		r := finish(t, w)
		sum, _, _ := r.sum(child.PID())
		for _, wait := range r.waits {
			if wait.PID == child.PID() {
				waits++
			}
		}
		return sum.Count, waits
	}
	stacks := w.reader.Counts().Stacks
	if n, waits := run(Detail{Ratio: 1}); n < reads*95/100 || waits != 0 || w.reader.Counts().Stacks != stacks {
		t.Errorf("without stacks: %d waits, %d records, %d stacks", n, waits, w.reader.Counts().Stacks-stacks)
	}
	if shed := lossesOf(t, w)["shed"]; shed.Count == 0 || shed.NS == 0 {
		t.Errorf("%+v", shed)
	}
	n, _ := run(Detail{Stacks: true, Ratio: 4})
	left := lossesOf(t, w)["ratio"].Count
	t.Logf("one in 4: %d of %d, %d left out", n, reads, left)
	if n == 0 || n > reads*3/4 || n+left < reads*95/100 {
		t.Errorf("one in 4: %d of %d, %d left out", n, reads, left)
	}
	if n, waits := run(FullDetail); n < reads*95/100 || waits == 0 {
		t.Errorf("in full detail again: %d waits, %d records", n, waits)
	}
}

// TestShortThreadsHaveTheirProcess: threads that are gone before they are read about.
func TestShortThreadsHaveTheirProcess(t *testing.T) {
	const threads = 50
	device := lab.NullBlk(t, 5*time.Millisecond)
	w := openTraced(t, Options{Functions: ioFunctions})
	child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), "2"}}.Start(t)
	child.Go()
	truth := child.Wait()
	time.Sleep(2 * lastEvents)
	r := finish(t, w)
	sum, _, _ := r.sum(child.PID())
	if int(sum.Count) < truth.Ops*95/100 || int(sum.Count) > truth.Ops+10 {
		t.Errorf("%d waits of the process in %d reads", sum.Count, truth.Ops)
	}
	for tid, tally := range r.tallies {
		if tally.PID == child.PID() && !tally.Exited {
			t.Errorf("thread %d is not told as ended: %+v", tid, tally)
		}
	}
	if n := lossesOf(t, w)["no_process"].Count; n > 2 {
		t.Errorf("%d threads without a process", n)
	}
	if len(w.threads) > 20 {
		t.Errorf("%d threads are remembered", len(w.threads))
	}
}

// TestFollowedThreadsAndTheirChildren only.
func TestFollowedThreadsAndTheirChildren(t *testing.T) {
	const threads, reads = 4, 50
	device := lab.NullBlk(t, 2*time.Millisecond)
	other := lab.Workload{Name: "direct_read", Args: []string{device.Path, "200"}}.Start(t)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(reads)}}.Start(t)
	w := openTraced(t, Options{Functions: ioFunctions, Follow: true})
	tids, err := threadsOf("/", child.PID())
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		if err := w.Follow(tid); err != nil {
			t.Fatal(err)
		}
	}
	other.Go()
	child.Go()
	truth := child.Wait()
	other.Wait()
	time.Sleep(2 * lastEvents)
	r := finish(t, w)
	all, _, _ := r.sum(0)
	sum, _, _ := r.sum(child.PID())
	if int(sum.Count) < truth.Ops*95/100 || all.Count != sum.Count {
		t.Errorf("%d waits of the followed process in %d reads, %d of all", sum.Count, truth.Ops, all.Count)
	}
}
