// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// pollUntil lets the witness poll until a workload has ended.
func pollUntil(t *testing.T, w Witness, r *witnessed, child *lab.Child) lab.Truth {
	t.Helper()
	ended := make(chan lab.Truth, 1)
	go func() {
		ended <- child.Wait()
		w.Interrupt()
	}()
	if err := w.Drain(time.Now().Add(time.Minute), r.take); err != nil {
		t.Fatal(err)
	}
	return <-ended
}

// watched is what the means taskstats tells of a workload.
func watched(t *testing.T, child *lab.Child, o Options) (*witnessed, lab.Truth, Facts) {
	t.Helper()
	if lab.Guest() {
		o.PollBudget = 20 // an emulated CPU takes its time
	}
	o.Via, o.PIDs, o.FDArguments = Taskstats, []uint32{child.PID()}, kernel.FDArguments()
	w := openWitness(t, o)
	child.Go()
	r := &witnessed{tallies: map[uint32]*event.Tally{}}
	truth := pollUntil(t, w, r, child)
	last := finish(t, w)
	last.waits, last.identities = append(r.waits, last.waits...), append(r.identities, last.identities...)
	return last, truth, w.Facts()
}

// TestCoarseReadsOfAKnownDelay: all of the reads of 100 ms are seen at some poll.
func TestCoarseReadsOfAKnownDelay(t *testing.T) {
	const reads, delay = 30, 100 * time.Millisecond
	lab.NeedRoot(t)
	device := lab.Loop(t, 16)
	cgroup := lab.Throttle(t, device, "read_iops", int(time.Second/delay))
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t, inCgroup(cgroup))
	r, truth, facts := watched(t, child, Options{})
	sum, _, longest := r.sum(child.PID())
	if sum.Count < reads*3/4 || sum.Count > reads+10 {
		t.Errorf("%d waits in %d reads", sum.Count, reads)
	}
	if got := time.Duration(sum.Blocked); got < truth.Total*85/100 || got > truth.Total*115/100 {
		t.Errorf("waited %v of the %v in reads", got, truth.Total)
	}
	if got := time.Duration(longest); got < delay/2 || got > truth.Max+delay {
		t.Errorf("longest wait %v, longest read %v", got, truth.Max)
	}
	onDevice := 0
	for _, w := range r.waits {
		if w.Start > w.Woken || w.Seq > sum.Count {
			t.Errorf("%+v", w)
		}
		if w.Site.File.BlockDevice && w.Site.File.Dev == device.Dev && slices.Contains(w.Site.Names, "submit_bio_wait") && kernel.SyscallName(w.Site.Syscall) == "pread64" {
			onDevice++
		}
	}
	if onDevice < reads*3/4 {
		t.Errorf("of %d waits %d are told as reads of %s: %+v", len(r.waits), onDevice, device.Path, r.waits[:min(3, len(r.waits))])
	}
	if !facts.Estimated || !facts.RunQueueUnknown || facts.Means != Taskstats {
		t.Errorf("%+v", facts)
	}
	if !slices.ContainsFunc(r.identities, func(who *event.Identity) bool {
		return who.PID == child.PID() && who.PPID == uint32(os.Getpid()) && who.Exe.Path != ""
	}) {
		t.Errorf("the process is not named: %+v", r.identities)
	}
	t.Logf("%d waits of %v by %s; %d reads of %v", sum.Count, time.Duration(sum.Blocked), facts.State, truth.Ops, truth.Total)
}

// TestCoarseSaysThatAccountingIsOff (case G4) where it is: figures come from what is seen.
func TestCoarseSaysThatAccountingIsOff(t *testing.T) {
	lab.NeedRoot(t)
	text, err := os.ReadFile("/proc/sys/kernel/task_delayacct")
	if err != nil || strings.TrimSpace(string(text)) != "0" {
		t.Skip("delay accounting is not off")
	}
	facts := openWitness(t, Options{Via: Taskstats}).Facts()
	if facts.State != "sightings" || !strings.Contains(strings.Join(facts.Notes, " "), "delay accounting is off") {
		t.Errorf("%+v", facts)
	}
}

// accounting switches delay accounting on.
func accounting(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/sys/kernel/task_delayacct"); err == nil {
		lab.Sysctl(t, "kernel/task_delayacct", "1")
	}
}

// TestDelayAccountingAgreesWithTheScheduler: counts and totals of iowait are those
// that the tracepoints see, or that the workload tells of itself.
func TestDelayAccountingAgreesWithTheScheduler(t *testing.T) {
	const reads = 150
	lab.NeedRoot(t)
	device := lab.Disk(t, "throttled")
	accounting(t)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
	exact := openWitness(t, Options{PIDs: []uint32{child.PID()}})
	r, truth, facts := watched(t, child, Options{})
	sum, flagged, longest := r.sum(child.PID())
	is, isFlagged, isLongest := finish(t, exact).sum(child.PID())
	if exact.Facts().Estimated { // no better means here: the workload's own clock has to do
		is, isFlagged, isLongest = event.Sum{Count: uint64(truth.Ops), Blocked: uint64(truth.Total) * 98 / 100}, uint64(truth.Ops), uint64(truth.Max)
	}
	clock, _ := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	t.Logf("clock %s", clock)
	t.Logf("%s: %d waits, %d of them iowait, %v, longest %v; %s: %d, %d, %v, %v; reads took %v",
		facts.State, sum.Count, flagged, time.Duration(sum.Blocked), time.Duration(longest),
		exact.Facts().Means, is.Count, isFlagged, time.Duration(is.Blocked), time.Duration(isLongest), truth.Total)
	if facts.State != "delay_accounting" {
		t.Fatalf("%+v", facts)
	}
	near := func(what string, got, want, percent, slack uint64) {
		if slack += want * percent / 100; got+slack < want || got > want+slack {
			t.Errorf("%s: %d, which is not within %d%% of %d", what, got, percent, want)
		}
	}
	if delaysDequeue(release()) {
		// The kernel itself counts wrong there: what is told must be possible.
		near("iowaits", flagged, isFlagged, 10, 1)
		near("ns", sum.Blocked, is.Blocked, 50, 0)
	} else {
		near("iowaits", flagged, isFlagged, 1, 1)
		// The accounting ends a wait when the thread is queued, the tracepoint when that begins:
		// an emulated CPU takes some 0.3 ms between.
		near("ns", sum.Blocked, is.Blocked, 2, sum.Count*300_000)
	}
	if sum.Blocked > uint64(truth.Total+100*time.Millisecond) {
		t.Errorf("waited %v, longer than the operations' %v", time.Duration(sum.Blocked), truth.Total)
	}
	if longest > isLongest*3 || longest < isLongest/3 {
		t.Errorf("longest wait %v, is %v", time.Duration(longest), time.Duration(isLongest))
	}
}

// TestCoarseTellsOfProcessesThatNoPollSaw: the kernel tells of their ends.
func TestCoarseTellsOfProcessesThatNoPollSaw(t *testing.T) {
	const processes = 15
	lab.NeedRoot(t)
	device := lab.Disk(t, "throttled")
	accounting(t)
	w := openWitness(t, Options{Via: Taskstats})
	for range processes {
		lab.Run(t, "dd", "if="+device.Path, "of=/dev/null", "bs=4k", "count=20", "iflag=direct")
	}
	r := finish(t, w)
	told := 0
	for _, tally := range r.tallies {
		if tally.Comm == "dd" && tally.Exited && tally.Count > 0 {
			told++
		}
	}
	if told < processes*8/10 {
		t.Errorf("of %d processes %d are told", processes, told)
	}
}
