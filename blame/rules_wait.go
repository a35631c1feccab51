// SPDX-License-Identifier: Apache-2.0

package blame

import "slices"

// waits: which operation a thread sleeps in, by subject. No two subjects name the
// same frame with the same conditions, except where order settles it: dirty data
// and device operations stand before the file systems' general names.
var waits = slices.Concat(waitsDevice, waitsWriteback, waitsJournal, waitsLock, waitsDirect, waitsPage, waitsMetadata, waitsDriver)

// bitWaits are the ways to wait for a buffer head or another flagged bit.
var bitWaits = []string{
	"bit_wait_io", "out_of_line_wait_on_bit*", "__wait_on_bit*", "__wait_on_buffer", "__lock_buffer", "sleep_on_buffer",
}

// folioLocks are the ways to wait for a page's lock.
var folioLocks = []string{"__folio_lock*", "folio_lock*", "__lock_page*", "lock_page*"}

// pageWaits are the ways to wait for any bit of a page.
var pageWaits = append([]string{
	"folio_wait_bit*", "wait_on_page_bit*", "__wait_on_page_locked", "folio_wait_locked*", "folio_put_wait_locked", "put_and_wait_on_page_locked",
}, folioLocks...)

// waitsDevice: commands that are neither reads nor writes.
var waitsDevice = table{
	{cause: DeviceFlush, at: []string{
		"blkdev_issue_flush", "xfs_blkdev_issue_flush", "xfs_flush_bdev_async*", "barrier_all_devices", "wait_dev_flush", "write_dev_flush",
		"sd_sync_cache", "f2fs_issue_flush", "f2fs_flush_device_cache", "__submit_flush_wait", "vdev_disk_io_flush",
	}},
	{cause: Discard, at: []string{
		"blkdev_issue_discard", "__blkdev_issue_discard", "blk_next_bio", "blk_alloc_discard_bio", "blkdev_issue_secure_erase",
		"blkdev_issue_write_same",
		"blkdev_issue_zeroout", "__blkdev_issue_zeroout", "blkdev_issue_zero_pages", "__blkdev_issue_zero_pages",
		"blkdev_issue_write_zeroes", "__blkdev_issue_write_zeroes",
		"blk_ioctl_discard", "blk_ioctl_zeroout", "ext4_issue_discard",
		"xfs_discard_extents", "xfs_trim_*", "xfs_ioc_trim", "xfs_extent_busy_wait_all",
		"btrfs_issue_discard", "btrfs_discard_extent", "btrfs_discard_workfn", "f2fs_wait_discard_bio*",
		"__wait_one_discard_bio", "f2fs_issue_discard_timeout", "issue_discard_thread",
	}},
	// Where the compiler left no finer frame; ext4 has a worker do its discards.
	{cause: Discard, in: []string{"submit_bio_wait", "bio_await*"}, at: []string{"blkdev_common_ioctl", "blkdev_ioctl"}},
	{cause: Discard, in: []string{"__flush_work"}, at: []string{"ext4_should_retry_alloc"}},
}

// syncsTrees are where btrfs waits for its own trees' pages as if they were data.
var syncsTrees = []string{
	"btrfs_wait_extents", "btrfs_write_and_wait_transaction", "btrfs_wait_marked_extents", "__btrfs_wait_marked_extents",
	"btrfs_write_marked_extents", "write_all_supers",
	"wait_dev_supers", "btrfs_wait_tree_log_extents",
}

// writebackWaits wait until dirty pages are on the device.
var writebackWaits = []string{
	"folio_wait_writeback*", "wait_on_page_writeback*", "folio_wait_stable", "wait_for_stable_page", "folio_wait_private_2*",
	"__filemap_fdatawait_range", "filemap_fdatawait*", "filemap_write_and_wait*", "file_write_and_wait_range", "file_fdatawait_range",
	"btrfs_btree_wait_writeback_range",
}

// syncsDevice tells a superblock's sync of its device where the compiler left no
// frame of sync_blockdev: files are synced through other functions there.
func syncsDevice(s *site) bool {
	return someMatches([]string{"sync_filesystem", "__x64_sys_syncfs", "generic_shutdown_super", "freeze_super"}, s.frames) &&
		!someMatches([]string{"sync_inodes_sb", "do_writepages", "__writeback_single_inode", "*_evict_inode", "btrfs_*", "xfs_*"}, s.frames)
}

// waitsWriteback: waits for dirty data.
var waitsWriteback = table{
	{cause: JournalCommit, at: writebackWaits, under: []string{"btrfs_sync_log"}},
	{cause: MetadataWrite, at: writebackWaits, under: syncsTrees},
	// The page cache of a mounted device holds its file system's metadata; on closing an
	// unmounted one it is what the closing program wrote.
	{
		cause: MetadataWrite, at: writebackWaits, under: []string{"sync_blockdev*", "__sync_blockdev", "sync_bdevs", "fdatawait_one_bdev"},
		not: []string{"blkdev_put*", "__blkdev_put", "bdev_release", "blkdev_release"},
	},
	{cause: MetadataWrite, at: writebackWaits, under: []string{"filemap_write_and_wait*"}, when: syncsDevice},
	{cause: DataWriteback, at: writebackWaits},
	{cause: DataWriteback, at: []string{
		"sync_inodes_sb", "wb_wait_for_completion", "wait_sb_inodes", "inode_wait_for_writeback", "__inode_wait_for_writeback",
		"inode_sleep_on_writeback",
		"btrfs_wait_ordered_*", "btrfs_start_ordered_extent*", "btrfs_lock_and_flush_ordered_range",
		"btrfs_wait_on_delayed_iputs", "btrfs_wait_block_group_reservations",
		"xfs_flush_unmap_range", "xfs_flush_inodes", "f2fs_wait_on_page_writeback", "f2fs_folio_wait_writeback",
		"filemap_flush*", "__filemap_fdatawrite_range", "filemap_fdatawrite_wbc",
	}},
	{cause: DataWriteback, in: []string{"__flush_work"}, at: []string{"wb_shutdown", "bdi_unregister"}},
	// Out of space, XFS has a worker write back what will free some of it.
	{cause: DataWriteback, in: []string{"__flush_work"}, at: []string{"xfs_create", "xfs_file_buffered_write", "xfs_trans_alloc*"}},
}

// waitsDirect: O_DIRECT. The direction is in the callers, or else in the system call.
var waitsDirect = table{
	{cause: DirectRead, at: directFrames, when: directReads},
	{cause: DirectWrite, at: directFrames, when: directWrites},
}

// waitsPage: the page cache is read into, or one of its pages is locked.
var waitsPage = table{
	// Its lock's own frames are not always found; this function sleeps in nothing else.
	{cause: MmapLock, bare: true, at: []string{"lock_mm_and_find_vma"}},
	// These lock what they find; newer compilers leave no frame of the locking itself.
	{cause: PageLock, at: []string{"__filemap_get_folio*", "pagecache_get_page"}},
	{cause: PageLock, in: folioLocks, at: []string{
		"find_lock_*", "find_or_create_page", "grab_cache_page*", "*_write_begin", "iomap_get_folio", "__iomap_get_folio",
		"truncate_inode_pages*", "invalidate_inode_pages2*", "invalidate_mapping_*", "mapping_evict_folio",
		"truncate_inode_partial_folio", "truncate_pagecache*",
		"*_page_mkwrite", "mpage_prepare_extent_to_map", "write_cache_pages", "writeback_iter", "folio_prepare_writeback",
		"writeback_get_folio", "extent_write_cache_pages", "lock_extent_buffer_for_io",
		"do_shared_fault", "do_fault", "do_wp_page", "fault_dirty_shared_page", "do_page_mkwrite", "shmem_get_folio*",
		"shmem_undo_range", "btree_write_cache_pages", "__process_folios_contig", "lock_delalloc_folios",
		"find_lock_delalloc_range",
	}},
	// Directories, links and tables that a file system keeps in a page cache of their own.
	{cause: MetadataRead, at: readFrames, under: []string{"do_read_cache_folio", "do_read_cache_page", "read_cache_folio", "read_cache_page*"}},
	{cause: PageFaultRead, at: readFrames, under: faultFrames},
	{cause: PageCacheRead, at: readFrames},
	{cause: PageFaultRead, at: faultFrames},
	{cause: PageLock, at: []string{
		"migration_entry_wait*", "softleaf_entry_wait_on_locked", "__migration_entry_wait*", "pmd_migration_entry_wait",
		"migrate_pages*", "migrate_folio_unmap", "unmap_and_move",
	}},
	// A cached metadata buffer that someone else reads, writes or changes.
	{cause: PageLock, at: []string{"xfs_buf_lock", "xfs_buf_find_lock", "xfs_buf_find"}},
}

var faultFrames = []string{"filemap_fault", "__do_fault", "do_read_fault", "filemap_map_pages", "do_sync_mmap_readahead", "do_async_mmap_readahead", "*_filemap_fault"}

var readFrames = []string{
	"filemap_get_pages", "filemap_read", "filemap_update_page", "filemap_create_page", "filemap_create_folio",
	"filemap_read_page", "filemap_read_folio", "filemap_splice_read",
	"filemap_range_uptodate", "generic_file_buffered_read", "generic_file_buffered_read_*", "generic_file_read_iter",
	"do_generic_file_read", "buffered_read_get_pages",
	"page_cache_ra_*", "page_cache_sync_ra", "page_cache_async_ra", "page_cache_sync_readahead", "page_cache_async_readahead",
	"force_page_cache_*", "ondemand_readahead", "__do_page_cache_readahead", "do_page_cache_ra",
	"read_pages", "mpage_readahead", "mpage_readpages", "iomap_readahead", "ext4_mpage_readpages", "ext4_readahead",
	"*_file_read_iter", "*_file_splice_read", "generic_file_splice_read", "iomap_read_folio_sync", "iomap_write_begin",
	"__iomap_write_begin", "block_write_begin", "__block_write_begin*", "ext4_block_write_begin",
	"btrfs_do_readpage", "prepare_uptodate_page", "prepare_uptodate_folio", "prepare_one_folio", "prepare_pages",
}

// rests: what is left of waits without a finer answer.
var rests = table{
	{cause: PageLock, at: folioLocks, under: []string{"*"}},
	{cause: DataWriteback, at: []string{
		"vfs_fsync_range", "do_fsync", "ksys_sync", "__do_sys_sync", "do_sync", "ksys_sync_file_range", "__x64_sys_syncfs",
		"__do_sys_syncfs", "__do_sys_msync", "generic_write_sync", "sync_filesystem",
		"wb_workfn", "wb_do_writeback", "wb_writeback", "writeback_sb_inodes", "__writeback_single_inode",
		"writeback_single_inode", "do_writepages", "write_inode_now",
	}},
	{cause: MetadataRead, at: []string{"squashfs_*", "erofs_*", "z_erofs_*"}},
}
