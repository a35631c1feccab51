// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"slices"

	"github.com/iowitness/iowitness/blame"
)

// waiting is a thread's wait in progress before it has names.
type waiting struct {
	pid, tid uint32
	comm     string
	wait     *blame.Pending
}

// inProgress lists the selected waits that have not ended and counts them all.
func (b *builder) inProgress() ([]InProgress, int) {
	var waits []waiting
	for t := range b.threads {
		if t.Pending != nil && b.wantsPending(t) {
			waits = append(waits, waiting{t.PID, t.TID, t.Comm, t.Pending})
		}
	}
	slices.SortFunc(waits, waiting.compare)
	var list []InProgress
	for _, w := range waits[:min(len(waits), MaxInProgress)] {
		list = append(list, w.named(b.names))
	}
	return list, len(waits)
}

func (b *builder) wantsPending(t *blame.Thread) bool {
	return b.options.wantsCause(t.Pending.Cause) && t.Pending.Age >= uint64(max(b.options.Min, 0)) && b.options.wantsThread(t, b.names)
}

// compare puts waits for storage first, then the oldest.
func (w waiting) compare(o waiting) int {
	if storage := w.wait.Cause.Storage(); storage != o.wait.Cause.Storage() {
		if storage {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(o.wait.Age, w.wait.Age), cmp.Compare(w.pid, o.pid), cmp.Compare(w.tid, o.tid))
}

func (w waiting) named(names *nameCache) InProgress {
	p := w.wait
	who := processWho(w.pid, w.comm, names)
	who.TID, who.Comm = w.tid, w.comm
	return InProgress{
		Who: who, Age: p.Age, Adopted: p.Adopted, Flagged: p.Flagged, FlagUnknown: p.FlagUnknown, Woken: p.Woken,
		Cause: p.Cause, Syscall: names.Syscall(p.Syscall),
		Device: names.Device(p.Device), DeviceSource: p.DeviceSource,
		File: names.File(p.File, w.pid), Inode: p.File.Ino, FileSource: p.File.Source,
		Stack: p.Stack,
	}
}
