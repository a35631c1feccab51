// SPDX-License-Identifier: Apache-2.0

package kmod

// Functions are those that the module probes if asked to, beside io_schedule and
// io_schedule_timeout, which it always does. Others it refuses.
func Functions() []string {
	return []string{
		"bit_wait_io", "wait_for_completion_io", "wait_for_completion_io_timeout", "mutex_lock_io",
		"blkcg_maybe_throttle_current", "io_cqring_wait", "jbd2_log_wait_commit", "wait_transaction_locked",
		"wb_wait_for_completion", "inode_wait_for_writeback", "inode_dio_wait", "reclaim_throttle",
		"rwsem_down_read_slowpath", "rwsem_down_write_slowpath", "__mutex_lock_slowpath", "percpu_rwsem_wait",
		"blk_queue_enter", "__bio_queue_enter", "rpc_wait_bit_killable", "nfs_wait_bit_killable", "request_wait_answer",
		"xlog_wait_on_iclog", "xlog_grant_head_wait", "xfs_buf_iowait",
	}
}
