// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrGone says that there is no such thread.
var ErrGone = errors.New("the thread has ended")

// ErrPermission says that the kernel does not tell statistics to this process; it wraps EPERM.
var ErrPermission = fmt.Errorf("task statistics are told only with CAP_NET_ADMIN in the first user namespace: %w", unix.EPERM)

// ErrAbsent says that the kernel does not keep statistics of tasks.
var ErrAbsent = errors.New("the kernel has no task statistics (CONFIG_TASKSTATS)")

// batch is how many threads are asked for with one system call. The replies wait
// in the socket's buffer meanwhile.
const batch = 32

// answerTime bounds how long an answer may take: the kernel gives it at once.
const answerTime = 2 // s

// Client asks for the statistics of threads. It does so by plain system calls
// and many threads at a time, because it asks for all threads of a machine, once
// a second: a netlink library takes six times as long for a thread. It is not
// safe for concurrent use.
type Client struct {
	fd     int
	family uint16
	seq    uint32
	out    []byte
	in     []byte
}

// Dial opens a socket to the kernel. Errors: ErrAbsent, ErrPermission, or that of the socket.
func Dial() (*Client, error) {
	c := &Client{in: make([]byte, 64<<10)}
	var err error
	if c.fd, err = openSocket(); err != nil {
		return nil, err
	}
	if c.family, err = c.findFamily(); err != nil {
		c.Close()
		return nil, err
	}
	// Only a request shows whether it is permitted.
	err = c.Ask([]uint32{uint32(os.Getpid())}, func(uint32, Stats, error) {})
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func openSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return -1, os.NewSyscallError("socket(AF_NETLINK)", err)
	}
	wait := unix.Timeval{Sec: answerTime}
	err = errors.Join(
		os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})),
		os.NewSyscallError("SO_RCVTIMEO", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)))
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Close closes the socket. It may be called more than once.
func (c *Client) Close() error {
	if c.fd < 0 {
		return nil
	}
	err := unix.Close(c.fd)
	c.fd = -1
	return err
}

// findFamily asks for the number under which the kernel has its statistics.
func (c *Client) findFamily() (uint16, error) {
	name := append([]byte(unix.TASKSTATS_GENL_NAME), 0)
	c.seq++
	c.out = appendRequest(c.out[:0], unix.GENL_ID_CTRL, 0, c.seq, unix.CTRL_CMD_GETFAMILY, 1, unix.CTRL_ATTR_FAMILY_NAME, name)
	var family uint16
	err := c.exchange(c.seq, 1, func(_ uint32, m *message) error {
		attributes, err := m.attributes()
		if err != nil {
			return err
		}
		id, err := findAttribute(attributes, unix.CTRL_ATTR_FAMILY_ID)
		if err == nil && len(id) < 2 {
			err = fmt.Errorf("%w: no number of %s", errMessage, unix.TASKSTATS_GENL_NAME)
		}
		if err == nil {
			family = binary.NativeEndian.Uint16(id)
		}
		return err
	})
	if errors.Is(err, unix.ENOENT) {
		return 0, ErrAbsent
	}
	return family, err
}

// Ask gets the statistics of threads, by their ids in the caller's pid
// namespace, and tells each, or ErrGone. It returns the first other error.
func (c *Client) Ask(tids []uint32, tell func(tid uint32, s Stats, err error)) error {
	for len(tids) > 0 {
		n := min(len(tids), batch)
		if err := c.ask(tids[:n], tell); err != nil {
			return err
		}
		tids = tids[n:]
	}
	return nil
}

func (c *Client) ask(tids []uint32, tell func(tid uint32, s Stats, err error)) error {
	first := c.seq + 1
	c.out = c.out[:0]
	for _, tid := range tids {
		c.seq++
		c.out = appendRequest(c.out, c.family, 0, c.seq, unix.TASKSTATS_CMD_GET, unix.TASKSTATS_GENL_VERSION,
			unix.TASKSTATS_CMD_ATTR_PID, binary.NativeEndian.AppendUint32(nil, tid))
	}
	return c.exchange(first, len(tids), func(i uint32, m *message) error {
		if m.kind == unix.NLMSG_ERROR {
			tell(tids[i], Stats{}, ErrGone)
			return nil
		}
		attributes, err := m.attributes()
		if err != nil {
			return err
		}
		s, ok, err := parseStats(attributes)
		if err == nil && !ok {
			err = fmt.Errorf("%w: no statistics of a thread", errMessage)
		}
		if err == nil {
			tell(tids[i], s, nil)
		}
		return err
	})
}

// exchange sends what is in out, and gives each of n answers with its request's
// place. A thread that is gone is an answer; other errors end the exchange.
func (c *Client) exchange(first uint32, n int, answer func(i uint32, m *message) error) error {
	if err := unix.Sendto(c.fd, c.out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto(AF_NETLINK)", err)
	}
	for left := n; left > 0; {
		got, _, err := unix.Recvfrom(c.fd, c.in, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom(AF_NETLINK)", err)
		}
		for b := c.in[:got]; len(b) > 0; {
			var m message
			if m, b, err = nextMessage(b); err != nil {
				return err
			}
			i := m.seq - first
			if i >= uint32(n) {
				continue // of an exchange that was given up
			}
			if err := refusal(&m); err != nil {
				return err
			}
			if err := answer(i, &m); err != nil {
				return err
			}
			left--
		}
	}
	return nil
}

// refusal is the error that a message tells, unless it is that of a thread that has ended.
func refusal(m *message) error {
	if m.kind != unix.NLMSG_ERROR {
		return nil
	}
	code, err := m.errno()
	switch {
	case err != nil:
		return err
	case code == 0 || code == unix.ESRCH:
		return nil
	case code == unix.EPERM || code == unix.EACCES:
		return ErrPermission
	}
	return fmt.Errorf("the kernel refuses task statistics: %w", code)
}
