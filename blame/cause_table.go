// SPDX-License-Identifier: Apache-2.0

package blame

// about is all that is told of a cause.
type about struct {
	id      string
	title   string // a noun phrase: it stands in "X in read" and in "fsync's X"
	explain string
	next    string
	aka     string // other words for it, for whoever mistypes an id
	alone   bool   // the system call adds nothing to the title
}

// causes describes each cause once.
var causes = [causeCount]about{
	PageCacheRead: {
		id: "page_cache_read", title: "page cache read miss", aka: "buffered cached miss readahead",
		explain: "A buffered read, or readahead for one, waits until the data is in the page cache.",
		next:    "See which files with --by file; more memory, a warmer cache, larger readahead (blockdev --setra, posix_fadvise) or a faster device help.",
	},
	PageFaultRead: {
		id: "page_fault_read", title: "page fault read", aka: "mmap mapped major fault exec",
		explain: "A thread touched a page of a mapped file or program that has to be read from the device first.",
		next:    "See which files with --by file; if programs and libraries are among them, memory is short: check /proc/pressure/memory and the cgroup's memory.max.",
	},
	DirectRead: {
		id: "direct_read", title: "direct read", aka: "odirect o_direct dio",
		explain: "An O_DIRECT read waits for the device; no cache is in between.",
		next:    "Compare with the device's own latency in iostat -x (r_await, aqu-sz); more reads in flight (io_uring, threads) hide latency, a cache avoids it.",
	},
	DirectWrite: {
		id: "direct_write", title: "direct write", aka: "odirect o_direct dio",
		explain: "An O_DIRECT write waits for the device.",
		next:    "Compare with the device's own latency in iostat -x (w_await, aqu-sz); look for other writers on it with --by process and --by device.",
	},
	MetadataRead: {
		id: "metadata_read", title: "metadata read", aka: "inode directory bitmap extent btree dentry",
		explain: "Blocks of the file system itself (inodes, directories, bitmaps, extent or B-trees) are read in.",
		next:    "See which directories with --by file; a larger dentry and inode cache (lower vm.vfs_cache_pressure), fewer or smaller directories, or relatime instead of atime help.",
	},
	MetadataWrite: {
		id: "metadata_write", title: "metadata write", aka: "superblock inode",
		explain: "The thread waits until blocks of the file system itself (inodes, superblock, trees) are on the device.",
		next:    "Look at --stacks for what asks for it: dirsync or sync mounts, fsync without a journal, or umount; fdatasync leaves out the inode where only data changed.",
	},
	DataWriteback: {
		id: "data_writeback", title: "data writeback", aka: "fsync sync dirty osync o_sync msync writeback",
		explain: "The thread waits until dirty data is on the device: fsync, O_SYNC, sync(2), or a page that is being written and may not change meanwhile.",
		next:    "See which files with --by file; write less between syncs, or start earlier with sync_file_range or a lower vm.dirty_background_bytes; if the device is idle, look at io.max or blkio.throttle.* of the cgroup.",
	},
	DeviceFlush: {
		id: "device_flush", title: "device flush", aka: "fsync barrier cache fua preflush",
		explain: "The device was told to empty its volatile write cache, and that takes this long.",
		next:    "Count the callers with --by process; batch commits, or use a device with power-loss protection: /sys/block/DEV/queue/write_cache tells whether it has a volatile cache.",
	},
	Discard: {
		id: "discard", title: "discard", aka: "trim fstrim unmap zeroout",
		explain: "Freed blocks are discarded (TRIM) or zeroed, and the thread waits for it.",
		next:    "Mount without discard and run fstrim (fstrim.timer) at quiet hours; /sys/block/DEV/queue/discard_max_bytes limits the size of one discard.",
	},
	JournalCommit: {
		id: "journal_commit", title: "journal commit", aka: "fsync jbd2 transaction zil",
		explain: "The thread waits until the transaction that holds its change is committed, with all that others put into it.",
		next:    "Look for who else writes to the file system with --by process; see what the commit itself waits for with --comm jbd2; /proc/fs/jbd2/DEV/info has its averages.",
	},
	JournalSpace: {
		id: "journal_space", title: "wait for journal space", aka: "jbd2 log full checkpoint reservation ticket",
		explain: "The journal or log, or the space set aside for it, is full; older entries must be written to their place first.",
		next:    "Make the journal larger (tune2fs -J size=, mkfs.xfs -l size=), or find the metadata-heavy writers with --by process; on btrfs see btrfs filesystem usage.",
	},
	JournalLocked: {
		id: "journal_locked", title: "locked journal transaction", aka: "jbd2 handle transaction",
		explain: "The running transaction is being closed, or a block is part of the one being written; a new change has to wait.",
		next:    "Some other thread holds a handle open: find the longest wait of the same moment with --by thread --stacks; commits that are slow themselves show with --comm jbd2.",
	},
	LogForce: {
		id: "log_force", title: "XFS log force", aka: "fsync xfs xlog iclog pin",
		explain: "XFS writes its log to the device, and the thread waits for it, or for an item that is pinned until then.",
		next:    "Look for who syncs with --by process --cause log_force; a larger log buffer (mount -o logbsize=256k) or a log on a faster device (logdev) helps.",
	},
	DirtyThrottle: {
		id: "dirty_throttle", title: "dirty page throttling", aka: "balance_dirty_pages dirty_ratio",
		explain: "The writer made pages dirty faster than the device takes them and is put to sleep by the kernel to let it catch up.",
		next:    "Check Dirty and Writeback in /proc/meminfo, vm.dirty_bytes or vm.dirty_ratio, and the cgroup's memory.max; find the heaviest writer with --by process.",
	},
	CgroupThrottle: {
		id: "cgroup_throttle", title: "cgroup throttling", aka: "iolatency iocost memory.high limit",
		explain: "A control group over its I/O latency or cost target, or over memory.high, is delayed on purpose.",
		next:    "See which with --by cgroup; read its io.latency, io.weight, io.stat (delay_nsec), memory.high and memory.events.",
	},
	QoSThrottle: {
		id: "qos_throttle", title: "block QoS throttling", aka: "wbt iocost iolatency writeback throttling rq_qos",
		explain: "Writeback throttling, iocost or iolatency holds the request back to protect others' latency.",
		next:    "See /sys/block/DEV/queue/wbt_lat_usec (0 turns wbt off) and the cgroup's io.cost.qos, io.latency; a device that is slow at reads makes it stricter.",
	},
	RequestTag: {
		id: "request_tag", title: "full device queue", aka: "tag nr_requests queue_depth",
		explain: "All request slots of the device are in use; a slot must come free before the request can even be queued.",
		next:    "Find who fills the queue with --by process --by device; compare /sys/block/DEV/inflight with queue/nr_requests and device/queue_depth.",
	},
	QueueFrozen: {
		id: "queue_frozen", title: "frozen device queue", aka: "freeze quiesce scheduler",
		explain: "The device's queue is stopped for a change (I/O scheduler, limits, a reset, suspend), or someone waits to stop it.",
		next:    "Look in dmesg for resets, and for who changes /sys/block/DEV/queue/* (udev rules, tuned); --stacks shows the thread that does the freezing.",
	},
	SwapIn: {
		id: "swap_in", title: "swap-in", aka: "swap paging zram",
		explain: "Memory that was swapped out is read back.",
		next:    "Memory is short: see --by cgroup, memory.swap.current, /proc/pressure/memory, and vmstat 1 (si); in a guest the host may be the one that swaps.",
	},
	Reclaim: {
		id: "reclaim", title: "memory reclaim", aka: "kswapd shrink memory oom compaction",
		explain: "Memory must be freed, written out or moved before an allocation can go on.",
		next:    "See --by cgroup, /proc/pressure/memory, memory.events (max, high) and vmstat 1 (so); raise the cgroup's limit, or vm.min_free_kbytes.",
	},
	InodeLock: {
		id: "inode_lock", title: "inode or directory lock", aka: "mutex rwsem i_rwsem lock",
		explain: "Another thread holds the lock of the same file, directory, or part of the file system, often while it waits for I/O itself.",
		next:    "Find the holder: the longest wait on the same file with --by file --stacks; split hot directories and files, or use direct I/O that shares the lock.",
	},
	PageLock: {
		id: "page_lock", title: "page or buffer lock", aka: "folio lock migration buffer",
		explain: "Another thread holds the lock of the same cached page or metadata block: it is being read, written, moved or cut off.",
		next:    "Find who works on the same file with --by file --stacks; flusher and truncating threads are the usual holders.",
	},
	MmapLock: {
		id: "mmap_lock", title: "memory map lock", aka: "mmap_sem mmap mprotect munmap fault",
		explain: "Another thread of the process, or one that reads its /proc files, holds its memory map, perhaps during a page fault that waits for I/O.",
		next:    "Look at the process' other threads with --pid PID --by thread --stacks; fewer mmap, munmap and mprotect calls, or prefaulting with MAP_POPULATE, help.",
	},
	FSFrozen: {
		id: "fs_frozen", title: "frozen file system", aka: "fsfreeze snapshot suspend",
		explain: "The file system is frozen (fsfreeze, a snapshot, suspend), and writers wait until it is thawed.",
		next:    "Find the snapshot or backup job that froze it; fsfreeze -u MOUNTPOINT thaws it.",
	},
	NFS: {
		id: "nfs", title: "wait for the NFS server", aka: "rpc network",
		explain: "An NFS server has not answered yet.",
		next:    "See nfsiostat and mountstats for the mount, nfsstat -rc for retransmissions, and dmesg for \"server not responding\".",
	},
	FUSE: {
		id: "fuse", title: "wait for the FUSE daemon", aka: "sshfs virtiofs userspace",
		explain: "The user-space daemon of a FUSE file system (or virtiofs' host) has not answered yet.",
		next:    "Find the mount with --by file and see whether its daemon runs; /sys/fs/fuse/connections/N/waiting counts open requests, writing to abort ends them.",
	},
	NetworkBlock: {
		id: "network_block", title: "network storage", aka: "nbd rbd ceph cifs smb iscsi drbd 9p afs",
		explain: "A network block device or file system (nbd, rbd, drbd, iSCSI, Ceph, SMB, 9p, AFS) waits for the other side.",
		next:    "Check the server and the path to it: dmesg, ss -ti for retransmissions, /proc/fs/cifs/Stats or ceph's osdc in debugfs.",
	},
	IOUringIdle: {
		id: "io_uring_idle", title: "idle io_uring wait", aka: "ring event cqring", alone: true,
		explain: "The application waits for work on its ring (a socket, a pipe, a timer); nothing is late, though the kernel counts it as iowait.",
		next:    "Nothing to repair; IORING_ENTER_NO_IOWAIT (Linux 6.15) keeps it out of iowait.",
	},
	IOUringIO: {
		id: "io_uring_io", title: "io_uring completion", aka: "ring cqring", alone: true,
		explain: "The application waits on its ring, and a block request's completion is what woke it.",
		next:    "See the device with --by device and its latency in iostat -x; a deeper queue hides latency only while there is other work.",
	},
	LoopDevice: {
		id: "loop_device", title: "loop device", aka: "losetup backing",
		explain: "A loop device's worker waits for its backing file, or someone waits for the loop device's driver.",
		next:    "See losetup -l for the backing file and look at the device under it with --by device; losetup --direct-io=on avoids double caching.",
	},
	DeviceMapper: {
		id: "device_mapper", title: "device mapper", aka: "dm lvm crypt luks multipath thin",
		explain: "The wait is in device-mapper code (crypt, thin, multipath, a suspended device), not in the disk under it.",
		next:    "Check dmsetup info (State: SUSPENDED?) and dmsetup status; dm-crypt has no_read_workqueue and no_write_workqueue.",
	},
	Raid: {
		id: "raid", title: "software RAID", aka: "md mdadm resync stripe raid1 raid5 raid10",
		explain: "The wait is in md code: a barrier during resync, a full stripe cache, the superblock or the bitmap.",
		next:    "See /proc/mdstat for a resync (md/sync_speed_max limits it), and /sys/block/mdN/md/stripe_cache_size for RAID 5 and 6.",
	},
	NotStorage: {
		id: "not_storage", title: "no I/O behind it", aka: "vfork idle kthread sleep driver", alone: true,
		explain: "Uninterruptible sleep that has nothing to do with storage: a vfork parent, a driver, RCU, an idle kernel thread; it raises the load average all the same.",
		next:    "Nothing for storage to repair; --stacks shows where it sleeps.",
	},
	Unknown: {
		id: "unknown", title: "unknown cause", aka: "other none", alone: true,
		explain: "No rule knows this stack, or no stack could be had.",
		next:    "Look at it with --stacks; without symbols (kernel.kptr_restrict) no cause can be told; please report stacks that should be known.",
	},
	Unattributed: {
		id: "unattributed", title: "unattributed time", aka: "unexplained lost unsampled", alone: true,
		explain: "Waiting time that was counted exactly, but that no recorded wait explains: not sampled, lost, or not ended yet.",
		next:    "Sample more, or watch fewer processes (--pid, --cgroup); the foot line says what was lost.",
	},
}
