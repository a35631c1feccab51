// SPDX-License-Identifier: Apache-2.0

package event

import "fmt"

// Sizes of the records in bytes; a tally without a site ends before it.
var (
	headSize       = size(func(c *codec) { c.head(new(Head)) })
	siteSize       = size(func(c *codec) { c.site(new(Site)) })
	waitSize       = headSize + size(func(c *codec) { c.wait(new(Wait)) })
	fileSize       = headSize + size(func(c *codec) { c.file(new(File)) })
	identitySize   = headSize + size(func(c *codec) { c.identity(new(Identity)) })
	shortTallySize = headSize + size(func(c *codec) { c.tally(new(Tally)) })
	tallySize      = shortTallySize + siteSize
	threadWaitSize = size(func(c *codec) { c.threadWait(new(Tally)) })
	ioSize         = headSize + size(func(c *codec) { c.io(new(IO)) })
	ioWaitSize     = headSize + size(func(c *codec) { c.ioWait(new(IOWait)) })
	processSize    = headSize + size(func(c *codec) { c.process(new(Process)) })
	runqSize       = headSize + size(func(c *codec) { c.runq(new(RunQWait)) })
	ioKeySize      = size(func(c *codec) { c.ioKey(new(IOKey)) })
	ioSumSize      = size(func(c *codec) { c.ioSum(new(IOSum)) })
	callSize       = headSize + size(func(c *codec) { c.call(new(Call)) })
	failureSize    = headSize + size(func(c *codec) { c.failure(new(Failure)) })
	signalSize     = headSize + size(func(c *codec) { c.signal(new(Signal)) })
	deathSize      = headSize + size(func(c *codec) { c.death(new(Death)) })
)

// size is the size that a record of this kind must have; 0: there is no such kind.
func (h *Head) size() int {
	switch {
	case h.Kind == KindWait:
		return waitSize
	case h.Kind == KindIdentity:
		return identitySize
	case h.Kind == KindFile:
		return fileSize
	case h.Kind == KindTally && int(h.Size) == shortTallySize:
		return shortTallySize
	case h.Kind == KindTally, h.Kind == KindExit:
		return tallySize
	case h.Kind == KindIO:
		return ioSize
	case h.Kind == KindIOWait:
		return ioWaitSize
	case h.Kind == KindFailure:
		return failureSize
	case h.Kind == KindSignal:
		return signalSize
	case h.Kind == KindDeath:
		return deathSize
	case h.Kind == KindCall && int(h.Size) >= callSize && h.Size <= maxCallSize:
		return int(h.Size)
	case h.Kind == KindProcess:
		return processSize
	case h.Kind == KindRunQ:
		return runqSize
	}
	return 0
}

// Decode reads one record from the start of b: a *Wait, *Identity, *File, *Tally
// (exited or not), *IO, *IOWait, *Process, *RunQWait, *Call, *Failure, *Signal or *Death. It returns the record's size. A record of another version,
// kind or size than expected is refused with an error that wraps ErrRecord.
func Decode(b []byte) (record any, n int, err error) {
	if len(b) < headSize {
		return nil, 0, fmt.Errorf("%w: %d bytes, shorter than a record's head", ErrRecord, len(b))
	}
	c := codec{b: b}
	var h Head
	c.head(&h)
	if h.Version != Version {
		return nil, 0, fmt.Errorf("%w: version %d, not %d", ErrRecord, h.Version, Version)
	}
	want := h.size()
	if want == 0 || int(h.Size) != want || len(b) < want {
		return nil, 0, fmt.Errorf("%w: kind %d of %d bytes, %d at hand", ErrRecord, h.Kind, h.Size, len(b))
	}
	c.b = b[:want]
	switch h.Kind {
	case KindWait:
		w := &Wait{TID: h.TID, PID: h.PID, Comm: h.Comm}
		c.wait(w)
		return w, want, nil
	case KindIdentity:
		i := &Identity{TID: h.TID, PID: h.PID, Comm: h.Comm}
		c.identity(i)
		return i, want, nil
	case KindIO:
		o := &IO{}
		c.io(o)
		return o, want, nil
	case KindIOWait:
		w := &IOWait{TID: h.TID, PID: h.PID}
		c.ioWait(w)
		return w, want, nil
	case KindProcess:
		p := &Process{PID: h.PID, Comm: h.Comm}
		c.process(p)
		return p, want, nil
	case KindRunQ:
		w := &RunQWait{TID: h.TID, PID: h.PID, Comm: h.Comm}
		c.runq(w)
		return w, want, nil
	case KindFile:
		f := new(File)
		c.file(f)
		return f, want, nil
	case KindCall:
		k := &Call{Task: Task{TID: h.TID, PID: h.PID, Comm: h.Comm}}
		c.call(k)
		return k, want, nil
	case KindFailure:
		f := &Failure{Task: Task{TID: h.TID, PID: h.PID, Comm: h.Comm}}
		c.failure(f)
		return f, want, nil
	case KindSignal:
		s := &Signal{Task: Task{TID: h.TID, PID: h.PID, Comm: h.Comm}}
		c.signal(s)
		return s, want, nil
	case KindDeath:
		d := &Death{Task: Task{TID: h.TID, PID: h.PID, Comm: h.Comm}}
		c.death(d)
		return d, want, nil
	default:
		t := &Tally{Exited: h.Kind == KindExit}
		c.tally(t)
		t.TID, t.PID, t.Comm = h.TID, h.PID, h.Comm
		return t, want, nil
	}
}

// Encode writes one of these in the kernel side's layout.
func Encode(record any) []byte {
	var h Head
	var body func(*codec)
	switch r := record.(type) {
	case *Wait:
		h = Head{Kind: KindWait, Size: uint32(waitSize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.wait(r) }
	case *Identity:
		h = Head{Kind: KindIdentity, Size: uint32(identitySize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.identity(r) }
	case *IO:
		h = Head{Kind: KindIO, Size: uint32(ioSize), TID: r.Owner.TID, PID: r.Owner.PID, Comm: r.Owner.Comm}
		body = func(c *codec) { c.io(r) }
	case *IOWait:
		h = Head{Kind: KindIOWait, Size: uint32(ioWaitSize), TID: r.TID, PID: r.PID}
		body = func(c *codec) { c.ioWait(r) }
	case *Process:
		h = Head{Kind: KindProcess, Size: uint32(processSize), PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.process(r) }
	case *RunQWait:
		h = Head{Kind: KindRunQ, Size: uint32(runqSize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.runq(r) }
	case *File:
		h = Head{Kind: KindFile, Size: uint32(fileSize)}
		body = func(c *codec) { c.file(r) }
	case *Call:
		h = Head{Kind: KindCall, Size: uint32(callSize + len(r.Out) + 8*len(r.Stack)), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.call(r) }
	case *Failure:
		h = Head{Kind: KindFailure, Size: uint32(failureSize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.failure(r) }
	case *Signal:
		h = Head{Kind: KindSignal, Size: uint32(signalSize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.signal(r) }
	case *Death:
		h = Head{Kind: KindDeath, Size: uint32(deathSize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		body = func(c *codec) { c.death(r) }
	case *Tally:
		h = Head{Kind: KindTally, Size: uint32(tallySize), TID: r.TID, PID: r.PID, Comm: r.Comm}
		if r.Exited {
			h.Kind = KindExit
		} else if r.Site == nil {
			h.Size = uint32(shortTallySize)
		}
		body = func(c *codec) { c.tally(r) }
	default:
		panic(fmt.Sprintf("event: no layout for %T", record))
	}
	h.Version = Version
	c := &codec{b: make([]byte, h.Size), writing: true}
	c.head(&h)
	body(c)
	return c.b
}
