// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/iowitness/iowitness/event"

// Growth turns the kernel side's sums, which only grow, into what came in each interval.
type Growth struct {
	before map[event.IOKey]event.IOSum
}

// Since is what a sum has grown by since it was last asked for; ok is false if by nothing.
func (g *Growth) Since(key event.IOKey, now event.IOSum) (k Key, s Sum, ok bool) {
	if g.before == nil {
		g.before = map[event.IOKey]event.IOSum{}
	}
	before := g.before[key]
	if now.Count == before.Count {
		return k, s, false
	}
	g.before[key] = now
	grown := now.Since(&before)
	s = sumFrom(&grown)
	if key.Flags&event.IOUncharged != 0 {
		s.Uncharged = s.Count
	}
	return keyOfSum(key, now.Owner.Comm), s, true
}

func keyOfSum(k event.IOKey, comm string) Key {
	key := Key{
		Disk: k.Disk, Dev: k.Dev, Above: k.Flags&event.IODevAbove != 0, Top: k.Top, Op: event.KindOf(uint32(k.Op), 1), Stacked: k.Flags&event.IOBio != 0,
		PID: k.PID, Comm: comm, Cgroup: k.Cgroup, FileDev: k.FileDev, Ino: k.Ino,
	}
	if k.PID == 0 && k.Cgroup == 0 && k.Ino == 0 {
		return key.rest()
	}
	return key
}

func sumFrom(k *event.IOSum) Sum {
	s := Sum{
		Count: k.Count, Bytes: k.Bytes, Errors: k.Errors, Merged: k.Merged, Requeues: k.Requeues, Splits: k.Split,
		Sequential: k.Sequential, Placed: k.Sequenced, Depth: k.Depths, DepthCount: k.DepthCount, DepthMax: k.DepthMax,
	}
	for p, sum := range k.Phases {
		s.Phases[p] = Span{Count: sum.Count, NS: sum.NS, Max: sum.Max}
	}
	s.DeviceTimes.Add(k.DeviceHist)
	s.TotalTimes.Add(k.TotalHist)
	for i, n := range k.Sizes {
		s.Sizes[i] = uint64(n)
	}
	return s
}
