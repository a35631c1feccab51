// SPDX-License-Identifier: Apache-2.0

package symbol

// Limits bound what a resolver holds. Zero fields take the defaults.
type Limits struct {
	Processes   int   // whose mappings are known; the one that was not asked about for longest goes first (4,096)
	Generations int   // of mappings of one process (4)
	Mappings    int   // of code in one generation (4,096)
	Files       int   // held open, to be read when first needed (256)
	Tables      int   // of symbols, one a module (1,024)
	Bytes       int64 // of all tables (256 MiB)
}

// Losses count what limits and races have cost.
type Losses struct {
	Processes uint64 // forgotten before their time
	Mappings  uint64 // left out
	Modules   uint64 // that could not be opened or read
	Tables    uint64 // thrown out, to be read again if the file still can be
	Ambiguous uint64 // frames not named, since it is not known which of two programs ran then
}

// Options say where to look.
type Options struct {
	Limits
	// Raw leaves C++ and Rust names as linkers see them.
	Raw bool
}

// Resolver names addresses of processes. It may be used by many goroutines at once.
type Resolver struct{}

// New makes a resolver on the /proc beneath a root ("/" normally).
func New(root string, options Options) *Resolver { return &Resolver{} }

// Learn takes a process's mappings as they are now (ns by CLOCK_MONOTONIC), and opens the files
// that its code is in, so that its frames can be named after its end or its next exec. Call it
// when a process is first seen, and again when a frame is of Kind Unknown, at most now and then.
// An error tells that nothing could be learned: that it has ended (os.ErrNotExist), or is out of reach (os.ErrPermission).
func (r *Resolver) Learn(pid uint32, now uint64) error { return nil }

// Executed tells that a process began another program at that instant: older mappings do not
// hold for what comes after. Without it an exec is noticed by Learn, and what lies between is
// named only where both programs agree.
func (r *Resolver) Executed(pid uint32, at uint64) {}

// Forked lets a child begin with its parent's mappings.
func (r *Resolver) Forked(parent, child uint32, at uint64) {}

// Resolve names an address in a process (a thread group) at an instant, ns by CLOCK_MONOTONIC.
// It always gives a frame; of Kind Unknown if the address is in no mapping known for that time.
func (r *Resolver) Resolve(pid uint32, at, address uint64) Frame {
	return Frame{Address: address}
}

// Losses are those since the beginning.
func (r *Resolver) Losses() Losses { return Losses{} }

// Close closes the files that are held open.
func (r *Resolver) Close() error { return nil }
