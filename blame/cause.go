// SPDX-License-Identifier: Apache-2.0

package blame

import "fmt"

// Cause is why a thread waits. The ids are stable: JSON and metrics use them.
type Cause uint8

// The causes. The zero value is Unknown.
const (
	Unknown Cause = iota // a stack that no rule explains, or none
	PageCacheRead
	PageFaultRead
	DirectRead
	DirectWrite
	MetadataRead
	MetadataWrite
	DataWriteback
	DeviceFlush
	Discard
	JournalCommit
	JournalSpace
	JournalLocked
	LogForce
	DirtyThrottle
	CgroupThrottle
	QoSThrottle
	RequestTag
	QueueFrozen
	SwapIn
	Reclaim
	InodeLock
	PageLock
	MmapLock
	FSFrozen
	NFS
	FUSE
	NetworkBlock
	IOUringIdle
	IOUringIO
	LoopDevice
	DeviceMapper
	Raid
	NotStorage
	Unattributed // not a cause: time that no recorded wait explains
	causeCount
)

// ID is the stable name, e.g. "page_cache_read".
func (c Cause) ID() string { return c.about().id }

// Title is a noun phrase of a few words.
func (c Cause) Title() string { return c.about().title }

// Explain is one sentence about what is waited for.
func (c Cause) Explain() string { return c.about().explain }

// Next is one sentence about what to do next.
func (c Cause) Next() string { return c.about().next }

// Storage tells whether the wait counts as one for storage.
func (c Cause) Storage() bool { return c != IOUringIdle && c != NotStorage }

func (c Cause) String() string { return c.ID() }

// about gives the entry of a cause; a value out of range is an unknown cause.
func (c Cause) about() *about {
	if c >= causeCount {
		c = Unknown
	}
	return &causes[c]
}

// Causes lists all, in the order of the documentation, Unknown and Unattributed last.
func Causes() []Cause {
	all := make([]Cause, 0, causeCount)
	for c := Unknown + 1; c < Unattributed; c++ {
		all = append(all, c)
	}
	return append(all, Unknown, Unattributed)
}

// MarshalText gives the id.
func (c Cause) MarshalText() ([]byte, error) {
	if c >= causeCount {
		return nil, fmt.Errorf("cause %d does not exist", uint8(c))
	}
	return []byte(c.ID()), nil
}

// UnmarshalText reads an id.
func (c *Cause) UnmarshalText(text []byte) error {
	parsed, err := ParseCause(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// syncCalls are those that exist to wait: what they wait for is theirs.
var syncCalls = map[string]bool{
	"fsync": true, "fdatasync": true, "sync": true, "syncfs": true, "msync": true, "sync_file_range": true,
}

// Words says a cause in words, for a row or a sentence: "fsync's device flush",
// "page cache read miss in read". The system call may be "".
func Words(c Cause, syscall string) string {
	switch {
	case syscall == "" || c.about().alone:
		return c.Title()
	case syncCalls[syscall]:
		return syscall + "'s " + c.Title()
	}
	return c.Title() + " in " + syscall
}
