// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// comesSecond says whether a tracepoint has the queue before what it is about.
// Stable kernels changed that: only the types tell.
func comesSecond(kernel *btf.Spec, point string) bool {
	all := tracepointParams(kernel, point)
	if len(all) == 0 {
		return false
	}
	pointer, ok := btf.UnderlyingType(all[0].Type).(*btf.Pointer)
	if !ok {
		return false
	}
	s, ok := btf.UnderlyingType(pointer.Target).(*btf.Struct)
	return ok && s.Name == "request_queue"
}

// isStatus says whether completions tell a blk_status_t (from 5.16) and not an errno.
func isStatus(kernel *btf.Spec) bool {
	all := tracepointParams(kernel, "block_rq_complete")
	if len(all) < 2 {
		return false
	}
	t, ok := all[1].Type.(*btf.Typedef)
	return ok && t.Name == "blk_status_t"
}

// errnos are those of the values of blk_status_t that have not moved.
var errnos = [...]unix.Errno{
	0, unix.EOPNOTSUPP, unix.ETIMEDOUT, unix.ENOSPC, unix.ENOLINK, unix.EREMOTEIO, unix.EBADE, unix.ENODATA,
	unix.EILSEQ, unix.ENOMEM, unix.EIO, unix.EREMCHG, unix.EAGAIN, unix.EBUSY,
}

// errno is what the kernel side tells as the error of a request.
func (w *Requests) errno(told int32, flags event.IOFlags) int32 {
	switch {
	case told == 0:
		return 0
	case !w.statuses && flags&event.IOBio == 0:
		return -told
	case int(uint8(told)) < len(errnos):
		return int32(errnos[uint8(told)])
	}
	return int32(unix.EIO)
}
