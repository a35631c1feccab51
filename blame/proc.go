// SPDX-License-Identifier: Apache-2.0

package blame

// The kernel leaves its scheduler's functions out of the stacks that /proc shows,
// those of mutexes, semaphores and bit waits among them: what a thread sleeps in
// has to be told from what called it. An ordinary user sees the innermost
// remaining function only.

// Ways to sleep that stand for those that were left out.
var (
	someLock    = []string{"rwsem_down_write_slowpath"}
	someBitWait = []string{"bit_wait_io", "out_of_line_wait_on_bit"}
)

// takesLock are functions that sleep in nothing but a lock.
var takesLock = []string{
	"btrfs_tree_lock*", "btrfs_tree_read_lock*", "__btrfs_tree_lock", "__btrfs_tree_read_lock", "btrfs_inode_lock*",
	"xfs_ilock*", "lock_rename*", "inode_lock*", "mnt_want_write*", "iterate_dir", "do_user_addr_fault", "nfs_start_io_*",
}

// sleepsForIO are functions that call io_schedule by themselves, or wait for a bio.
var sleepsForIO = []string{
	"folio_*", "__folio_*", "wait_on_page_*", "__lock_page*", "put_and_wait_on_page_locked", "submit_bio_wait", "bio_await*", "blk_*",
	"__iomap_dio_rw", "iomap_dio_rw", "dio_await_one", "__blkdev_direct_IO*", "blkdev_direct_IO*", "balance_dirty_pages*",
	"rq_qos_wait", "wbt_wait", "do_swap_page", "swap_*", "read_pages", "io_cqring_*", "blkdev_issue_flush",
}

// completed gives the stacks that one of /proc may stand for, the likeliest first.
func completed(e *Evidence) [][]string {
	frames := functions(e.Stack)
	if len(frames) == 0 {
		return nil
	}
	asIs, locked, bit := frames, join(someLock, frames), join(someBitWait, frames)
	switch {
	case !e.Flagged && anyMatches(takesLock, frames[0]):
		return [][]string{locked, asIs}
	case e.Flagged && !anyMatches(sleepsForIO, frames[0]):
		return [][]string{bit, asIs}
	case e.Flagged || anyMatches(sleepers, frames[0]):
		return [][]string{asIs}
	case e.FlagUnknown:
		return [][]string{asIs, bit, locked}
	}
	return [][]string{asIs, locked}
}

func join(inner, outer []string) []string {
	return append(append(make([]string, 0, len(inner)+len(outer)), inner...), outer...)
}

// explainProc finds the rule that decides for a stack of /proc.
func explainProc(e *Evidence) *rule {
	for _, stack := range completed(e) {
		complete := *e
		complete.Stack, complete.Proc = stack, false
		if r := explain(&complete); r != nil {
			return r
		}
	}
	return nil
}

// lone: what the innermost function and the system call say together, where they
// are all that is known. It is likely, not certain.
var lone = table{
	{cause: DataWriteback, at: loneWaits, when: syncs},
	{cause: PageCacheRead, at: lonePages, when: readsFiles},
	{cause: PageFaultRead, at: lonePages, when: faults},
	{cause: DirectRead, at: loneBios, when: directReads},
	{cause: DirectWrite, at: loneBios, when: directWrites},
	{cause: MetadataRead, at: []string{"__wait_on_buffer", "ext4_read_bh*", "__ext4_get_inode_loc*", "__ext4_find_entry", "ext4_wait_block_bitmap"}},
}

var (
	lonePages = []string{"folio_wait_bit_common", "folio_wait_bit*", "wait_on_page_bit*", "__folio_lock*", "__lock_page*", "folio_put_wait_locked"}
	loneBios  = []string{"submit_bio_wait", "bio_await*", "__iomap_dio_rw", "dio_await_one", "__blkdev_direct_IO*", "blkdev_direct_IO*"}
	loneWaits = []string{"folio_wait_bit_common", "folio_wait_bit*", "wait_on_page_bit*", "folio_wait_writeback*", "wait_on_page_writeback*"}
)

var (
	fileSyncs = []string{"fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"}
	fileReads = []string{"read", "pread*", "readv", "preadv*", "sendfile*", "splice", "copy_file_range", "execve*"}
)

// loneSecrets are functions in which threads wait for others, for reasons that only their callers tell.
var loneSecrets = append([]string{"__flush_work*", "flush_work*", "drain_workqueue", "msleep*"}, otherCPUs...)

func syncs(s *site) bool      { return anyMatches(fileSyncs, s.Syscall) }
func readsFiles(s *site) bool { return anyMatches(fileReads, s.Syscall) }
func faults(s *site) bool     { return s.Fault && !s.Kernel }

// loneTables are asked for a single function. What only names the operation in
// which a thread sleeps, and not the sleep, is not asked: it may be a lock.
func loneTables(s *site) []table {
	if anyMatches(loneSecrets, s.frames[0]) {
		return nil
	}
	if s.Flagged {
		return []table{holds, lone, overrides, waits, rests, idles}
	}
	return []table{holds, lone, overrides, waitsDevice, waitsJournal, waitsDriver, idles}
}
