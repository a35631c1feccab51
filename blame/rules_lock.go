// SPDX-License-Identifier: Apache-2.0

package blame

// percpuSleepers are those of per-CPU semaphores: a superblock's freeze
// protection is one, so is the cgroups' fork lock.
var percpuSleepers = []string{"percpu_rwsem_wait", "__percpu_down_read*", "percpu_down_write"}

// locks: whose lock a thread sleeps in. The frame nearest to the lock tells: with
// an inode's lock taken in a page fault it is the inode's, not the memory map's.
var locks = table{
	// ext4 keeps writers of an inode's journal mode out of writeback with a per-CPU semaphore of its own.
	{cause: InodeLock, in: percpuSleepers, at: []string{
		"ext4_writepages*", "ext4_do_writepages", "ext4_change_inode_journal_flag", "ext4_ind_migrate", "ext4_ext_migrate",
		"ext4_normal_submit_inode_data_buffers",
	}},
	{cause: NotStorage, in: percpuSleepers, at: []string{
		"cgroup_*", "__cgroup_*", "copy_process", "exit_signals", "do_exit", "begin_new_exec", "de_thread", "cpus_read_lock", "cpus_write_lock",
		"bpf_*", "uprobe_*", "namespace_*",
	}},
	{cause: FSFrozen, in: percpuSleepers, at: []string{
		"sb_start_*", "__sb_start_write", "sb_wait_write", "file_start_write*", "mnt_want_write*", "__mnt_want_write*",
		"freeze_super", "vfs_*", "do_*", "__do_*", "__x64_sys_*", "ksys_*", "path_openat", "open_last_lookups", "iter_file_splice_write",
		"aio_write", "io_write", "io_*", "*_page_mkwrite", "*_evict_inode", "xfs_trans_alloc*", "xfs_*", "btrfs_*",
		"start_transaction", "ext4_*", "f2fs_*", "loop_*", "ovl_*",
		"touch_atime", "__ext4_*", "*_write_iter",
	}},

	{cause: JournalSpace, at: []string{
		"jbd2_log_do_checkpoint", "jbd2_cleanup_journal_tail", "jbd2_update_log_tail", "__jbd2_update_log_tail",
		"xlog_grant_head_*", "xfs_log_reserve",
	}},
	{cause: JournalLocked, at: []string{"jbd2_*", "__jbd2_*", "start_this_handle", "do_get_write_access", "add_transaction_credits"}},
	{cause: LogForce, at: []string{"xlog_*", "xfs_log_*"}},
	{cause: JournalCommit, at: []string{"btrfs_sync_log", "btrfs_commit_transaction", "btrfs_run_delayed_refs", "ext4_fc_commit"}},
	// The lock of one block of btrfs' trees, held while that block is read or changed:
	// a lock on a cached block, as a page lock is. No inode has a part in it.
	{cause: PageLock, at: []string{
		"btrfs_tree_lock*", "btrfs_tree_read_lock*", "__btrfs_tree_lock", "__btrfs_tree_read_lock", "btrfs_lock_root_node",
		"btrfs_read_lock_root_node", "btrfs_try_lock_root_node",
	}},
	{cause: LoopDevice, at: []string{"lo_*", "loop_*", "__loop_*"}},
	{cause: DeviceMapper, at: []string{"dm_*", "__dm_*", "dmcrypt_*", "kcryptd_*", "crypt_*"}},
	{cause: Raid, at: raidFrames},

	{cause: MmapLock, at: []string{
		"mmap_read_lock*", "mmap_write_lock*", "lock_mm_and_find_vma", "lock_vma_under_rcu", "vma_start_write",
		"__vma_start_write", "vma_start_read*",
		"do_user_addr_fault", "__do_page_fault", "do_page_fault", "exc_page_fault", "do_mem_abort", "fixup_user_fault",
		"vm_mmap_pgoff", "ksys_mmap_pgoff", "vm_munmap", "__vm_munmap", "vm_brk_flags", "do_mprotect_pkey", "mprotect_fixup",
		"__do_sys_brk", "__x64_sys_brk", "__se_sys_brk", "__do_sys_mremap", "__do_sys_munmap", "__x64_sys_munmap",
		"__x64_sys_mremap", "__do_sys_remap_file_pages",
		"do_madvise", "madvise_*", "do_mlock", "__do_sys_mlockall", "__do_sys_munlockall", "apply_mlockall_flags",
		"__do_sys_msync", "__x64_sys_msync", "do_mincore", "__do_sys_mincore",
		"__mm_populate", "populate_vma_page_range", "get_user_pages*", "__get_user_pages*", "__gup_longterm_locked", "gup_*",
		"internal_get_user_pages_fast", "pin_user_pages*",
		"dup_mm", "dup_mmap", "do_exit", "exit_mm", "exit_mmap", "mmput", "__mmput", "exec_mmap", "setup_arg_pages", "begin_new_exec", "mm_release",
		"m_start", "proc_pid_cmdline_read", "get_mm_cmdline", "access_remote_vm", "__access_remote_vm", "pagemap_read",
		"smaps_*", "show_smap*", "clear_refs_write", "get_cmdline",
		"khugepaged*", "collapse_huge_page", "hpage_collapse_*", "collapse_*", "task_numa_work", "do_move_pages*",
		"do_migrate_pages", "ksm_*", "userfaultfd_*", "mfill_atomic*",
		"futex_*", "get_futex_key", "bpf_find_vma", "__bpf_get_stack", "stack_map_get_build_id_offset",
		// The locks of reverse maps, taken to change or walk what maps a page.
		"unlink_file_vma*", "vma_link*", "vma_prepare", "__vma_adjust", "free_pgtables", "unlink_anon_vmas", "anon_vma_clone",
		"anon_vma_fork", "__anon_vma_prepare",
		"rmap_walk*", "rmap_walk_anon", "rmap_walk_file", "unmap_mapping_*", "try_to_migrate", "try_to_unmap",
		"folio_lock_anon_vma_read", "page_lock_anon_vma_read", "i_mmap_lock_*",
	}},

	{cause: InodeLock, at: inodeLockFrames},
	{cause: NotStorage, at: []string{
		"rtnl_lock*", "rtnetlink_*", "dev_ioctl", "netdev_*", "genl_*", "genl_rcv", "inet_*", "tcp_*", "unix_*", "netlink_*",
		"cgroup_*", "__cgroup_*", "cpuset_*", "cpu_hotplug_*", "cpus_read_lock", "_cpu_down", "_cpu_up", "stop_cpus", "perf_*",
		"__do_sys_perf_event_open",
		"tty_*", "n_tty_*", "pty_*", "console_*", "drm_*", "amdgpu_*", "i915_*", "kernfs_*", "device_*", "__device_*",
		"driver_*", "usb_*", "hub_*", "acpi_*",
		"synchronize_rcu*", "synchronize_srcu*", "__synchronize_srcu", "rcu_barrier", "pipe_*", "fifo_open", "ep_*",
		"do_epoll_*", "eventpoll_*", "kvm_*", "proc_*", "seq_read*",
		"ftrace_*", "tracing_*", "bpf_*", "__sys_bpf", "jump_label_*", "static_key_*", "text_poke*", "module_*", "load_module",
		"crypto_*", "snd_*", "alloc_pid", "copy_process",
		"__x64_sys_setns", "uts_proc_notify",
	}},
}

// inodeLockFrames are functions that take the lock of an inode, a directory, an
// inode's range or page cache, or a superblock.
var inodeLockFrames = []string{
	"inode_lock*", "lock_two_*", "lock_rename*", "inode_dio_wait", "filename_create", "filename_unlinkat", "filename_rmdir", "filename_renameat2",
	"start_creating*", "start_removing*", "start_dirop", "__start_dirop", "start_renaming*", "__start_renaming*",
	"walk_component", "link_path_walk*", "path_openat", "open_last_lookups", "do_last", "do_unlinkat", "do_rmdir",
	"do_renameat2", "do_mkdirat", "do_linkat", "do_mknodat", "do_symlinkat", "lookup_slow", "__lookup_slow", "lookup_one_*",
	"vfs_unlink", "vfs_rmdir", "vfs_rename", "vfs_link", "vfs_mkdir", "vfs_setxattr", "vfs_removexattr", "vfs_getxattr",
	"setxattr", "removexattr", "chmod_common", "chown_common", "vfs_utimes", "utimes_common", "do_truncate", "vfs_fallocate",
	"iterate_dir", "wrap_directory_iterator", "generic_file_write_iter", "__generic_file_write_iter", "generic_file_llseek*",
	"vfs_fsync_range", "vfs_clone_file_range", "vfs_dedupe_file_range*",
	"page_cache_ra_*", "page_cache_sync_ra", "page_cache_async_ra", "force_page_cache_*", "filemap_*", "truncate_*",
	"generic_fadvise", "__break_lease", "swapon", "__do_sys_swapon", "__x64_sys_swapon",
	"blkdev_*", "bdev_*", "__blkdev_get", "bd_*", "disk_*", "sync_bdevs", "iterate_supers", "iterate_bdevs", "grab_super*",
	"deactivate_super", "super_lock*", "sync_inodes_sb", "wb_*", "writeback_*", "__writeback_*", "try_to_writeback_inodes_sb",
	"vfs_get_tree", "do_mount", "path_mount", "do_umount", "attach_recursive_mnt", "do_new_mount",
	"iomap_*", "ext2_*", "ext4_*", "__ext4_*", "xfs_*", "btrfs_*", "__btrfs_*", "f2fs_*", "__f2fs_*", "fat_*", "ovl_*",
	"ocfs2_*", "gfs2_*", "bch2_*", "__bch2_*", "zfs_*", "zpl_*", "fuse_*", "nfs_*", "nfs4_*", "cifs_*", "ceph_*", "squashfs_*",
	"erofs_*", "hugetlbfs_*", "shmem_*", "dquot_*", "jfs_*", "reiserfs_*", "udf_*", "isofs_*", "nfsd_*", "nfsd4_*",
}

// waitsLock: what is a lock in effect, but not a mutex or a semaphore.
var waitsLock = table{
	// Truncation and the like wait for direct I/O that is in flight, and keep it out.
	{cause: InodeLock, at: []string{"inode_dio_wait*", "__inode_dio_wait"}},
	{cause: InodeLock, at: []string{
		"d_alloc_parallel", "d_wait_lookup", "__wait_on_freeing_inode", "find_inode", "find_inode_fast", "wait_on_inode",
		"wait_on_new_inode", "xfs_break_dax_layouts", "xfs_icwalk*", "xfs_inodegc_flush",
	}},
	{cause: MmapLock, at: []string{"__vma_start_write", "__vma_enter_locked", "vma_start_write", "vma_mark_detached", "__vma_exclude_readers*"}},
	// btrfs locks ranges of a file, and keeps snapshots and nocow writers apart.
	{cause: InodeLock, at: []string{"wait_extent_bit", "lock_extent*", "__lock_extent*", "btrfs_lock_extent*", "btrfs_drew_*"}},
	{cause: FSFrozen, at: []string{"super_lock*", "freeze_super", "thaw_super", "wait_for_partially_frozen", "sb_wait_write", "__sb_start_write"}},
}
