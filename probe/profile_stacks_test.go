// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// sleepAt sleeps at so deep a place of the stack.
//
//go:noinline
func sleepAt(depth int, length time.Duration) int {
	if depth > 0 {
		return 1 + sleepAt(depth-1, length)
	}
	ts := unix.NsecToTimespec(int64(length))
	for { // raw: the runtime is to do nothing of its own around it
		if _, _, failed := unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), uintptr(unsafe.Pointer(&ts)), 0); failed != unix.EINTR {
			return 0
		}
	}
}

// depthOf is how deep a stack's sleep lies; 0: it is no stack of sleepAt.
func depthOf(stack []uint64) (n int) {
	for _, address := range stack {
		if f := runtime.FuncForPC(uintptr(address)); f != nil && strings.HasSuffix(f.Name(), ".sleepAt") {
			n++
		}
	}
	return n
}

// deepest is at how many depths a thread sleeps, each for a time of its own.
const deepest = 40

// slept tells, by depth, for how long the calling thread slept there at least and by its own clock.
type sleptAt [deepest + 1]struct{ least, most time.Duration }

func sleepEverywhere() (slept sleptAt) {
	for depth := 1; depth <= deepest; depth++ {
		at := &slept[depth]
		at.least = 2*time.Millisecond + time.Duration(depth)*200*time.Microsecond
		began := time.Now()
		sleepAt(depth-1, at.least)
		at.most = time.Since(began)
	}
	return slept
}

// sleepsOf profiles a thread while it sleeps everywhere. Stacks that are shown must have no more time, and if all are just the time,
// that was slept there, but for what the two clocks differ; what is told without is returned by the reason.
func sleepsOf(t *testing.T, p *Profile) (missing map[event.StackMiss]uint64) {
	t.Helper()
	tid := uint32(unix.Gettid())
	slept := sleepEverywhere()
	iv, err := p.Interval()
	if err != nil {
		t.Fatal(err)
	}
	var total, least, most, preempted time.Duration
	byDepth := map[int]time.Duration{}
	missing = map[event.StackMiss]uint64{}
	for i := range iv.Stacked {
		s := &iv.Stacked[i]
		if s.TID == tid && s.State == event.OffPreempted {
			preempted += time.Duration(s.NS)
		}
		if s.TID != tid || s.State != event.OffSleeps {
			continue
		}
		switch depth := depthOf(s.User); {
		case s.User == nil:
			missing[s.NoUser] += s.NS
		case depth == 0: // not of the sleeps: the runtime's own
			continue
		default:
			byDepth[depth] += time.Duration(s.NS)
		}
		total += time.Duration(s.NS)
	}
	// On its way to sleep a thread may be preempted until its timer is over, and a guest's CPU taken away.
	for depth := 1; depth <= deepest; depth++ {
		least, most = least+slept[depth].least, most+slept[depth].most
		if got, shown := byDepth[depth]; shown && (got < slept[depth].least*9/10-preempted && len(missing) == 0 && !lab.Guest() || got > slept[depth].most*11/10) {
			t.Errorf("at a depth of %d %v, slept were %v to %v: the stack is another's", depth, got, slept[depth].least, slept[depth].most)
		}
		delete(byDepth, depth)
	}
	if len(byDepth) > 0 {
		t.Errorf("stacks that there were not: %v", byDepth)
	}
	if unseen := noEnd(t, p); total+preempted+time.Duration(unseen.NS) < least*98/100 && !lab.Guest() || len(missing) == 0 && total > most*102/100 {
		t.Errorf("slept for %v, not %v to %v", total, least, most)
	}
	return missing
}

// stackLoss is what is told as lost of stacks.
func stackLoss(t *testing.T, p *Profile, id string) Loss {
	t.Helper()
	losses, err := p.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range losses {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("no loss is called %s", id)
	return Loss{}
}

// giveOthers puts another stack in the place of each one in a table.
func giveOthers(t *testing.T, table *ebpf.Map) {
	t.Helper()
	var number uint64
	var stack profileProfStack
	var numbers []uint64
	for all := table.Iterate(); all.Next(&number, &stack); {
		numbers = append(numbers, number)
	}
	for _, number := range numbers {
		if err := table.Lookup(number, &stack); err != nil {
			t.Fatal(err)
		}
		stack.Check++
		if err := table.Put(number, &stack); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStacksThatCollideAreNotMixedUp (case J4): of many stacks few find room in a tiny table. The time of
// the thread is whole, that of the others is told without a stack and as lost, and none has another's time.
func TestStacksThatCollideAreNotMixedUp(t *testing.T) {
	open := func(t *testing.T, room uint32) *Profile {
		runtime.LockOSThread() // never unlocked: the subtest has a thread of its own
		p := openProfile(t, ProfileOffCPU, ProfileOptions{Stacks: room, PIDs: []uint32{uint32(unix.Getpid())}, IncludeSelf: true})
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Run("room for all", func(t *testing.T) {
		if missing := sleepsOf(t, open(t, 4096)); len(missing) > 0 {
			t.Errorf("without a stack: %v", missing)
		}
	})
	t.Run("room for few", func(t *testing.T) {
		p := open(t, 8)
		missing := sleepsOf(t, p)
		lost := stackLoss(t, p, "prof_room")
		t.Logf("%v without a stack, %d stacks of %v lost", time.Duration(missing[event.StackNoRoom]), lost.Count, time.Duration(lost.NS))
		if len(missing) != 1 || lost.Count < deepest/2 || lost.NS < missing[event.StackNoRoom] || missing[event.StackNoRoom] == 0 {
			t.Errorf("without a stack %v, lost: %+v", missing, lost)
		}
	})
	// Two stacks of one number are not to be had by chance: another one is put where each lies.
	t.Run("one number for two", func(t *testing.T) {
		p := open(t, 4096)
		var missing map[event.StackMiss]uint64
		for range 2 { // from one place: the stacks are to be the same
			missing = sleepsOf(t, p)
			giveOthers(t, p.collection.Maps["stacks"])
		}
		lost := stackLoss(t, p, "prof_collision")
		t.Logf("%v without a stack, %d stacks of %v lost", time.Duration(missing[event.StackCollision]), lost.Count, time.Duration(lost.NS))
		if len(missing) != 1 || lost.Count < deepest || lost.NS < missing[event.StackCollision] || missing[event.StackCollision] == 0 {
			t.Errorf("without a stack %v, lost: %+v", missing, lost)
		}
	})
}
