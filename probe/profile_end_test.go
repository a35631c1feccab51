// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// followedNow are the threads that the kernel side still follows.
func followedNow(t *testing.T, p *Profile) (tids []uint32) {
	t.Helper()
	var tid uint32
	var value uint8
	all := p.collection.Maps["followed"].Iterate()
	for all.Next(&tid, &value) {
		tids = append(tids, tid)
	}
	return tids
}

// nobodyIsFollowed fails unless the last is forgotten of threads that have ended: soon, not at once.
func nobodyIsFollowed(t *testing.T, p *Profile) {
	t.Helper()
	// A kernel that is lazy with RCU takes some ten seconds to free a thread.
	for until := time.Now().Add(40 * time.Second); len(followedNow(t, p)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s: threads %v are followed though they have ended", p.via, followedNow(t, p))
		}
	}
}

// TestTheEndOfAThreadIsProfiled: the time in which it gives back its memory, by the kernel's account of it.
func TestTheEndOfAThreadIsProfiled(t *testing.T) {
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	mib := "1024"
	if lab.Guest() {
		mib = "96"
	}
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock, Frequency: often(), Follow: true})
	c := lab.Workload{Name: "leave", Args: []string{mib}}.Start(t)
	iv, truth, _ := duringAll(t, p, c)
	var ending time.Duration
	for i := range iv.Stacked {
		if s := &iv.Stacked[i]; s.PID == c.PID() && holds(symbols, s.Kernel, "do_exit") {
			ending += time.Duration(s.NS)
		}
	}
	used := c.CPU() - truth.CPU
	t.Logf("%v in its end, by the kernel's account %v", ending, used)
	if ending < used/3 || !lab.Guest() && ending > used*3/2+20*time.Millisecond {
		t.Errorf("%v in its end, by the kernel's account %v", ending, used)
	}
	nobodyIsFollowed(t, p)
	var told []byte
	if err := p.collection.Maps["told"].Lookup(c.PID(), &told); err == nil {
		t.Error("the process is kept as told though it has ended")
	}
}

// TestTheLastSleepOfAThreadIsCounted: that in which it lets go of its files, by each means.
func TestTheLastSleepOfAThreadIsCounted(t *testing.T) {
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	device := lab.Written(t)
	for _, via := range profileMeans[ProfileOffCPU] {
		p := openProfile(t, ProfileOffCPU, ProfileOptions{Via: via, Follow: true})
		c := lab.Workload{Name: "leave", Args: []string{"1", device.Path}}.Start(t)
		iv, _, _ := duringAll(t, p, c)
		var count, ns uint64
		for i := range iv.Stacked {
			s := &iv.Stacked[i]
			if s.PID == c.PID() && s.State == event.OffBlocked && holds(symbols, s.Kernel, "do_exit") {
				count += s.Count
				ns += s.NS
			}
		}
		t.Logf("%s: %d sleeps in its end, of %v", via, count, time.Duration(ns))
		if count == 0 || ns == 0 {
			t.Errorf("%s: no sleep is told in which the device was written", via)
		}
		nobodyIsFollowed(t, p)
		noLosses(t, p, "name_cut", "no_wake")
		p.Close()
	}
}

// TestAThreadThatTakesOverIsFollowed: one that is not its process's first, and becomes another program with
// the number of the first.
func TestAThreadThatTakesOverIsFollowed(t *testing.T) {
	for _, via := range profileMeans[ProfileRunQ] {
		p := openProfile(t, ProfileRunQ, ProfileOptions{Via: via, Follow: true})
		c := lab.Workload{Name: "take_over", Args: []string{"sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; sleep 0.1; echo '{}' >$IOWITNESS_TRUTH"}}.Start(t)
		iv, _, _ := duringAll(t, p, c)
		made := uint64(0)
		for _, pair := range iv.Pairs {
			if pair.WakerIs == event.WakerNew && pair.Waker == c.PID() && pair.WakerComm == "sh" {
				made += pair.Count
			}
		}
		if made != 6 {
			t.Errorf("%s: %d children of the program that took over, not 6: %+v", via, made, iv.Pairs)
		}
		nobodyIsFollowed(t, p)
		p.Close()
	}
}
