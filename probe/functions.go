// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"slices"

	"github.com/iowitness/iowitness/spelling"
)

// Function is a kernel function in which threads sleep: where a tracepoint of
// the scheduler cannot be had, its entry and return tell a wait.
type Function struct {
	Name    string
	Flagged bool   // in_iowait is set while a thread sleeps there
	Module  string // that has it, where it is not in the kernel itself
	Witness string // what is waited for, in a few words
}

// CheckFunction says what is wrong with a name that is to be one of Functions.
func CheckFunction(name string) error {
	if slices.ContainsFunc(Functions, func(f Function) bool { return f.Name == name }) {
		return nil
	}
	if reason, denied := Denied(name); denied {
		return fmt.Errorf("%s is never probed: %s", name, reason)
	}
	names := make([]string, len(Functions))
	for i, f := range Functions {
		names[i] = f.Name
	}
	return spelling.Unknown("waits are not seen in", name, names)
}

// Functions are those of the means by entry and return. They may nest: the time
// goes to the innermost in which the thread slept. What sleeps in none of them
// is not witnessed by these means.
var Functions = []Function{
	{Name: "io_schedule", Flagged: true, Witness: "a page, a buffer, a request"},
	{Name: "io_schedule_timeout", Flagged: true, Witness: "direct I/O, a bio's completion"},
	{Name: "mutex_lock_io", Flagged: true, Witness: "a mutex held over I/O"},
	{Name: "blkcg_maybe_throttle_current", Flagged: true, Witness: "a cgroup's delay"},
	{Name: "io_cqring_wait", Flagged: true, Witness: "an io_uring completion"},
	{Name: "jbd2_log_wait_commit", Module: "jbd2", Witness: "a journal commit"},
	{Name: "wait_transaction_locked", Module: "jbd2", Witness: "a locked transaction"},
	{Name: "wb_wait_for_completion", Witness: "a writeback that was asked for"},
	{Name: "inode_wait_for_writeback", Witness: "an inode under writeback"},
	{Name: "inode_dio_wait", Witness: "direct I/O of others on an inode"},
	{Name: "reclaim_throttle", Witness: "reclaim of memory"},
	{Name: "rwsem_down_read_slowpath", Witness: "a lock, shared"},
	{Name: "rwsem_down_write_slowpath", Witness: "a lock, exclusive"},
	{Name: "__mutex_lock_slowpath", Witness: "a mutex"},
	{Name: "percpu_rwsem_wait", Witness: "a frozen file system"},
	{Name: "blk_queue_enter", Witness: "a frozen queue"},
	{Name: "__bio_queue_enter", Witness: "a frozen queue"},
	{Name: "rpc_wait_bit_killable", Module: "sunrpc", Witness: "an NFS server"},
	{Name: "nfs_wait_bit_killable", Module: "nfs", Witness: "an NFS server"},
	{Name: "request_wait_answer", Module: "fuse", Witness: "a FUSE server"},
	{Name: "xlog_wait_on_iclog", Module: "xfs", Witness: "the XFS log"},
	{Name: "xlog_grant_head_wait", Module: "xfs", Witness: "room in the XFS log"},
	{Name: "xfs_buf_iowait", Module: "xfs", Witness: "an XFS buffer"},
}
