// SPDX-License-Identifier: Apache-2.0

package kernel

import "strings"

// syscallArgs are the names of the arguments of common system calls. Those that are paths
// have a star.
var syscallArgs = parseSyscallArgs(`
	read fd buf count
	write fd buf count
	pread64 fd buf count offset
	pwrite64 fd buf count offset
	readv fd iov iovcnt
	writev fd iov iovcnt
	open path* flags mode
	openat dirfd path* flags mode
	openat2 dirfd path* how size
	creat path* mode
	close fd
	stat path* statbuf
	lstat path* statbuf
	fstat fd statbuf
	newfstatat dirfd path* statbuf flags
	statx dirfd path* flags mask statxbuf
	statfs path* buf
	fstatfs fd buf
	access path* mode
	faccessat dirfd path* mode
	faccessat2 dirfd path* mode flags
	execve path* argv envp
	execveat dirfd path* argv envp flags
	readlink path* buf bufsiz
	readlinkat dirfd path* buf bufsiz
	chdir path*
	chroot path*
	fchdir fd
	mkdir path* mode
	mkdirat dirfd path* mode
	rmdir path*
	unlink path*
	unlinkat dirfd path* flags
	rename oldpath* newpath*
	renameat olddirfd oldpath* newdirfd newpath*
	renameat2 olddirfd oldpath* newdirfd newpath* flags
	link oldpath* newpath*
	linkat olddirfd oldpath* newdirfd newpath* flags
	symlink target* linkpath*
	symlinkat target* newdirfd linkpath*
	mknod path* mode dev
	mknodat dirfd path* mode dev
	chmod path* mode
	fchmod fd mode
	fchmodat dirfd path* mode
	fchmodat2 dirfd path* mode flags
	chown path* owner group
	lchown path* owner group
	fchown fd owner group
	fchownat dirfd path* owner group flags
	truncate path* length
	ftruncate fd length
	utimensat dirfd path* times flags
	utimes path* times
	futimesat dirfd path* times
	utime path* times
	getxattr path* name value size
	lgetxattr path* name value size
	setxattr path* name value size flags
	lsetxattr path* name value size flags
	listxattr path* list size
	llistxattr path* list size
	removexattr path* name
	lremovexattr path* name
	fgetxattr fd name value size
	fsetxattr fd name value size flags
	mount source* target* type flags data
	umount2 target* flags
	pivot_root newroot* putold*
	swapon path* flags
	swapoff path*
	acct path*
	inotify_add_watch fd path* mask
	name_to_handle_at dirfd path* handle mountid flags
	open_tree dirfd path* flags
	fspick dirfd path* flags
	move_mount fromdirfd frompath* todirfd topath* flags
	mmap addr length prot flags fd offset
	mprotect addr length prot
	munmap addr length
	mremap oldaddr oldsize newsize flags newaddr
	madvise addr length advice
	mlock addr length
	msync addr length flags
	brk addr
	ioctl fd request arg
	fcntl fd cmd arg
	flock fd operation
	lseek fd offset whence
	fsync fd
	fdatasync fd
	fallocate fd mode offset length
	getdents64 fd dirent count
	dup fd
	dup2 oldfd newfd
	dup3 oldfd newfd flags
	sendfile outfd infd offset count
	splice infd inoffset outfd outoffset length flags
	copy_file_range infd inoffset outfd outoffset length flags
	socket domain type protocol
	connect fd addr addrlen
	bind fd addr addrlen
	listen fd backlog
	accept fd addr addrlen
	accept4 fd addr addrlen flags
	sendto fd buf length flags addr addrlen
	recvfrom fd buf length flags addr addrlen
	sendmsg fd msg flags
	recvmsg fd msg flags
	shutdown fd how
	setsockopt fd level option value length
	getsockopt fd level option value length
	getsockname fd addr addrlen
	getpeername fd addr addrlen
	kill pid signal
	tkill tid signal
	tgkill pid tid signal
	wait4 pid status options rusage
	waitid which pid info options rusage
	ptrace request pid addr data
	prctl option arg2 arg3 arg4 arg5
	arch_prctl code addr
	setrlimit resource limit
	prlimit64 pid resource newlimit oldlimit
	setuid uid
	setgid gid
	setns fd type
	unshare flags
	futex addr op value timeout addr2 value3
	epoll_ctl epfd op fd event
	epoll_wait epfd events maxevents timeout
	poll fds count timeout
	nanosleep request remain
	clone flags stack parenttid childtid tls
	clone3 args size
	bpf cmd attr size
	perf_event_open attr pid cpu groupfd flags
	keyctl operation arg2 arg3 arg4 arg5
	rseq addr length flags signature
	set_robust_list head length
	sched_setaffinity pid length mask
	io_uring_setup entries params
	io_uring_enter fd submit wait flags sigset size
`)

func parseSyscallArgs(text string) map[string][]string {
	table := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		table[words[0]] = words[1:]
	}
	return table
}

// SyscallArguments are the names of a system call's arguments; known is false where
// there is no table of them, and then they are numbered.
func SyscallArguments(number int32) (names []string, known bool) {
	args, known := syscallArgs[SyscallName(number)]
	if !known {
		return []string{"arg1", "arg2", "arg3", "arg4", "arg5", "arg6"}, false
	}
	names = make([]string, len(args))
	for i, a := range args {
		names[i] = strings.TrimSuffix(a, "*")
	}
	return names, true
}

// PathArguments tells which arguments of a system call (1 to 6; 0: none) are paths. None
// is on an architecture without a table of system calls.
func PathArguments(number int32) (first, second int) {
	for i, a := range syscallArgs[SyscallName(number)] {
		switch {
		case !strings.HasSuffix(a, "*"):
		case first == 0:
			first = i + 1
		case second == 0:
			second = i + 1
		}
	}
	return first, second
}
