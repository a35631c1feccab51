// SPDX-License-Identifier: Apache-2.0

package event

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Version is the layouts' version: ABI_VERSION of bpf/abi.h.
const Version = 1

// Kind tells records apart: enum record_kind.
type Kind uint16

// The kinds of record.
const (
	KindWait     Kind = 1
	KindIdentity Kind = 2
	KindExit     Kind = 3
	KindTally    Kind = 4
	KindFile     Kind = 5
	KindIO       Kind = 6
	KindIOWait   Kind = 7
	KindProcess  Kind = 8
	KindRunQ     Kind = 9
	KindCall     Kind = 10
	KindFailure  Kind = 11
	KindSignal   Kind = 12
	KindDeath    Kind = 13
)

// Sizes of the fixed arrays of bpf/abi.h.
const (
	commBytes   = 16
	stackDepth  = 48
	schedDepth  = 8
	pathBytes   = 256
	nameBytes   = 128
	cgroupBytes = 512
)

// ErrRecord is wrapped by every error of a record that cannot be decoded.
var ErrRecord = errors.New("record not understood")

// Head is what every record starts with.
type Head struct {
	Kind    Kind
	Version uint16
	Size    uint32
	TID     uint32
	PID     uint32
	Comm    string
}

// codec walks one record in the order of its fields, reading or writing: each
// layout is written down once, and serves both ways.
type codec struct {
	b       []byte
	at      int
	writing bool
}

func (c *codec) next(n int) []byte {
	s := c.b[c.at : c.at+n]
	c.at += n
	return s
}

func (c *codec) u16(v *uint16) {
	if s := c.next(2); c.writing {
		binary.NativeEndian.PutUint16(s, *v)
	} else {
		*v = binary.NativeEndian.Uint16(s)
	}
}

func (c *codec) u32(v *uint32) {
	if s := c.next(4); c.writing {
		binary.NativeEndian.PutUint32(s, *v)
	} else {
		*v = binary.NativeEndian.Uint32(s)
	}
}

func (c *codec) u64(v *uint64) {
	if s := c.next(8); c.writing {
		binary.NativeEndian.PutUint64(s, *v)
	} else {
		*v = binary.NativeEndian.Uint64(s)
	}
}

func (c *codec) bool32(v *bool) {
	var n uint32
	if *v {
		n = 1
	}
	c.u32(&n)
	*v = n != 0
}

func (c *codec) skip(n int) { c.at += n }

// text is a NUL-terminated string in n bytes.
func (c *codec) text(v *string, n int) {
	s := c.next(n)
	if c.writing {
		copy(s[:n-1], *v)
		return
	}
	if end := bytes.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	*v = string(s)
}

// path is a list of components, innermost first and NUL-terminated, of which used bytes count.
func (c *codec) path(v *string, used *uint16, n int) {
	s := c.next(n)
	if c.writing {
		*used = uint16(putComponents(s, *v))
		return
	}
	*v = joinComponents(s[:min(int(*used), n)])
}

func joinComponents(s []byte) string {
	if len(s) == 0 {
		return ""
	}
	parts := bytes.Split(bytes.TrimSuffix(s, []byte{0}), []byte{0})
	var out strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		out.WriteByte('/')
		out.Write(parts[i])
	}
	return out.String()
}

func putComponents(s []byte, path string) int {
	at := 0
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return 0
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if at+len(parts[i])+1 > len(s) {
			break
		}
		at += copy(s[at:], parts[i]) + 1
	}
	return at
}

func (c *codec) head(h *Head) {
	c.u16((*uint16)(&h.Kind))
	c.u16(&h.Version)
	c.u32(&h.Size)
	c.u32(&h.TID)
	c.u32(&h.PID)
	c.text(&h.Comm, commBytes)
}

func (c *codec) request(r *Request) {
	c.u64(&r.Sector)
	c.u32((*uint32)(&r.Dev))
	c.u32(&r.Bytes)
	c.u32(&r.Op)
	c.skip(4)
	c.u64(&r.Queue)
	c.u64(&r.Device)
}

func (c *codec) file(f *File) {
	var used uint16
	c.u64(&f.Ino)
	c.u32((*uint32)(&f.Dev))
	c.u16((*uint16)(&f.Source))
	usedAt := c.at
	c.u16(&used)
	c.bool32(&f.BlockDevice)
	c.u32((*uint32)(&f.Backing))
	c.path(&f.Path, &used, pathBytes+nameBytes)
	if c.writing {
		binary.NativeEndian.PutUint16(c.b[usedAt:], used)
		return
	}
	if f.Source == NoFile {
		*f = File{Backing: f.Backing}
	}
}

// site joins the scheduler's frames and those outside of them to one stack;
// writing puts all of them among the latter.
func (c *codec) site(s *Site) {
	syscall, frames := uint32(s.Syscall), uint32(len(s.Stack))
	var sched uint32
	c.u32(&syscall)
	c.u32(&frames)
	c.u64(&s.Cgroup)
	s.Syscall = int32(syscall)
	c.u32(&sched)
	c.skip(4)
	frames, sched = min(frames, stackDepth), min(sched, schedDepth)
	if !c.writing {
		s.Stack = make([]uint64, sched+frames)
	}
	c.words(s.Stack[:sched], schedDepth)
	c.words(s.Stack[sched:sched+frames], stackDepth)
	c.file(&s.File)
}

func (c *codec) words(words []uint64, room int) {
	for i := range words {
		c.u64(&words[i])
	}
	c.skip(8 * (room - len(words)))
}

func (c *codec) wait(w *Wait) {
	c.u64(&w.Start)
	c.u64(&w.Woken)
	c.u64(&w.Runs)
	c.u64(&w.Seq)
	c.u64(&w.Born)
	c.request(&w.Request)
	c.u32((*uint32)(&w.Flags))
	c.u32(&w.CPU)
	c.u32(&w.Weight)
	c.skip(4)
	c.site(&w.Site)
}

func (c *codec) identity(i *Identity) {
	c.u64(&i.Cgroup)
	c.u64(&i.StartTime)
	c.u32(&i.UID)
	c.u32(&i.PPID)
	c.u32(&i.NSPID)
	c.u32(&i.NSLevel)
	c.bool32(&i.Kernel)
	usedAt := c.at
	var used uint16
	c.u16(&used)
	c.u16(&i.CgroupV1)
	c.text(&i.LeaderComm, commBytes)
	c.file(&i.Exe)
	c.path(&i.CgroupPath, &used, cgroupBytes+nameBytes)
	if c.writing {
		binary.NativeEndian.PutUint16(c.b[usedAt:], used)
	} else if i.CgroupPath == "" {
		i.CgroupPath = "/"
	}
}

func (c *codec) hist(h *Hist) {
	var counts [HistSlots]uint32
	for _, count := range *h {
		counts[count.Slot%HistSlots] = count.N
	}
	used := 0
	for i := range counts {
		if c.u32(&counts[i]); counts[i] > 0 {
			used++
		}
	}
	if c.writing || used == 0 {
		return
	}
	*h = make(Hist, 0, used)
	for i, n := range counts {
		if n > 0 {
			*h = append(*h, HistCount{uint8(i), n})
		}
	}
}

func (c *codec) threadWait(t *Tally) {
	var walk, identity uint64
	var epoch uint32
	c.u64(&t.Start)
	c.u64(&t.Woken)
	c.u64(&walk)
	c.u64(&walk)
	c.u64(&t.Born)
	c.u32((*uint32)(&t.Flags))
	for range 5 {
		c.u32(&epoch)
	}
	c.u32(&t.TID)
	c.u32(&t.PID)
	c.skip(8)
	for range 3 {
		c.u64(&identity)
	}
	c.u64(&t.Count)
	for i := range t.Sums {
		c.u64(&t.Sums[i].Count)
		c.u64(&t.Sums[i].Blocked)
		c.u64(&t.Sums[i].RunQueue)
	}
	for i := range t.Max {
		c.u64(&t.Max[i].NS)
		c.u32(&t.Max[i].Epoch)
		c.skip(4)
	}
	for range 3 {
		c.u64(&walk)
	}
	c.hist(&t.Hist)
}

func (c *codec) tally(t *Tally) {
	hasSite := t.Site != nil
	var state uint32
	c.u64(&t.Now)
	c.threadWait(t)
	c.bool32(&hasSite)
	c.u32(&state)
	if hasSite && len(c.b)-c.at >= siteSize {
		if !c.writing {
			t.Site = new(Site)
		}
		c.site(t.Site)
	}
}

// size measures a layout by walking over a buffer that is surely long enough.
func size(walk func(*codec)) int {
	c := codec{b: make([]byte, 4096)}
	walk(&c)
	return c.at
}

// DecodeThreadWait reads a bare struct thread_wait, as the hash by thread id
// holds it. The thread's name is not in it.
func DecodeThreadWait(b []byte, now uint64) (*Tally, error) {
	if len(b) < threadWaitSize {
		return nil, fmt.Errorf("%w: %d bytes for a thread's state of %d", ErrRecord, len(b), threadWaitSize)
	}
	t := &Tally{Now: now}
	c := codec{b: b}
	c.threadWait(t)
	return t, nil
}
