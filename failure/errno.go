// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// firstInternal is the least error that the kernel keeps from programs.
const firstInternal = 512

// internal are errors of include/linux/errno.h that no program sees.
var internal = map[unix.Errno]string{
	512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 515: "ENOIOCTLCMD", 516: "ERESTART_RESTARTBLOCK", 517: "EPROBE_DEFER",
	518: "EOPENSTALE", 519: "ENOPARAM", 521: "EBADHANDLE", 522: "ENOTSYNC", 523: "EBADCOOKIE", 524: "ENOTSUPP", 525: "ETOOSMALL", 526: "ESERVERFAULT",
	527: "EBADTYPE", 528: "EJUKEBOX", 529: "EIOCBQUEUED", 530: "ERECALLCONFLICT", 531: "ENOGRACE",
}

// ErrnoName is an error's name, such as ENOENT; one that has none is told by its number.
func ErrnoName(errno unix.Errno) string {
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	if name := internal[errno]; name != "" {
		return name
	}
	return fmt.Sprintf("error %d", int(errno))
}

// Restarts says whether a system call that returns an error is made again by the kernel, or
// fails with EINTR, once a signal was dealt with.
func Restarts(errno unix.Errno) bool {
	return errno >= firstInternal && errno <= 516 && errno != 515
}

// errnoOf is the error that a result stands for; 0: none.
func errnoOf(ret uint64) unix.Errno {
	if n := -int64(ret); n > 0 && n <= 4095 {
		return unix.Errno(n)
	}
	return 0
}
