// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// errNoFamily tells that generic netlink does not know taskstats.
var errNoFamily = errors.New("the kernel does not keep statistics of tasks")

// Kinds and lengths of netlink messages (include/uapi/linux/netlink.h, genetlink.h, taskstats.h).
const (
	netlinkHeader = unix.SizeofNlMsghdr
	genericHeader = 4
	genlControl   = unix.GENL_ID_CTRL
)

// tryTaskstats asks the kernel for the statistics of this very thread.
func tryTaskstats() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	timeout := unix.NsecToTimeval(int64(2 * time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return err
	}
	answer, err := ask(fd, genlControl, unix.CTRL_CMD_GETFAMILY, unix.CTRL_ATTR_FAMILY_NAME, []byte(unix.TASKSTATS_GENL_NAME+"\x00"))
	if errors.Is(err, unix.ENOENT) {
		return errNoFamily
	}
	if err != nil {
		return fmt.Errorf("asking for taskstats: %w", err)
	}
	family := attribute(answer, unix.CTRL_ATTR_FAMILY_ID)
	if len(family) < 2 {
		return errNoFamily
	}
	tid := binary.NativeEndian.AppendUint32(nil, uint32(unix.Gettid()))
	answer, err = ask(fd, binary.NativeEndian.Uint16(family), unix.TASKSTATS_CMD_GET, unix.TASKSTATS_CMD_ATTR_PID, tid)
	if err != nil {
		return fmt.Errorf("asking for this thread's statistics: %w", err)
	}
	if attribute(answer, unix.TASKSTATS_TYPE_AGGR_PID) == nil {
		return errors.New("the kernel's answer holds no statistics")
	}
	return nil
}

// ask sends a command with one attribute, and returns the attributes of the answer.
func ask(fd int, family uint16, command uint8, kind uint16, value []byte) ([]byte, error) {
	padded := (4 + len(value) + 3) &^ 3
	m := make([]byte, netlinkHeader+genericHeader+padded)
	binary.NativeEndian.PutUint32(m[0:], uint32(len(m)))
	binary.NativeEndian.PutUint16(m[4:], family)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	m[netlinkHeader], m[netlinkHeader+1] = command, 1
	a := m[netlinkHeader+genericHeader:]
	binary.NativeEndian.PutUint16(a[0:], uint16(4+len(value)))
	binary.NativeEndian.PutUint16(a[2:], kind)
	copy(a[4:], value)
	if err := unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	buf := make([]byte, 8<<10)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil {
		return nil, err
	}
	return answered(buf[:n])
}

// answered takes the attributes out of an answer, or the error that it is.
func answered(b []byte) ([]byte, error) {
	if len(b) < netlinkHeader+genericHeader {
		return nil, fmt.Errorf("an answer of %d bytes is too short", len(b))
	}
	if binary.NativeEndian.Uint16(b[4:]) == unix.NLMSG_ERROR {
		if number := -int32(binary.NativeEndian.Uint32(b[netlinkHeader:])); number > 0 {
			return nil, unix.Errno(number)
		}
		return nil, nil
	}
	return b[netlinkHeader+genericHeader:], nil
}

// attribute finds an attribute's value; nil: it is not there.
func attribute(b []byte, kind uint16) []byte {
	for len(b) >= 4 {
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[4:size]
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}
