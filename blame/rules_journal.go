// SPDX-License-Identifier: Apache-2.0

package blame

// waitsJournal: journals and logs. What a commit itself waits for stands further
// in and decides first: data, flushes, metadata.
var waitsJournal = table{
	{cause: JournalCommit, at: []string{
		"jbd2_log_wait_commit", "log_wait_commit", "jbd2_complete_transaction", "jbd2_trans_will_send_data_barrier",
		"__jbd2_journal_force_commit", "jbd2_journal_force_commit*",
		"ext4_fc_commit", "ext4_fc_wait_committing_inode", "ext4_fc_perform_commit", "ext4_fc_submit_bh", "jbd2_fc_begin_commit", "jbd2_fc_wait_bufs",
		"journal_wait_on_commit_record", "journal_submit_commit_record", "jbd2_write_superblock",
		"jbd2_journal_update_sb_log_tail", "jbd2_journal_destroy",
	}},
	// The handles that are still open keep the commit waiting.
	{cause: JournalLocked, at: []string{
		"wait_transaction_locked", "wait_transaction_switching", "jbd2_journal_lock_updates", "jbd2_journal_wait_updates",
		"start_this_handle", "do_get_write_access", "jbd2_journal_get_undo_access", "jbd2_journal_try_to_free_buffers",
		"ext4_fc_track_*", "ext4_fc_del",
	}},
	{cause: JournalSpace, at: []string{"add_transaction_credits", "wait_log_space", "jbd2_log_wait_for_space"}},
	{cause: MetadataWrite, at: []string{"jbd2_log_do_checkpoint", "__flush_batch", "jbd2_journal_flush"}},
	{cause: JournalCommit, at: []string{"jbd2_journal_commit_transaction"}},

	{cause: JournalSpace, at: []string{"xlog_grant_head_wait", "xlog_grant_head_check", "xfs_log_reserve", "xlog_cil_push_background"}},
	{cause: LogForce, at: []string{
		"xlog_wait", "xlog_wait_on_iclog*", "xfs_log_force*", "_xfs_log_force*", "__xfs_log_force*", "xlog_cil_force*",
		"xlog_cil_push*", "xlog_cil_order_write", "xlog_state_get_iclog_space", "xlog_force_*", "xlog_sync", "xlog_write*",
		"xfs_buf_wait_unpin", "__xfs_iunpin_wait", "xfs_iunpin_wait", "xfs_log_quiesce", "xfs_extent_busy_flush",
		"xlog_wait_iclog_completion", "xfs_log_unmount_write",
	}},
	// Mounting: the log is searched for its end, and replayed.
	{cause: MetadataRead, at: []string{"xlog_do_io", "xlog_bio_iowait"}, under: []string{"xlog_bread*"}},
	{cause: MetadataWrite, at: []string{"xfs_ail_push_all_sync", "xlog_do_io"}},

	{cause: JournalLocked, at: []string{
		"wait_current_trans", "start_transaction", "btrfs_start_transaction*", "btrfs_join_transaction*", "join_transaction",
	}},
	{cause: JournalSpace, at: []string{
		"wait_reserve_ticket", "handle_reserve_ticket", "__reserve_bytes", "btrfs_reserve_metadata_bytes",
		"btrfs_reserve_data_bytes", "btrfs_async_reclaim_*", "do_async_reclaim_*", "flush_space",
	}},
	{cause: JournalCommit, at: []string{
		"btrfs_sync_log", "wait_log_commit", "wait_for_writer", "btrfs_wait_for_commit", "btrfs_commit_transaction*",
		"wait_for_commit", "btrfs_attach_transaction_barrier", "btrfs_end_transaction", "__btrfs_end_transaction",
		"btrfs_log_inode_parent",
	}},

	{cause: JournalCommit, at: []string{"f2fs_issue_checkpoint", "f2fs_write_checkpoint", "issue_checkpoint_thread"}},
	{cause: JournalSpace, at: []string{"bch2_journal_res_get_slowpath", "__bch2_journal_res_get"}},
	{cause: JournalCommit, at: []string{"bch2_journal_flush*", "bch2_journal_meta"}},

	{cause: DirtyThrottle, at: []string{"dmu_tx_delay", "dmu_tx_wait"}},
	{cause: JournalSpace, at: []string{"txg_wait_open"}},
	{cause: JournalCommit, at: []string{"zil_commit", "zil_commit_*", "txg_wait_synced*"}},
}
