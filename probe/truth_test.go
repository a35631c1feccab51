// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// witnessed is all that a run told.
type witnessed struct {
	tallies    map[uint32]*event.Tally // the last one of each thread
	waits      []*event.Wait
	identities []*event.Identity
}

func (r *witnessed) take(record any) {
	switch x := record.(type) {
	case *event.Wait:
		r.waits = append(r.waits, x)
	case *event.Identity:
		r.identities = append(r.identities, x)
	case *event.Tally:
		r.tallies[x.TID] = x
	}
}

func (r *witnessed) sum(pid uint32) (sum event.Sum, flagged uint64, longest uint64) {
	for _, t := range r.tallies {
		if pid != 0 && t.PID != pid {
			continue
		}
		for i, s := range t.Sums {
			sum.Count += s.Count
			sum.Blocked += s.Blocked
			sum.RunQueue += s.RunQueue
			if event.Flags(i)&event.Flagged != 0 {
				flagged += s.Count
			}
		}
		longest = max(longest, t.Max[0].NS, t.Max[1].NS)
	}
	return sum, flagged, longest
}

// open witnesses, or skips where the kernel cannot do it by this means.
func openWitness(t *testing.T, o Options) Witness {
	t.Helper()
	lab.NeedRoot(t)
	if (o.Via == Fexit || o.Via == Kretprobe) && o.Functions == nil {
		o.Functions = sleepers // each takes its time to load
	}
	w, err := Open(o)
	if errors.Is(err, ErrUnsupported) && !lab.Guest() && !strings.Contains(err.Error(), "verifier") {
		t.Skip(err) // the lab's kernels can do it
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.Start(func(*event.Tally) {}); err != nil {
		t.Fatal(err)
	}
	return w
}

// finish tells all that is left, a moment later: a thread is told as it is switched out for good, which a
// parent that has waited for it may be ahead of.
func finish(t *testing.T, w Witness) *witnessed {
	t.Helper()
	if time.Sleep(20 * time.Millisecond); lab.Guest() {
		time.Sleep(200 * time.Millisecond)
	}
	r := &witnessed{tallies: map[uint32]*event.Tally{}}
	if _, err := w.NextEpoch(); err != nil {
		t.Fatal(err)
	}
	if err := w.Walk(func(tally *event.Tally) { r.take(tally) }); err != nil {
		t.Fatal(err)
	}
	if err := w.Drain(time.Unix(1, 0), r.take); err != nil {
		t.Fatal(err)
	}
	return r
}

func loss(t *testing.T, w interface{ Losses() ([]Loss, error) }, id string) Loss {
	t.Helper()
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range losses {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("no loss %q", id)
	return Loss{}
}

// inCgroup starts a workload within a cgroup.
func inCgroup(dir string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { lab.InCgroup(cmd, dir) }
}

func eachMeans(t *testing.T, do func(t *testing.T, via Means)) {
	for _, via := range append(slices.Clone(byTracepoints), Fexit, Kretprobe) {
		t.Run(string(via), func(t *testing.T) { do(t, via) })
	}
}

// TestReadsOfAKnownDelayAreSoManyWaitsOfSuchALength: a device that serves ten
// reads a second (the first at once), by each means.
func TestReadsOfAKnownDelayAreSoManyWaitsOfSuchALength(t *testing.T) {
	const reads, delay = 12, 100 * time.Millisecond
	lab.NeedRoot(t)
	device := lab.Loop(t, 16)
	cgroup := lab.Throttle(t, device, "read_iops", int(time.Second/delay))
	eachMeans(t, func(t *testing.T, via Means) {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t, inCgroup(cgroup))
		w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}})
		child.Go()
		truth := child.Wait()
		r := finish(t, w)
		sum, flagged, longest := r.sum(child.PID())
		// The first read is served at once: an emulated processor may not have come to sleep by then.
		if sum.Count < reads-1 || sum.Count > reads+10 || flagged < reads-1 {
			t.Errorf("%d waits, %d of them flagged, in %d reads", sum.Count, flagged, reads)
		}
		direct := waitsOn(r, device.Dev)
		if joins := slices.Contains(byTracepoints, via); joins && (direct < reads-4 || direct > reads) {
			t.Errorf("%d of %d waits joined to a request of %s", direct, reads, device.Name)
		}
		checkTotal(t, sum, truth, (reads-4)*delay)
		if longest > uint64(truth.Max) || longest < uint64(delay)/2 {
			t.Errorf("longest wait %v, longest read %v", time.Duration(longest), truth.Max)
		}
		for _, id := range []string{"state_full", "ring_wait", "clock", "budget"} {
			if l := loss(t, w, id); l.Count != 0 {
				t.Errorf("%d %s", l.Count, l.Title)
			}
		}
	})
}

func waitsOn(r *witnessed, dev event.Dev) (n int) {
	for _, w := range r.waits {
		if w.Flags&event.Joined != 0 && w.Request.Dev == dev {
			n++
		}
	}
	return n
}

// checkTotal compares with the workload's own clock: it cannot have waited
// longer than its operations took, nor less than the device's delay.
func checkTotal(t *testing.T, sum event.Sum, truth lab.Truth, atLeast time.Duration) {
	t.Helper()
	all := time.Duration(sum.Blocked + sum.RunQueue)
	if all > truth.Total+truth.Total/50+20*time.Millisecond {
		t.Errorf("waited %v, longer than the operations' %v", all, truth.Total)
	}
	if got := time.Duration(sum.Blocked); got < atLeast {
		t.Errorf("waited %v, less than the device's %v", got, atLeast)
	}
}

// TestAThreadThatMigratesHasNoAbsurdTimes: it changes the CPU between any two reads.
func TestAThreadThatMigratesHasNoAbsurdTimes(t *testing.T) {
	const reads = 3000
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	eachMeans(t, func(t *testing.T, via Means) {
		child := lab.Workload{Name: "migrate", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
		w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}, SampleEvery: 1, Budget: 1 << 20, RingBytes: 16 << 20})
		child.Go()
		truth := child.Wait()
		r := finish(t, w)
		sum, _, _ := r.sum(child.PID())
		checkTotal(t, sum, truth, 0)
		if len(r.waits) < reads/2 {
			t.Errorf("%d waits recorded in %d reads", len(r.waits), reads)
		}
		for _, wait := range r.waits {
			if wait.Start > wait.Woken || wait.Woken > wait.Runs || wait.Runs-wait.Start > uint64(truth.Total) {
				t.Fatalf("switched out at %d, woken at %d, runs at %d", wait.Start, wait.Woken, wait.Runs)
			}
		}
	})
}

// TestCountsOfManyThreads: what each thread has waited is told when it ends.
func TestCountsOfManyThreads(t *testing.T) {
	const threads, reads = 16, 300
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "counted", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(reads), "direct"}}.Start(t)
	w := openWitness(t, Options{PIDs: []uint32{child.PID()}, SampleEvery: 1, Budget: 1 << 20, RingBytes: 16 << 20})
	child.Go()
	truth := child.Wait()
	r := finish(t, w)
	sum, flagged, _ := r.sum(child.PID())
	if uint64(len(r.waits)) != sum.Count {
		t.Errorf("%d waits recorded, %d counted", len(r.waits), sum.Count)
	}
	var recorded uint64
	for _, wait := range r.waits {
		recorded += wait.Blocked()
	}
	if recorded != sum.Blocked {
		t.Errorf("recorded waits add up to %d ns, counted are %d ns", recorded, sum.Blocked)
	}
	if told := flagged + loss(t, w, "no_end").Count; off(told, uint64(truth.Switches)) > 0.001 {
		t.Errorf("%d waits in %d switches of %d reads", told, truth.Switches, truth.Ops)
	}
	checkTotal(t, sum, truth, 0)
}

// TestAFullRingIsCounted: what does not fit is a loss, and the counters stay exact (case B10).
func TestAFullRingIsCounted(t *testing.T) {
	const reads = 2000
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
	w := openWitness(t, Options{PIDs: []uint32{child.PID()}, SampleEvery: 1, Budget: 1 << 20, RingBytes: 64 << 10})
	child.Go()
	child.Wait()
	r := finish(t, w)
	lost, over := loss(t, w, "ring_wait"), loss(t, w, "ring_exit")
	if lost.Count == 0 || lost.NS == 0 {
		t.Fatalf("a ring of 64 KiB took all of %d records", reads)
	}
	sum, _, _ := r.sum(child.PID())
	told := uint64(len(r.waits)) + lost.Count
	if over.Count == 0 && told != sum.Count {
		t.Errorf("%d waits told and %d lost, %d counted", len(r.waits), lost.Count, sum.Count)
	}
	if over.Count > 0 && over.Count+sum.Count < told {
		t.Errorf("%d waits lost with their threads, %d counted, %d recorded", over.Count, sum.Count, told)
	}
}

// TestAFullTableOfThreadsIsCounted (case B10): there are more threads than room for their states.
func TestAFullTableOfThreadsIsCounted(t *testing.T) {
	const threads, reads = 64, 1000
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(reads)}}.Start(t)
	w := openWitness(t, Options{Via: RawTP, PIDs: []uint32{child.PID()}, States: 4})
	child.Go()
	child.Wait()
	r := finish(t, w)
	if l := loss(t, w, "state_full"); l.Count == 0 {
		t.Errorf("%d threads in a table of 4, and no loss", threads)
	}
	for _, tally := range r.tallies {
		for _, s := range tally.Sums {
			if s.Blocked > uint64(time.Hour) {
				t.Errorf("an absurd total: %+v", tally)
			}
		}
	}
}

// TestTheBudgetBoundsRecordsNotCounts: beyond it, time is counted as unrecorded.
func TestTheBudgetBoundsRecordsNotCounts(t *testing.T) {
	const reads = 1000
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
	w := openWitness(t, Options{PIDs: []uint32{child.PID()}, SampleEvery: 1, Budget: 10})
	child.Go()
	child.Wait()
	r := finish(t, w)
	sum, _, _ := r.sum(child.PID())
	l := loss(t, w, "budget")
	if uint64(len(r.waits))+l.Count != sum.Count || l.NS == 0 {
		t.Errorf("%d waits recorded, %d over the budget, %d counted", len(r.waits), l.Count, sum.Count)
	}
}

func TestFilters(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	cgroup := lab.Throttle(t, device, "read_iops", 100000)
	info, err := os.Stat(cgroup)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "fifteen-and-more-letters")
	lab.Run(t, "cp", "/proc/"+strconv.Itoa(os.Getpid())+"/exe", copied)
	renamed := func(cmd *exec.Cmd) { cmd.Path = copied }
	for name, test := range map[string]struct {
		options Options
		wanted  func(*exec.Cmd)
	}{
		"comm":   {Options{Comm: "fifteen-and-more-letters"}, renamed},
		"cgroup": {Options{Cgroup: Cgroup{ID: info.Sys().(*syscall.Stat_t).Ino, Controller: lab.Controller(cgroup), Path: "/" + filepath.Base(cgroup)}}, inCgroup(cgroup)},
	} {
		t.Run(name, func(t *testing.T) {
			work := lab.Workload{Name: "direct_read", Args: []string{device.Path, "50"}}
			wanted, other := work.Start(t, test.wanted), work.Start(t)
			w := openWitness(t, test.options)
			wanted.Go()
			other.Go()
			wanted.Wait()
			other.Wait()
			r := finish(t, w)
			if sum, _, _ := r.sum(wanted.PID()); sum.Count < 40 {
				t.Errorf("%d waits of the wanted process", sum.Count)
			}
			if sum, _, _ := r.sum(other.PID()); sum.Count != 0 {
				t.Errorf("%d waits of the other process", sum.Count)
			}
		})
	}
	if _, err := Open(Options{PIDs: []uint32{1 << 22}}); !errors.As(err, new(*PIDError)) {
		t.Errorf("a pid that does not exist: %v", err)
	}
}

// TestMinLeavesShortWaitsOut in the kernel.
func TestMinLeavesShortWaitsOut(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "200"}}.Start(t)
	w := openWitness(t, Options{PIDs: []uint32{child.PID()}, Min: time.Hour})
	child.Go()
	child.Wait()
	if sum, _, _ := finish(t, w).sum(child.PID()); sum.Count != 0 {
		t.Errorf("%d waits of an hour", sum.Count)
	}
}

func TestIdentitiesAreToldByTheKernel(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "20"}}.Start(t)
	w := openWitness(t, Options{PIDs: []uint32{child.PID()}})
	child.Go()
	child.Wait()
	exe, _ := os.Readlink("/proc/self/exe")
	for _, id := range finish(t, w).identities {
		if id.PID == child.PID() && filepath.Base(id.Exe.Path) == filepath.Base(exe) && id.PPID == uint32(os.Getpid()) && id.CgroupPath != "" {
			return
		}
	}
	t.Error("the process is not named")
}
