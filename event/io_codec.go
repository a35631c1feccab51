// SPDX-License-Identifier: Apache-2.0

package event

import "fmt"

// IOWait tells which thread was woken by a request's completion: the request by the
// instant and place of its completion.
type IOWait struct {
	TID, PID  uint32
	Completed uint64
	Sector    uint64
	Disk      Dev
	WaitNS    uint64 // since it went to sleep
}

// IOKey is what the kernel side sums requests up by.
type IOKey struct {
	Cgroup    uint64
	Ino       uint64
	FileDev   Dev
	Dev, Disk Dev
	Top       Dev // of what was passed on from there; else 0
	PID       uint32
	Op        uint8
	Flags     IOFlags // of IOBio, IOPassed, IODevAbove and IOUncharged
}

// PhaseSum adds up a phase of requests.
type PhaseSum struct{ Count, NS, Max uint64 }

// SizeSlots are of bytes: up to 512, up to 1,024 and so forth.
const SizeSlots = 24

// IOSum is all requests of a key since the start.
type IOSum struct {
	Owner                        Task // one of the threads
	Count, Bytes, Errors         uint64
	Merged, Requeues, Split      uint64
	Sequential, Sequenced        uint64 // of those for which it is known
	Depths, DepthCount, DepthMax uint64
	Carried                      uint64 // submitted by others than the owner
	Phases                       [Phases]PhaseSum
	DeviceHist, TotalHist        Hist
	Sizes                        [SizeSlots]uint32
}

func (c *codec) task(t *Task) {
	c.u32(&t.TID)
	c.u32(&t.PID)
	c.text(&t.Comm, commBytes)
}

func (c *codec) io(o *IO) {
	var source, isBdev, flags uint16
	if c.writing {
		source, flags = uint16(o.File.Source), uint16(o.Flags)
		if o.File.BlockDevice {
			isBdev = 1
		}
	}
	for _, v := range []*uint64{&o.Queued, &o.Got, &o.Inserted, &o.Issued, &o.Completed, &o.Sector, &o.Cgroup, &o.File.Ino} {
		c.u64(v)
	}
	c.u32((*uint32)(&o.File.Dev))
	c.u16(&source)
	c.u16(&isBdev)
	o.File.Source, o.File.BlockDevice = FileSource(source), isBdev != 0
	for _, v := range []*uint32{(*uint32)(&o.Dev), (*uint32)(&o.Disk), (*uint32)(&o.Top), &o.Bytes, &o.Op, &o.Depth} {
		c.u32(v)
	}
	failed := uint32(o.Error)
	c.u32(&failed)
	o.Error = int32(failed)
	c.u16(&o.Merged)
	c.u16(&o.Requeues)
	c.u16(&flags)
	o.Flags = IOFlags(flags)
	c.skip(2)
	c.u32(&o.CPU)
	c.task(&o.Owner)
	c.task(&o.Carrier)
}

func (c *codec) ioWait(w *IOWait) {
	c.u64(&w.Completed)
	c.u64(&w.Sector)
	c.u32((*uint32)(&w.Disk))
	c.skip(4)
	c.u64(&w.WaitNS)
}

func (c *codec) ioKey(k *IOKey) {
	var op, flags uint16
	c.u64(&k.Cgroup)
	c.u64(&k.Ino)
	c.u32((*uint32)(&k.FileDev))
	c.u32((*uint32)(&k.Dev))
	c.u32((*uint32)(&k.Disk))
	c.u32(&k.PID)
	c.u16(&op)
	c.u16(&flags)
	c.u32((*uint32)(&k.Top))
	k.Op, k.Flags = uint8(op), IOFlags(flags)
}

// knownPlace is the bit of requests of which it is known whether they are sequential, beside
// those of the phases but the whole.
const (
	knownPlace = 1 << PhaseTotal
	knownSets  = 1 << Phases
)

// with adds requests of which these things are known.
func (s *IOSum) with(known int, requests uint64) {
	s.Count += requests
	s.Phases[PhaseTotal].Count += requests
	for p := PhaseGet; p < PhaseTotal; p++ {
		if known&(1<<p) != 0 {
			s.Phases[p].Count += requests
		}
	}
	if known&knownPlace != 0 {
		s.Sequenced += requests
		s.DepthCount += requests
	}
}

func (c *codec) ioSum(s *IOSum) {
	var untimed, depthNoData uint64
	c.task(&s.Owner)
	for known := range knownSets {
		var n uint64
		c.u64(&n)
		s.with(known, n)
	}
	for _, v := range []*uint64{
		&untimed, &s.Bytes, &s.Errors, &s.Merged, &s.Requeues, &s.Split, &s.Sequential,
		&s.Depths, &s.DepthMax, &depthNoData, &s.Carried,
	} {
		c.u64(v)
	}
	s.Count += untimed
	s.DepthCount += depthNoData
	for i := range s.Phases {
		c.u64(&s.Phases[i].NS)
		c.u64(&s.Phases[i].Max)
	}
	c.hist(&s.DeviceHist)
	c.hist(&s.TotalHist)
	for i := range s.Sizes {
		c.u32(&s.Sizes[i])
	}
}

// DecodeIOSum reads a key and value of the kernel side's table of sums.
func DecodeIOSum(key, value []byte) (k IOKey, s IOSum, err error) {
	if len(key) != ioKeySize || len(value) != ioSumSize {
		return k, s, fmt.Errorf("%w: a sum of %d and %d bytes, not %d and %d", ErrRecord, len(key), len(value), ioKeySize, ioSumSize)
	}
	(&codec{b: key}).ioKey(&k)
	(&codec{b: value}).ioSum(&s)
	return k, s, nil
}
