// SPDX-License-Identifier: Apache-2.0

package blame

// directFrames carry out O_DIRECT I/O.
var directFrames = []string{
	"iomap_dio_rw", "__iomap_dio_rw", "iomap_dio_complete", "dio_await_one", "dio_await_completion", "do_blockdev_direct_IO",
	"__blockdev_direct_IO", "do_direct_IO", "dio_bio_alloc",
	"blkdev_direct_IO*", "__blkdev_direct_IO*", "blk_io_schedule",
	"btrfs_direct_IO", "btrfs_direct_read", "btrfs_direct_write", "btrfs_dio_read", "btrfs_dio_write", "btrfs_dio_rw",
	"btrfs_dio_iomap_begin", "f2fs_dio_read_iter", "f2fs_dio_write_iter", "bch2_direct_IO_read", "bch2_direct_write",
	"bch2_dio_write_loop",
}

// The callers that tell a direct read from a direct write.
var (
	readers = []string{
		"*_read_iter", "*_dio_read", "xfs_file_dio_read", "vfs_read*", "vfs_iter_read", "do_iter_read", "__kernel_read",
		"ksys_read", "aio_read", "io_read", "__io_read", "btrfs_direct_read", "btrfs_dio_read", "bch2_direct_IO_read",
	}
	writers = []string{
		"*_write_iter", "*_dio_write", "xfs_file_dio_write*", "vfs_write*", "vfs_iter_write", "do_iter_write", "__kernel_write*",
		"ksys_write", "aio_write", "io_write", "__io_write", "btrfs_direct_write", "btrfs_dio_write", "bch2_direct_write",
		"bch2_dio_write_loop", "generic_file_direct_write",
	}
)

// The system calls that do, where no caller is in the stack.
var (
	readCalls  = []string{"read", "pread*", "readv", "preadv*"}
	writeCalls = []string{"write", "pwrite*", "writev", "pwritev*"}
)

func directReads(s *site) bool { return s.goes(readers, writers, readCalls) }

func directWrites(s *site) bool { return s.goes(writers, readers, writeCalls) }

// goes tells whether the innermost frame with a direction has this one. Without
// any such frame the system call decides.
func (s *site) goes(this, other, calls []string) bool {
	for _, name := range s.frames {
		if anyMatches(this, name) {
			return true
		}
		if anyMatches(other, name) {
			return false
		}
	}
	return anyMatches(calls, s.Syscall)
}

// raidFrames are md's own.
var raidFrames = []string{
	"md_write_start", "md_super_wait", "md_flush_request", "md_handle_request", "md_make_request", "md_submit_bio",
	"md_submit_flush_data", "md_do_sync", "md_update_sb", "md_check_recovery", "md_bitmap_*", "md_ioctl", "md_seq_*", "mddev_*",
	"__md_stop*", "do_md_stop", "md_set_readonly", "md_start_sync", "md_wakeup_thread*", "llbitmap_*", "bitmap_startwrite",
	"bitmap_unplug", "write_sb_page", "md_error",
	"wait_barrier", "_wait_barrier", "raise_barrier", "freeze_array", "wait_read_barrier", "regular_request_wait",
	"wait_blocked_rdev", "handle_stripe", "wait_for_serialization", "make_stripe_request", "ops_run_io", "bitmap_daemon_work",
	"raid0_*", "raid1_*", "raid10_*", "raid5_*", "raid5d", "raid1d", "raid10d", "r5l_*", "r5c_*", "narrow_write_error", "fix_read_error",
}

// waitsDriver: drivers between a file system and the hardware, if the sleep is in
// their own code; and io_uring's wait for completions.
var waitsDriver = table{
	{cause: IOUringIO, when: joined, at: ringWaits},
	{cause: IOUringIdle, at: ringWaits},
	{cause: IOUringIO, when: ringJoined, bare: true, at: ringCalls},
	{cause: IOUringIdle, when: interruptible, bare: true, at: ringCalls},
	{cause: DeviceMapper, at: []string{
		"dm_*", "__dm_*", "dmcrypt_write", "kcryptd_*", "crypt_*", "verity_*", "pool_*", "thin_*", "dmz_*", "cache_map",
		"writecache_*", "era_*", "snapshot_map", "snapshot_merge_*", "origin_map", "kcopyd_*", "integrity_*", "do_resume",
		"dev_suspend", "process_deferred_bios", "new_read", "do_drain",
	}, not: []string{"dm_helpers_*", "dm_fence_*"}},
	{cause: Raid, at: raidFrames},
	{cause: LoopDevice, at: []string{"loop_*", "__loop_*", "lo_*"}},
}

var ringWaits = []string{"io_cqring_wait", "io_cqring_schedule", "__io_cqring_wait_schedule", "io_cqring_wait_schedule"}

// ringCalls have the wait itself in them where the compiler put it there, as in 6.1; their locks are not interruptible.
var ringCalls = []string{"__do_sys_io_uring_enter", "__se_sys_io_uring_enter"}

func joined(s *site) bool        { return s.Joined }
func interruptible(s *site) bool { return s.Interruptible }
func ringJoined(s *site) bool    { return s.Joined && s.Interruptible }
