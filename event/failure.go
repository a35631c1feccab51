// SPDX-License-Identifier: Apache-2.0

package event

// Failure is a system call that has failed. Instants are CLOCK_MONOTONIC in ns.
type Failure struct {
	Task       // that made it
	Start, End uint64
	Ret        uint64 // -1 to -4095
	Cgroup     uint64 // kernfs id
	Args       [6]uint64
	Number     uint32
	Compat     bool // a call of a 32-bit program, which has numbers of its own
	CPU        uint32
	Paths      [2]Path       // those of its arguments that are paths
	Returns    uint32        // of functions, noted while it ran
	Inner      []ErrorReturn // the last of them, in their order
}

// Path is a path that a system call was given.
type Path struct {
	Text string // cut after 255 bytes
	Read bool   // else there is none, or it could not be read
}

// ErrorReturn is a function that has returned within a system call: with an error, or with
// none where one that was returned before may lie within it.
type ErrorReturn struct {
	Place    uint64 // of its call on the stack: a higher one is further out
	Ret      uint64 // as 64 bits
	Stack    uint64 // its callers: the key of the frames; 0: not known
	Called   uint64 // address of the function that the caller called: it, or one that jumped to it; where that is not known, the place of return, or 0
	Function uint32 // its number
	Failed   bool
}

// Signal is one that ends its receiver.
type Signal struct {
	Task             // the sender: whoever ran then
	Time      uint64 // CLOCK_MONOTONIC in ns
	Address   uint64 // of a fault; of other signals anything
	Stack     uint64 // of the sender, by the key of its frames; 0: not known
	Number    uint32
	Code      int32 // si_code
	TargetTID uint32
	TargetPID uint32
	Target    string // the receiver's name
}

// Death is a thread that has ended by a signal.
type Death struct {
	Task
	Time   uint64 // CLOCK_MONOTONIC in ns
	Signal uint32
	Dumped bool // it left a core
}

// FailureKey is what failed system calls are summed up by.
type FailureKey struct {
	Number uint32
	Compat bool
	Errno  uint32
}

// FailureSum is all of a key since the start.
type FailureSum struct{ Count, NS uint64 }

// Sizes of bpf/abi.h.
const (
	errorReturns = 32
	syscallPath  = 256
)

func (c *codec) failure(f *Failure) {
	for _, v := range []*uint64{&f.Start, &f.End, &f.Ret, &f.Cgroup} {
		c.u64(v)
	}
	c.words(f.Args[:], len(f.Args))
	c.u32(&f.Number)
	c.bool32(&f.Compat)
	c.u32(&f.Returns)
	c.u32(&f.CPU)
	for i := range f.Paths {
		c.bool32(&f.Paths[i].Read)
	}
	for i := range f.Paths {
		if c.text(&f.Paths[i].Text, syscallPath); !f.Paths[i].Read {
			f.Paths[i].Text = ""
		}
	}
	c.inner(f)
}

// inner puts what was kept in turn into its order.
func (c *codec) inner(f *Failure) {
	kept := min(f.Returns, errorReturns)
	if !c.writing {
		f.Inner = make([]ErrorReturn, kept)
	}
	at := c.at
	for i := range kept {
		c.at = at + int((f.Returns-kept+i)%errorReturns)*errorReturnSize
		if int(i) < len(f.Inner) {
			c.errorReturn(&f.Inner[i])
		}
	}
	c.at = at + errorReturns*errorReturnSize
}

const errorReturnSize = 40

func (c *codec) errorReturn(r *ErrorReturn) {
	c.u64(&r.Place)
	c.u64(&r.Ret)
	c.u64(&r.Stack)
	c.u64(&r.Called)
	c.u32(&r.Function)
	c.bool32(&r.Failed)
}

func (c *codec) signal(s *Signal) {
	for _, v := range []*uint64{&s.Time, &s.Address, &s.Stack} {
		c.u64(v)
	}
	code := uint32(s.Code)
	for _, v := range []*uint32{&s.Number, &code, &s.TargetTID, &s.TargetPID} {
		c.u32(v)
	}
	s.Code = int32(code)
	c.text(&s.Target, commBytes)
}

func (c *codec) death(d *Death) {
	c.u64(&d.Time)
	c.u32(&d.Signal)
	c.bool32(&d.Dumped)
}
