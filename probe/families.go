// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/kernel"
)

// Family is functions in which errors of related system calls arise. Patterns of which a
// kernel has no function are left out there.
type Family struct {
	ID       string
	Title    string
	Patterns []string // names, with one * for any characters
}

// Families are all, those first on which most depends: where attaching takes long, the
// last may be left out.
var Families = []Family{
	{"exec", "execve: files of programs, their interpreters and memory", []string{
		"do_execveat_common", "bprm_execve", "__do_execve_file", "exec_binprm", "search_binary_handler", "begin_new_exec", "flush_old_exec",
		"load_*_binary", "load_script", "load_elf_*", "elf_map", "elf_load", "elf_read", "set_brk", "padzero", "create_elf_tables", "parse_elf_properties",
		"open_exec", "do_open_execat", "do_open_exec", "alloc_bprm", "prepare_bprm_creds", "prepare_binprm", "bprm_*", "remove_arg_zero",
		"setup_arg_pages", "shift_arg_pages", "relocate_vma_down", "arch_setup_additional_pages", "map_vdso*", "copy_string*", "exec_mmap", "de_thread", "unshare_files", "unshare_sighand",
		"security_bprm_*", "cap_bprm_*", "kernel_read", "__kernel_read", "kernel_read_file*",
		"vm_mmap*", "ksys_mmap_pgoff", "do_mmap", "mmap_region", "__mmap_region", "vm_brk*", "do_brk_flags", "do_munmap", "__do_munmap", "do_vmi_munmap", "do_vmi_align_munmap",
		"get_unmapped_area", "__get_unmapped_area", "arch_get_unmapped_area*", "mm_get_unmapped_area*", "thp_get_unmapped_area*", "vm_unmapped_area",
	}},
	{"path", "paths: open, stat, rename and their like", []string{
		"do_filp_open", "path_openat", "do_sys_openat2", "do_sys_open", "do_open", "do_o_path", "do_tmpfile", "vfs_open", "do_dentry_open", "may_open", "build_open_flags",
		"link_path_walk*", "walk_component", "path_init", "path_lookupat", "path_parentat", "filename_lookup", "filename_parentat", "filename_create", "user_path_at*", "kern_path*", "getname*",
		"lookup_fast", "lookup_slow", "__lookup_slow", "lookup_one*", "lookup_noperm*", "lookup_dcache", "lookup_positive*", "__lookup_hash", "step_into", "step_into_slowpath", "pick_link", "complete_walk", "open_last_lookups", "lookup_open", "atomic_open", "get_unused_fd_flags", "alloc_fd", "alloc_empty_file*",
		"inode_permission", "generic_permission", "security_inode_*", "security_path_*", "security_file_*", "may_delete", "may_create", "mnt_want_write*", "notify_change", "setattr_prepare",
		"vfs_create", "vfs_mkdir", "vfs_rmdir", "vfs_unlink", "vfs_link", "vfs_symlink", "vfs_rename", "vfs_mknod", "vfs_readlink", "vfs_getattr*", "vfs_stat*", "vfs_fstat*", "vfs_truncate", "vfs_getxattr", "vfs_setxattr", "vfs_removexattr",
		"do_mkdirat", "do_mknodat", "do_rmdir", "do_unlinkat", "do_linkat", "do_symlinkat", "do_renameat2", "do_readlinkat", "do_faccessat", "do_statx", "do_truncate", "do_fchmodat", "do_fchownat", "chmod_common", "chown_common", "do_utimes*",
	}},
	{"file", "reading, writing and controlling open files", []string{
		"vfs_read", "vfs_write", "vfs_readv", "vfs_writev", "vfs_iter_*", "rw_verify_area", "*_file_read_iter", "*_file_write_iter", "generic_write_checks*", "generic_perform_write", "filemap_read", "iomap_dio_rw", "__iomap_dio_rw",
		"vfs_fsync_range", "*_sync_file", "file_write_and_wait_range", "vfs_fallocate", "*_fallocate", "vfs_copy_file_range", "do_splice*", "vfs_llseek", "*_file_llseek", "vfs_ioctl", "do_vfs_ioctl", "blkdev_ioctl", "do_fcntl", "vfs_lock_file", "flock_lock_inode*", "iterate_dir",
		"*_file_mmap", "mprotect_fixup", "do_mprotect_pkey*", "security_mmap_*", "security_vm_enough_memory_mm", "__vm_enough_memory", "cap_mmap_*", "expand_stack*", "insert_vm_struct", "mlock_fixup", "apply_vma_lock_flags", "do_mlock", "do_madvise", "mremap_to",
	}},
	{"socket", "sockets", []string{
		"__sys_socket", "__sys_bind", "__sys_connect*", "__sys_listen", "__sys_accept4*", "__sys_sendto", "__sys_recvfrom", "__sys_sendmsg", "__sys_recvmsg", "__sys_setsockopt", "__sys_getsockopt", "___sys_*", "____sys_*",
		"__sock_create", "sock_create*", "sock_sendmsg", "sock_recvmsg", "sock_setsockopt", "sk_setsockopt", "security_socket_*", "inet_create", "inet6_create", "inet_bind*", "__inet_bind", "inet6_bind*", "__inet6_bind", "inet_stream_connect", "__inet_stream_connect", "inet_dgram_connect",
		"inet_listen", "__inet_listen_sk", "inet_accept", "inet_sendmsg", "inet_recvmsg", "inet_wait_for_connect", "inet_csk_get_port", "inet_csk_accept", "inet_csk_listen_start", "inet_hash_connect", "__inet_hash_connect", "tcp_v4_connect", "tcp_v6_connect", "tcp_connect", "tcp_sendmsg*", "tcp_recvmsg*", "do_tcp_setsockopt",
		"ip4_datagram_connect", "__ip4_datagram_connect", "udp_sendmsg", "udp_recvmsg", "udp_lib_get_port", "udp_v4_get_port", "raw_sendmsg", "unix_stream_*", "unix_dgram_*", "unix_bind*", "unix_create*", "unix_find_*", "netlink_sendmsg", "netlink_bind", "packet_create",
	}},
	{"mount", "mounts", []string{
		"path_mount", "do_mount", "do_new_mount*", "do_add_mount", "do_loopback", "do_remount", "do_reconfigure_mnt", "do_move_mount*", "vfs_get_tree", "get_tree_*", "vfs_parse_fs_*", "generic_parse_monolithic", "path_umount", "ksys_umount", "do_umount", "mount_bdev", "lookup_bdev", "blkdev_get_by_*", "bdev_open*", "bdev_file_open*", "*_fill_super", "*_get_tree",
	}},
	{"process", "processes, limits and signals", []string{
		"kernel_clone", "_do_fork", "copy_process", "alloc_pid", "dup_mm", "copy_namespaces", "create_new_namespaces", "ksys_unshare", "do_wait", "kernel_wait4", "do_prlimit", "kill_something_info", "kill_pid_info*", "do_tkill", "do_send_specific", "check_kill_permission", "security_task_*",
		"ptrace_attach", "ptrace_check_attach", "ptrace_request", "ptrace_traceme", "__sched_setscheduler", "cap_capable", "security_capset", "commit_creds",
	}},
}

// FindFamilies gives the functions of families that may return an error, in the order of
// the families.
func (c *CallTargets) FindFamilies(families []Family) ([]*CallTarget, error) {
	rank := map[*CallTarget]int{}
	byName, seen := map[string]*CallTarget{}, map[string]bool{}
	of := rankOf(families)
	if _, err := kernel.ListFunctions(c.root, func(f kernel.FunctionSymbol) bool {
		base := kernel.BaseName(f.Name)
		at, exact := of(base)
		if at < 0 {
			return false
		}
		if _, denied := Denied(f.Name); denied {
			return false
		}
		c.add(byName, seen, f, exact)
		if t := byName[f.Module+":"+base]; t != nil {
			rank[t] = at
		}
		return false
	}); err != nil {
		return nil, err
	}
	var targets []*CallTarget
	for _, t := range byName {
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b *CallTarget) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), strings.Compare(a.Name, b.Name), strings.Compare(a.Module, b.Module))
	})
	return ErrorTargets(targets), nil
}

// rankOf gives a function that says which family has a name, and whether by that very name; -1: none.
func rankOf(families []Family) func(base string) (at int, exact bool) {
	type glob struct {
		prefix, suffix string
		rank           int
	}
	names, globs := map[string]int{}, []glob{}
	for i, f := range families {
		for _, pattern := range f.Patterns {
			if prefix, suffix, is := strings.Cut(pattern, "*"); is {
				globs = append(globs, glob{prefix, suffix, i})
			} else if _, have := names[pattern]; !have {
				names[pattern] = i
			}
		}
	}
	return func(base string) (int, bool) {
		if i, have := names[base]; have {
			return i, true
		}
		for _, g := range globs {
			if g.prefix == "" && ofTracepoint(base) {
				continue
			}
			if len(base) >= len(g.prefix)+len(g.suffix) && strings.HasPrefix(base, g.prefix) && strings.HasSuffix(base, g.suffix) {
				return g.rank, false
			}
		}
		return -1, false
	}
}

// ofTracepoint says whether a name is that of a tracepoint's own code, which ends with the
// name of what it traces.
func ofTracepoint(name string) bool {
	return strings.HasPrefix(name, "__SCT__") || strings.HasPrefix(name, "__traceiter_") || strings.HasPrefix(name, "__probestub_")
}

// ErrorTargets are those functions that may return an error, at most MostFunctions.
func ErrorTargets(targets []*CallTarget) []*CallTarget {
	kept := slices.DeleteFunc(slices.Clone(targets), func(t *CallTarget) bool { return t.errorBytes() == 0 })
	return kept[:min(len(kept), MostFunctions)]
}

// eitherBytes are those of a result whose type is not known: EITHER_BYTES of bpf/errors.h.
const eitherBytes = 12

// errorBytes is how much of a function's result may be an error: 8 or 4 bytes, eitherBytes, or 0.
// Functions that return addresses as numbers, such as do_mmap, return errors as unsigned ones.
func (t *CallTarget) errorBytes() int {
	if t.Func == nil {
		return eitherBytes
	}
	if n := t.resultBytes(); n != 0 {
		return n
	}
	if r, ok := btf.UnderlyingType(t.Func.Type.(*btf.FuncProto).Return).(*btf.Int); ok && r.Size == 8 && r.Encoding != btf.Bool {
		return 8
	}
	return 0
}

// traceable leaves out functions whose entry ftrace cannot witness, as far as is known.
func traceable(targets []*CallTarget) []*CallTarget {
	listing := traceableSymbols(targets)
	if !listing.Known {
		return targets
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t *CallTarget) bool {
		return slices.ContainsFunc(t.Symbols, func(s string) bool { return listing.Has(s) == kernel.Off })
	})
}

// notTraceable is why fexit and kprobe.multi cannot witness a function.
const notTraceable = "ftrace cannot witness its entry (notrace, or no call to ftrace in it)"

// traceableSymbols tells of functions' symbols whether ftrace can witness their entry, if that is known.
func traceableSymbols(targets []*CallTarget) (listing kernel.Listing) {
	var names []string
	for _, t := range targets {
		names = append(names, t.Symbols...)
	}
	for _, mount := range kernel.TracefsMounts("/", "") {
		if listing = kernel.ReadTraceable(os.DirFS(mount), names); listing.Known {
			break
		}
	}
	return listing
}
