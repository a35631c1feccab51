// SPDX-License-Identifier: Apache-2.0

package blame

// reclaimFrames free memory, or make room by moving it. Not "shrink_*": the
// dcache's shrink_dcache_parent and its like run in rmdir and umount.
var reclaimFrames = []string{
	"try_to_free_pages", "do_try_to_free_pages", "try_to_free_mem_cgroup_pages", "__perform_reclaim",
	"shrink_node*", "shrink_lruvec", "shrink_zone", "shrink_list", "shrink_inactive_list", "shrink_active_list",
	"shrink_folio_list", "shrink_page_list", "shrink_one", "shrink_many", "evict_folios", "shrink_slab*", "do_shrink_slab",
	"reclaim_throttle", "throttle_direct_reclaim", "congestion_wait", "wait_iff_congested",
	"reclaim_pages", "reclaim_folio_list", "reclaim_clean_pages_from_list", "node_reclaim", "__node_reclaim",
	"balance_pgdat", "shrink_all_memory", "too_many_isolated",
	"compact_zone", "try_to_compact_pages", "kcompactd_do_work",
	"mempool_alloc", "mempool_alloc_noprof", "mempool_alloc_bulk*",
	"out_of_memory", "mem_cgroup_out_of_memory", "mem_cgroup_oom_synchronize", "mem_cgroup_oom_unlock",
}

// overrides: an outer frame that makes what lies further in its detail.
var overrides = table{
	{cause: Reclaim, at: reclaimFrames},
	// A guest's thread whose page the host has paged out sleeps here until it is back.
	{cause: SwapIn, at: []string{"kvm_async_pf_task_wait*"}},
	{cause: SwapIn, at: []string{
		"do_swap_page", "swap_read_folio*", "swap_readpage", "swapin_readahead", "swap_cluster_readahead", "swap_vma_readahead",
		"swapin_folio", "swapin_no_readahead", "read_swap_cache_async", "__read_swap_cache_async",
		"shmem_swapin*", "try_to_unuse", "unuse_pte_range", "do_softleaf_swap",
	}},
	// Log space comes from checkpoints and commits; who needs the space waits for it, not for those.
	{cause: JournalSpace, at: []string{"__jbd2_log_wait_for_space", "__log_wait_for_space"}},
	// The thread works for the loop device: what it does to the backing file is
	// the loop device's service time.
	{cause: LoopDevice, when: kernelThread, at: []string{
		"loop_process_work", "loop_workfn", "loop_rootcg_workfn", "loop_queue_work", "loop_handle_cmd", "loop_kthread_worker_fn", "lo_rw_aio*",
	}},
	// With passthrough, FUSE hands the call to a file of another file system.
	{cause: FUSE, when: notInLock, at: []string{"fuse_*", "__fuse_*", "virtio_fs_*", "cuse_*"}, not: []string{"fuse_passthrough_*", "backing_file_*"}},
	{cause: NFS, when: notInLock, at: []string{"nfs_*", "__nfs_*", "nfs3_*", "nfs4_*", "_nfs4_*", "nlmclnt_*", "rpc_*", "__rpc_*"}},
	{cause: NetworkBlock, when: notInLock, at: []string{
		"netfs_*", "ceph_*", "__ceph_*", "cifs_*", "smb2_*", "SMB2_*", "smb_*", "compound_send_recv", "wait_for_response",
		"v9fs_*", "p9_*", "afs_*",
		"nbd_*", "rbd_*", "drbd_*", "_drbd_*", "iscsi_*", "nvme_tcp_*", "nvme_rdma_*",
	}},
}

func kernelThread(s *site) bool { return s.Kernel }

func notInLock(s *site) bool { return !s.sleepsInLock() }
