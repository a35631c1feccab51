// SPDX-License-Identifier: Apache-2.0

package blame

// waitsMetadata: blocks that hold a file system's structure.
var waitsMetadata = table{
	{cause: MetadataWrite, at: []string{
		"__sync_dirty_buffer", "sync_dirty_buffer", "write_dirty_buffer", "sync_mapping_buffers", "mmb_sync",
		"fsync_buffers_list", "osync_buffers_list", "ext4_commit_super", "write_boundary_block",
		"xfs_bwrite", "xfs_buf_delwri_submit", "xfs_buf_delwri_submit_buffers", "xfs_buf_delwri_pushbuf", "xfs_sync_sb*",
		"wait_on_extent_buffer_writeback", "btrfs_wait_extents", "btrfs_wait_tree_log_extents",
		"btrfs_write_and_wait_transaction", "write_all_supers", "wait_dev_supers", "write_dev_supers",
		"f2fs_wait_on_node_pages_writeback", "f2fs_fsync_node_pages", "f2fs_sync_node_pages", "f2fs_wait_on_all_pages", "f2fs_sync_meta_pages",
	}},
	{cause: MetadataWrite, in: bitWaits, at: []string{
		"ext4_write_inode", "ext4_sync_parent", "ext4_handle_dirty_super", "ext4_update_super", "block_write_full_folio",
		"__block_write_full_folio", "__block_write_full_page", "generic_buffers_fsync*",
		"__generic_file_fsync", "fat_sync_bhs", "fat_mirror_bhs", "ext2_sync_super", "ext2_write_inode", "__fat_write_inode",
		"exfat_update_bhs", "try_to_free_buffers", "flush_descriptor", "kmmpd", "write_mmp_block",
	}},
	// A buffer that is locked while it is written, or worked on, and is now to be forgotten.
	{cause: PageLock, in: bitWaits, at: []string{
		"__ext4_forget", "jbd2_journal_forget", "__bforget", "bforget", "jbd2_journal_invalidate_folio",
		"jbd2_journal_unmap_buffer", "block_invalidate_folio", "discard_buffer", "__unmap_underlying_metadata",
		"clean_bdev_aliases",
	}},
	// XFS splits a tree in a worker, for want of stack: what that waits for cannot be seen here.
	{cause: Unknown, at: []string{"xfs_btree_split"}},
	// XFS' and btrfs' buffers.
	{cause: MetadataRead, at: []string{
		"xfs_buf_read", "xfs_buf_read_map", "_xfs_buf_read", "xfs_buf_read_uncached", "xfs_trans_read_buf_map",
		"xfs_buf_reverify", "xfs_buf_iowait_read",
		"read_extent_buffer_pages*", "btrfs_read_extent_buffer", "btree_read_extent_buffer_pages", "read_tree_block",
		"read_block_for_search", "btrfs_read_node_slot", "btrfs_read_dev_super", "btrfs_read_disk_super",
		"btrfs_read_dev_one_super", "load_free_space_cache", "io_ctl_prepare_pages",
		"btrfs_caching_ctl_wait_done", "btrfs_wait_block_group_cache_progress", "btrfs_wait_block_group_cache_done",
		"btrfs_cache_block_group", "caching_thread",
	}},
	{cause: MetadataRead, at: []string{
		"squashfs_read_metadata", "squashfs_read_table", "squashfs_cache_get", "squashfs_fill_super", "erofs_bread", "erofs_read_metabuf",
		"do_read_cache_folio", "do_read_cache_page", "read_cache_folio", "read_cache_page", "read_mapping_*", "read_part_sector",
		"__bread_gfp", "__bread_slow", "__bread", "bh_submit_read", "__bh_read", "__bh_read_batch", "bh_read",
		"f2fs_get_node_page", "__get_node_page", "__get_node_folio", "f2fs_get_node_folio", "f2fs_get_inode_folio",
		"f2fs_get_meta_*", "__get_meta_*", "f2fs_get_read_data_*", "f2fs_find_data_*", "f2fs_get_lock_data_*",
		"bch2_btree_node_get", "bch2_btree_node_read", "bch2_btree_node_fill", "dbuf_read", "dmu_buf_hold*", "dnode_hold_impl",
	}},
	// The buffer heads of a file system that are not being written, above, are being read.
	{cause: MetadataRead, in: bitWaits, at: []string{
		"ext4_*", "__ext4_*", "ext2_*", "ext3_*", "fat_*", "__fat_*", "vfat_*", "msdos_*", "exfat_*", "isofs_*", "udf_*",
		"ntfs_*", "minix_*", "ufs_*", "hfs_*", "hfsplus_*", "jfs_*", "reiserfs_*", "ocfs2_*", "gfs2_*", "affs_*", "befs_*",
		"nilfs_*", "romfs_*", "bdev_*", "jbd2_journal_load", "jread", "do_one_pass",
		"read_extent_tree_block", "__read_extent_tree_block", "search_dir", "dx_probe", "do_split", "add_dirent_to_buf",
		"htree_dirblock_to_tree", "empty_inline_dir", "dx_search_dir", "read_block_bitmap*",
		"__getblk_slow", "dquot_*", "v2_*", "qtree_*", "read_blk", "find_tree_dqentry",
	}},
	{cause: MetadataRead, in: pageWaits, at: []string{
		"ext2_*", "ufs_*", "minix_*", "nilfs_*", "sysv_*", "ext4_mb_*", "erofs_*", "ntfs_*", "page_get_link*",
		"page_follow_link_light", "read_swap_header", "__do_sys_swapon", "__x64_sys_swapon",
	}},
}
