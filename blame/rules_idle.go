// SPDX-License-Identifier: Apache-2.0

package blame

// idles: known waits that have no I/O behind them. They are asked last, and the
// wider ones only for sleeps that the kernel does not flag and that have nothing
// of storage in the stack: an unknown wait shall stay unknown.
var idles = table{
	// Only the parent of a vfork sleeps in kernel_clone itself.
	{cause: NotStorage, at: []string{"wait_for_vfork_done"}},
	{cause: NotStorage, bare: true, at: []string{"kernel_clone", "_do_fork", "do_fork"}},
	{cause: NotStorage, bare: true, at: []string{"vfs_coredump", "do_coredump", "handle_userfault", "jbd2_journal_load"}},
	{cause: NotStorage, at: []string{"kthread_stop"}, under: []string{"destroy_workqueue"}},
	// Kernel threads between two pieces of work.
	{cause: NotStorage, bare: true, at: []string{
		"worker_thread", "kthread", "kthreadd", "kthread_worker_fn", "rescuer_thread", "smpboot_thread_fn", "rcu_gp_kthread",
		"rcu_gp_fqs_loop", "rcu_tasks_*", "rcu_nocb_*", "khugepaged*", "kcompactd", "kswapd", "kswapd_try_to_sleep",
		"oom_reaper", "kauditd_thread",
		"xfsaild", "kjournald2", "transaction_kthread", "cleaner_kthread", "md_thread", "loop_thread", "dmcrypt_write",
		"scsi_error_handler", "jfs_lazycommit", "jfs_sync", "nfsd", "svc_recv", "lockd", "hub_thread", "watchdog",
		"ksm_scan_thread", "damon_*", "kdamond_*",
	}},
	{cause: NotStorage, when: nothingOfStorage, at: []string{
		"msleep*", "usleep_range*", "ssleep", "schedule_timeout_uninterruptible", "kvfree_rcu_barrier*",
		"cpuhp_*", "__cpuhp_*", "_cpu_down", "_cpu_up", "takedown_cpu", "stop_machine*", "stop_one_cpu", "stop_two_cpus",
		"stop_cpus", "smp_call_on_cpu", "wait_task_inactive", "wait_rcu_exp_gp", "migration_cpu_stop", "affine_move_task",
		"__set_cpus_allowed_ptr*",
		"kthread_stop*", "kthread_flush_work*", "__flush_work", "flush_work", "__flush_workqueue", "flush_workqueue",
		"drain_workqueue", "__cancel_work_sync", "__cancel_work_timer", "call_usermodehelper_exec", "async_synchronize_*",
		"coredump_wait", "coredump_task_exit", "ptrace_attach", "ptrace_stop", "ptrace_check_attach", "ptrace_freeze_traced", "do_freezer_trap",
		"__refrigerator", "zap_pid_ns_processes", "zap_threads", "wait_for_completion_killable*",
		"futex_*", "do_wait", "do_sigtimedwait", "do_nanosleep", "hrtimer_nanosleep", "pipe_*", "fifo_open", "ep_poll",
		"do_sys_poll", "unix_*", "tty_*", "n_tty_*", "audit_*", "signalfd_*",
		"wait_for_device_probe", "driver_*", "__driver_*", "really_probe", "device_*", "__device_*", "devtmpfs_*", "devtmpfsd",
		"_request_firmware", "firmware_*", "usb_*", "hub_*", "i2c_*", "acpi_*", "tpm_*", "hwrng_*", "rng_*", "virtnet_*",
		"virtio_gpu_*", "balloon_*", "virtballoon_*", "xenbus_*", "mei_*", "ata_eh_*", "pci_*", "pcie_*", "pm_*", "rpm_*",
		"rfkill_*", "iwl_*", "ath*",
		"drm_*", "dma_fence_*", "amdgpu_*", "i915_*", "nouveau_*", "nvidia_*", "_nv*", "nv_*", "snd_*", "v4l2_*", "vhost_*",
		"kvm_*", "bpf_*", "ftrace_*", "module_*", "load_module", "idempotent_*", "crypto_*", "netdev_*", "napi_*", "dev_*",
		"rtnl_*", "tcp_*", "inet_*", "lock_sock*", "__lock_sock", "sk_*", "netlink_*", "perf_*", "cgroup_*", "cgroup1_*",
		"css_*",
	}},
}

// ofStorage are frames under which a wait may well be for I/O.
var ofStorage = []string{
	"submit_bio*", "blk_*", "__blk_*", "blkdev_*", "bdev_*", "bio_*", "nvme_*", "scsi_*", "sd_*", "ata_*", "mmc_*", "virtblk_*", "md_*", "dm_*",
	"*_read_iter", "*_write_iter", "filemap_*", "folio_*", "do_writepages", "writeback_*", "vfs_fsync_range", "iomap_*", "sync_*", "generic_file_*",
	"ext4_*", "xfs_*", "btrfs_*", "f2fs_*", "jbd2_*", "xlog_*", "nfs_*", "fuse_*", "zfs_*", "zio_*", "ceph_*", "cifs_*",
	"do_swap_page", "handle_mm_fault", "io_schedule*",
}

func nothingOfStorage(s *site) bool { return !s.Flagged && !someMatches(ofStorage, s.frames) }
