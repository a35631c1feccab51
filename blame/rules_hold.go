// SPDX-License-Identifier: Apache-2.0

package blame

// otherCPUs are waits for other CPUs to pass a point, or for a new thread to start.
var otherCPUs = []string{
	"synchronize_rcu*", "synchronize_srcu*", "__synchronize_srcu*", "synchronize_net", "__wait_rcu_gp", "rcu_barrier*", "rcu_exp_*",
	"__kthread_create_on_node", "kthread_create_on_node", "kthread_park", "lru_add_drain_all", "__lru_add_drain_all",
}

// holds: what keeps a thread back whatever it was doing.
var holds = table{
	{cause: RequestTag, at: []string{
		"blk_mq_get_tag", "__blk_mq_get_tag", "bt_get", "get_request", "get_request_wait",
	}},
	{cause: QoSThrottle, at: []string{
		"rq_qos_wait", "__rq_qos_throttle", "wbt_wait", "__wbt_wait", "ioc_rqos_throttle",
		"blkcg_iolatency_throttle", "__blkcg_iolatency_throttle",
	}},
	// blk_mq_quiesce_* wait out the dispatches that run while a queue is being stopped.
	{cause: QueueFrozen, at: []string{
		"__bio_queue_enter", "bio_queue_enter", "blk_queue_enter", "__blk_mq_freeze_queue*",
		"blk_mq_freeze_queue*", "blk_freeze_queue*", "blk_mq_quiesce_queue", "blk_mq_quiesce_tagset", "blk_mq_wait_quiesce_done",
	}},
	{cause: QueueFrozen, at: otherCPUs, under: []string{
		"blk_mq_quiesce_queue", "blk_mq_quiesce_tagset", "blk_mq_wait_quiesce_done", "elevator_switch", "elevator_change",
		"blk_mq_update_nr_requests", "queue_wb_lat_store", "wbt_set_lat",
	}},
	{cause: FSFrozen, at: otherCPUs, under: []string{"freeze_super", "thaw_super"}},
	{cause: NotStorage, at: otherCPUs},
	{cause: CgroupThrottle, at: []string{"blkcg_maybe_throttle_current", "blkcg_maybe_throttle_blkg"}},
	// memory.high: asleep in it, rather than reclaiming beneath it.
	{cause: CgroupThrottle, bare: true, at: []string{"mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high"}},
	{cause: DirtyThrottle, at: []string{"balance_dirty_pages", "balance_dirty_pages_ratelimited*"}},
	// The server or the daemon is what is late, even if reclaim is what asked it.
	{cause: NFS, at: []string{"rpc_wait_bit_killable", "nfs_wait_bit_killable", "nfs_wait_bit_uninterruptible", "nfs_wait_on_request"}},
	{cause: FUSE, at: []string{
		"request_wait_answer", "fuse_get_req", "__fuse_get_req", "fuse_wait_on_page_writeback", "fuse_wait_on_folio_writeback",
	}},
}
