// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// Interval closes an interval and gives what was counted in it. A call counts when it returns.
func (f *FS) Interval() (*event.FSInterval, error) {
	parity := f.epoch & 1
	if f.epoch++; f.epoch == 0 {
		f.epoch = 2
	}
	if err := f.set("epoch", f.epoch); err != nil {
		return nil, err
	}
	settle()
	iv := &event.FSInterval{Sums: map[event.FSKey]*event.FSSum{}}
	suffix := []string{"even", "odd"}[parity]
	if err := f.takeSums(f.collection.Maps["fs_sums_"+suffix], iv); err != nil {
		return nil, err
	}
	if err := f.takeParts(f.collection.Maps["fs_parts_"+suffix], iv); err != nil {
		return nil, err
	}
	return iv, errors.Join(f.takeBelow(iv), f.takeUnderWay(iv))
}

// settle returns when no program still runs that may have read the number of the interval
// before: a barrier of all threads waits until each CPU has left what runs on it.
func settle() {
	const global = 1 << 0 // MEMBARRIER_CMD_GLOBAL
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
		time.Sleep(20 * time.Millisecond) // programs run for some microseconds
	}
}

func fsKey(k *fsFsKey) event.FSKey {
	return event.FSKey{Ino: k.Ino, Dev: event.Dev(k.Dev), PID: k.Tgid, Op: event.FSOp(k.Op)}
}

func (f *FS) takeSums(m *ebpf.Map, iv *event.FSInterval) error {
	var key fsFsKey
	var sum fsFsSum
	var keys []fsFsKey
	all := m.Iterate()
	for all.Next(&key, &sum) {
		keys = append(keys, key)
		iv.Sums[fsKey(&key)] = fsSum(&sum)
	}
	if err := all.Err(); err != nil {
		return fmt.Errorf("reading the counts of calls: %w", err)
	}
	return empty(m, keys)
}

func empty[K any](m *ebpf.Map, keys []K) error {
	for i := range keys {
		if err := m.Delete(&keys[i]); err != nil {
			return fmt.Errorf("clearing the counts of calls: %w", err)
		}
	}
	return nil
}

func fsSum(s *fsFsSum) *event.FSSum {
	sum := &event.FSSum{
		Count: s.Count, NS: s.Ns, Max: s.MaxNs, Bytes: s.Bytes, Errors: s.Errors,
		Divided: s.Divided, DividedNS: s.DividedNs, Blocked: s.BlockedNs, RunQueue: s.RunqueueNs,
	}
	for slot, n := range s.Hist {
		if n > 0 {
			sum.Hist = append(sum.Hist, event.HistCount{Slot: uint8(slot), N: n})
		}
	}
	return sum
}

func (f *FS) takeParts(m *ebpf.Map, iv *event.FSInterval) error {
	var key fsFsPartKey
	var part fsFsPart
	var keys []fsFsPartKey
	all := m.Iterate()
	for all.Next(&key, &part) {
		keys = append(keys, key)
		stack, flagged := f.stack(key.Stack)
		iv.Parts = append(iv.Parts, event.FSPart{Key: fsKey(&key.Call), Stack: stack, Flagged: flagged, Count: part.Count, NS: part.Ns})
	}
	if err := all.Err(); err != nil {
		return fmt.Errorf("reading the parts of calls: %w", err)
	}
	return empty(m, keys)
}

// stack is what the kernel side keeps under a key. One that is gone is empty, and so unknown.
func (f *FS) stack(key uint64) (frames []uint64, flagged bool) {
	s, ok := f.stacks[key]
	if !ok {
		if err := f.collection.Maps["kept_stacks"].Lookup(key, &s); err != nil {
			return nil, false
		}
		f.stacks[key] = s
	}
	return s.Frame[:min(int(s.Frames), len(s.Frame))], s.Flagged != 0
}

// takeBelow tells by how much journals and flushes have grown.
func (f *FS) takeBelow(iv *event.FSInterval) error {
	now := event.FSInterval{}
	if err := f.snapshotBelow(&now); err != nil {
		return err
	}
	iv.Journals, iv.Flushes = map[event.Dev]event.JournalSum{}, map[event.Dev]event.FlushSum{}
	for dev, j := range now.Journals {
		if grown := j.Since(f.before.Journals[dev]); grown.Commits > 0 {
			iv.Journals[dev] = grown
		}
	}
	for dev, l := range now.Flushes {
		if grown := l.Since(f.before.Flushes[dev]); grown.Count+grown.Unseen > 0 {
			iv.Flushes[dev] = grown
		}
	}
	f.before = now
	return nil
}

func (f *FS) snapshotBelow(iv *event.FSInterval) error {
	iv.Journals, iv.Flushes = map[event.Dev]event.JournalSum{}, map[event.Dev]event.FlushSum{}
	tick, err := kernelTick()
	if err != nil {
		return err
	}
	var dev uint32
	var j fsJournalSum
	journals := f.collection.Maps["journals"].Iterate()
	for journals.Next(&dev, &j) {
		iv.Journals[event.Dev(dev)] = event.JournalSum{
			Commits: j.Commits, Handles: j.Handles, Blocks: j.Blocks, Logged: j.Logged,
			Wait: j.WaitJiffies * tick, Delay: j.DelayJiffies * tick, Running: j.RunningJiffies * tick,
			Locked: j.LockedNs, Flushing: j.FlushingNs, Logging: j.LoggingNs, Max: j.MaxNs,
		}
	}
	if err := journals.Err(); err != nil {
		return fmt.Errorf("reading the counts of commits: %w", err)
	}
	var l fsFlushSum
	flushes := f.collection.Maps["flushes"].Iterate()
	for flushes.Next(&dev, &l) {
		iv.Flushes[event.Dev(dev)] = event.FlushSum{Count: l.Count, NS: l.Ns, Max: l.MaxNs, Unseen: l.Unseen}
	}
	if err := flushes.Err(); err != nil {
		return fmt.Errorf("reading the counts of flushes: %w", err)
	}
	return nil
}

// kernelTick is the length of a jiffy in ns: the coarse clocks go forward by it.
func kernelTick() (uint64, error) {
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick); err != nil {
		return 0, fmt.Errorf("the length of the kernel's tick: %w", err)
	}
	return uint64(tick.Nano()), nil
}

// takeUnderWay tells the calls that have not returned, where there is an iterator to find them.
func (f *FS) takeUnderWay(iv *event.FSInterval) error {
	if f.underWay == nil {
		return nil
	}
	size := binary.Size(fsFsCallRecord{})
	return readIter(f.underWay, make([]byte, walkBuffer), func(b []byte) (int, error) {
		var r fsFsCallRecord
		if _, err := binary.Decode(b, binary.NativeEndian, &r); err != nil {
			return 0, err
		}
		call := event.FSCall{Key: fsKey(&r.Key), TID: r.Tid, Age: r.AgeNs}
		if r.Stack != 0 {
			call.Stack, call.Flagged = f.stack(r.Stack)
		}
		iv.UnderWay = append(iv.UnderWay, call)
		return size, nil
	})
}
