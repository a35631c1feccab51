// SPDX-License-Identifier: Apache-2.0

package event

// FSOp is a kind of call on a file: enum fs_op.
type FSOp uint8

// The kinds, in the order in which views show them.
const (
	FSRead      FSOp = 1
	FSWrite     FSOp = 2
	FSOpen      FSOp = 3
	FSFsync     FSOp = 4
	FSFdatasync FSOp = 5
	FSSyncRange FSOp = 6
	FSSyncFS    FSOp = 7
	FSMsync     FSOp = 8
	FSOps       FSOp = 9 // not a kind: their number
)

var fsOpNames = [FSOps]string{"", "read", "write", "open", "fsync", "fdatasync", "sync_file_range", "syncfs", "msync"}

func (op FSOp) String() string {
	if op >= FSOps {
		return ""
	}
	return fsOpNames[op]
}

// FSCalls are the system calls of each kind. All but those that open, and msync, take
// the file's descriptor as their first argument.
var FSCalls = map[FSOp][]string{
	FSRead:      {"read", "pread64", "readv", "preadv", "preadv2"},
	FSWrite:     {"write", "pwrite64", "writev", "pwritev", "pwritev2"},
	FSOpen:      {"open", "openat", "openat2", "creat"},
	FSFsync:     {"fsync"},
	FSFdatasync: {"fdatasync"},
	FSSyncRange: {"sync_file_range"},
	FSSyncFS:    {"syncfs"},
	FSMsync:     {"msync"},
}

// FSKey is a process's calls of one kind on one file.
type FSKey struct {
	Ino uint64
	Dev Dev // the superblock's
	PID uint32
	Op  FSOp
}

// FSSum adds up calls. Times are from entry to return, in ns.
type FSSum struct {
	Count, NS, Max uint64
	Bytes          uint64 // as read and write return them
	Errors         uint64
	Hist           Hist

	// Of calls whose sleeps were watched, which are those that synchronize.
	Divided   uint64
	DividedNS uint64
	Blocked   uint64 // of DividedNS: asleep until woken,
	RunQueue  uint64 // and ready, but waiting for a CPU
}

// Add adds the calls of another sum.
func (s *FSSum) Add(o *FSSum) {
	s.Count += o.Count
	s.NS += o.NS
	s.Max = max(s.Max, o.Max)
	s.Bytes += o.Bytes
	s.Errors += o.Errors
	s.Hist.Merge(o.Hist)
	s.Divided += o.Divided
	s.DividedNS += o.DividedNS
	s.Blocked += o.Blocked
	s.RunQueue += o.RunQueue
}

// FSPart is what calls slept by one stack: a part of Blocked.
type FSPart struct {
	Key       FSKey
	Stack     []uint64 // innermost first
	Flagged   bool     // the kernel had in_iowait set
	Count, NS uint64
}

// FSCall is a call that has not returned.
type FSCall struct {
	Key     FSKey
	TID     uint32
	Age     uint64   // ns
	Stack   []uint64 // of a call that synchronizes, while it sleeps; innermost first
	Flagged bool     // the kernel has in_iowait set
}

// JournalSum adds up commits of one journal of jbd2, in ns. The first three are
// measured by jbd2 itself, in whole ticks of the kernel's timer.
type JournalSum struct {
	Commits, Handles, Blocks, Logged uint64
	Wait                             uint64 // for each commit the longest that a handle waited to begin
	Delay                            uint64 // from the request for a commit to its begin
	Running                          uint64 // while the transaction took changes
	Locked                           uint64 // until its last handle was closed
	Flushing                         uint64 // data that must be there first
	Logging                          uint64 // its own blocks, flushes and the commit block
	Max                              uint64 // the longest of the last three together
}

// FlushSum adds up flushes of a device's write cache, in ns.
type FlushSum struct {
	Count, NS, Max uint64
	Unseen         uint64 // completed, but their issue was not seen: not counted
}

// FSInterval is what was counted in one interval.
type FSInterval struct {
	Sums     map[FSKey]*FSSum
	Parts    []FSPart
	Journals map[Dev]JournalSum // by the file system's device
	Flushes  map[Dev]FlushSum   // by whole device
	UnderWay []FSCall           // at its end, of those that have taken a second or more
}

// Add adds the commits of another sum.
func (j JournalSum) Add(o JournalSum) JournalSum {
	j.Commits += o.Commits
	j.Handles += o.Handles
	j.Blocks += o.Blocks
	j.Logged += o.Logged
	j.Wait += o.Wait
	j.Delay += o.Delay
	j.Running += o.Running
	j.Locked += o.Locked
	j.Flushing += o.Flushing
	j.Logging += o.Logging
	j.Max = max(j.Max, o.Max)
	return j
}

// Add adds the flushes of another sum.
func (l FlushSum) Add(o FlushSum) FlushSum {
	l.Count += o.Count
	l.NS += o.NS
	l.Unseen += o.Unseen
	l.Max = max(l.Max, o.Max)
	return l
}

// Since is what a sum has grown by. Max stays the longest of all.
func (j JournalSum) Since(before JournalSum) JournalSum {
	j.Commits -= before.Commits
	j.Handles -= before.Handles
	j.Blocks -= before.Blocks
	j.Logged -= before.Logged
	j.Wait -= before.Wait
	j.Delay -= before.Delay
	j.Running -= before.Running
	j.Locked -= before.Locked
	j.Flushing -= before.Flushing
	j.Logging -= before.Logging
	return j
}

// Since is what a sum has grown by. Max stays the longest of all.
func (l FlushSum) Since(before FlushSum) FlushSum {
	l.Count -= before.Count
	l.NS -= before.NS
	l.Unseen -= before.Unseen
	return l
}
