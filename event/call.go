// SPDX-License-Identifier: Apache-2.0

package event

// Call is one call of a kernel function that has returned.
type Call struct {
	Task              // that made it
	Start    uint64   // CLOCK_MONOTONIC in ns
	NS       uint64   // from entry to return; 0 where only returns are witnessed
	Inner    uint64   // of it in calls within that are followed too
	Root     uint64   // Start of the outermost open call of its thread
	Ret      uint64   // as the register held it
	Cgroup   uint64   // kernfs id
	Function uint32   // its number
	CPU      uint32   // on which it returned
	Depth    uint32   // open calls around it
	Missed   uint32   // calls within that returned unseen
	Out      []byte   // its fields
	Stack    []uint64 // innermost first, taken at the return
}

// CallKey is what the kernel side sums calls up by: what was not asked for is zero.
type CallKey struct {
	Cgroup   uint64
	Stack    uint64 // a hash, by which the frames are kept
	Function uint32
	PID, TID uint32
	CPU      uint32
	Comm     string
	Fields   string // the bytes of the fields that are keys
}

// CallSum is all calls of a key since the start. Times are from entry to return, in ns.
type CallSum struct {
	Count, NS, Max uint64
	Inner          uint64 // of NS in calls within that are followed too
	Errors         uint64 // returned -1 to -4095
	Hist           Hist
}

// Add adds the calls of another sum.
func (s *CallSum) Add(o *CallSum) {
	s.Count += o.Count
	s.NS += o.NS
	s.Max = max(s.Max, o.Max)
	s.Inner += o.Inner
	s.Errors += o.Errors
	s.Hist.Merge(o.Hist)
}

// maxCallSize bounds a record of a call: fields of 1,024 bytes and a stack.
const maxCallSize = 2048

func (c *codec) call(k *Call) {
	out, frames := uint32(len(k.Out)), uint32(len(k.Stack))
	for _, v := range []*uint64{&k.Start, &k.NS, &k.Inner, &k.Root, &k.Ret, &k.Cgroup} {
		c.u64(v)
	}
	for _, v := range []*uint32{&k.Function, &k.CPU, &k.Depth, &out, &frames, &k.Missed} {
		c.u32(v)
	}
	rest := len(c.b) - c.at
	out = min(out, uint32(rest))
	frames = min(frames, (uint32(rest)-out)/8)
	if !c.writing {
		k.Out, k.Stack = make([]byte, out), make([]uint64, frames)
		copy(k.Out, c.next(int(out)))
	} else {
		copy(c.next(int(out)), k.Out)
	}
	c.words(k.Stack, len(k.Stack))
}
