// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

var victimDisk, otherDisk = event.MakeDev(8, 0), event.MakeDev(8, 16)

func isPID(pid uint32) func(*event.IO) bool {
	return func(o *event.IO) bool { return o.Owner.PID == pid }
}

// had is a request of a process that the device had from and to, in ms.
func had(pid uint32, comm string, disk event.Dev, from, to uint64) *event.IO {
	return &event.IO{Owner: event.Task{TID: pid, PID: pid, Comm: comm}, Disk: disk, Dev: disk, Bytes: 4096, Queued: from * ms, Issued: from * ms, Completed: to * ms}
}

// Only who had the disk during slow waits counts (case H14), for as long as within them: before, after,
// between and elsewhere do not.
func TestNeighboursOfSlowWaits(t *testing.T) {
	v := NewVictim(isPID(1), 5*ms)
	for _, o := range []*event.IO{
		had(3, "before", victimDisk, 900, 1000),
		had(1, "etcd", victimDisk, 1000, 1001), // quick
		had(2, "quick", victimDisk, 1000, 1002),
		had(4, "elsewhere", otherDisk, 2000, 2010),
		had(2, "dd", victimDisk, 1990, 2008), // 8 ms within
		had(1, "etcd", victimDisk, 2000, 2010),
		had(2, "dd", victimDisk, 2004, 2020), // 6 ms within, told later
		had(5, "after", victimDisk, 2010, 2030),
		had(2, "dd", victimDisk, 2999, 3010), // 10 ms
		had(1, "etcd", victimDisk, 3000, 3020),
	} {
		v.Add(o)
	}
	s := v.Suffering("etcd")
	if s.All != 3 || s.Slow != 2 || s.Least != 10*ms || s.Unplaced != 0 || s.Comm != "etcd" || len(s.Crowds) != 1 {
		t.Fatalf("%+v", s)
	}
	c := s.Crowds[0]
	if c.Disk != victimDisk || c.Waits != 2 || c.NS != 30*ms || c.Max != 20*ms || len(c.Neighbours) != 2 {
		t.Fatalf("%+v", c)
	}
	itself, dd := c.Neighbours[0], c.Neighbours[1]
	if !itself.Itself || itself.NS != 30*ms || itself.Requests != 2 {
		t.Errorf("%+v", itself)
	}
	if dd.Comm != "dd" || dd.Itself || dd.NS != 24*ms || dd.Requests != 3 || dd.Bytes != 3*4096 || dd.Percent < 44.4 || dd.Percent > 44.5 {
		t.Errorf("%+v", dd)
	}
}

// A thread may wait for longer than its request takes: then that counts.
func TestAWaitBeginsBeforeItsRequest(t *testing.T) {
	v := NewVictim(isPID(1), 5*ms)
	v.Add(had(2, "dd", victimDisk, 90, 99))
	o := had(1, "etcd", victimDisk, 99, 100)
	o.WaitTID, o.WaitNS = 1, 10*ms
	v.Add(o)
	if s := v.Suffering(""); s.Slow != 1 || len(s.Crowds[0].Neighbours) != 2 || s.Crowds[0].Neighbours[0].NS != 9*ms {
		t.Errorf("%+v", s)
	}
}

// By default the slowest tenth is slow; what is not asked for has no requests.
func TestTheSlowestTenth(t *testing.T) {
	v := NewVictim(isPID(1), 0)
	for i := range uint64(100) {
		at := 1000 * (i + 1)
		v.Add(had(1, "etcd", victimDisk, at, at+1+i%100))
	}
	s := v.Suffering("1")
	if s.All != 100 || s.Slow != 10 || s.Least != 91*ms {
		t.Errorf("%+v", s)
	}
	if s := NewVictim(isPID(9), 0).Suffering("9"); s.All != 0 || s.Slow != 0 || s.Crowds != nil {
		t.Errorf("%+v", s)
	}
}

// However much goes on, memory is bounded, and what is not known any more is said.
func TestAVictimRemembersABoundedPast(t *testing.T) {
	v := NewVictim(isPID(1), 0)
	at := uint64(1000)
	for range 3 * keptRequests {
		v.Add(had(2, "dd", victimDisk, at, at+1))
		at++
	}
	v.Add(had(1, "etcd", victimDisk, 1000, at))
	for i := range uint64(5 * keptWaits) {
		v.Add(had(1, "etcd", victimDisk, at, at+1+i))
		at += 1 + i
	}
	if len(v.past) > 2*keptRequests || len(v.waits) > keptWaits || len(v.recent) > 2*keptWaits {
		t.Errorf("%d requests, %d waits, %d recent ones", len(v.past), len(v.waits), len(v.recent))
	}
	if s := v.Suffering(""); s.Unplaced != 1 || s.All != 1+5*keptWaits {
		t.Errorf("%+v", s)
	}
}

// What has no certain instants, or is told again below, is no neighbour.
func TestWhatIsNoNeighbour(t *testing.T) {
	v := NewVictim(isPID(1), 1)
	bio := had(2, "bio", victimDisk, 10, 20)
	bio.Flags = event.IOBio
	unfinished := had(3, "unfinished", victimDisk, 10, 20)
	unfinished.Flags = event.IOUnfinished
	backwards := had(4, "backwards", victimDisk, 10, 20)
	backwards.Queued = 30 * ms
	for _, o := range []*event.IO{bio, unfinished, backwards, had(1, "etcd", victimDisk, 10, 20)} {
		v.Add(o)
	}
	if s := v.Suffering(""); len(s.Crowds) != 1 || len(s.Crowds[0].Neighbours) != 1 {
		t.Errorf("%+v", s)
	}
}
