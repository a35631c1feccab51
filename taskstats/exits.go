// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// exitBuffer holds the last statistics of some thousand threads that end between two looks.
const exitBuffer = 4 << 20

// Exits tells the last statistics of threads that end: else what a thread waited
// since it was last asked for would be lost with it, and all of a short-lived
// one. The kernel sends them to whoever registers for the CPUs on which they end.
type Exits struct {
	client *Client
	cpus   string
}

// ListenToExits registers for all CPUs, which proc and sys below root name.
// Errors are those of Dial; the kernel tells exits only in the first pid namespace.
func ListenToExits(root string) (*Exits, error) {
	text, err := os.ReadFile(filepath.Join(root, "sys/devices/system/cpu/possible"))
	if err != nil {
		return nil, fmt.Errorf("the machine's CPUs are not known: %w", err)
	}
	c, err := Dial()
	if err != nil {
		return nil, err
	}
	e := &Exits{client: c, cpus: strings.TrimSpace(string(text))}
	// Over the machine's limit for ordinary users, which FORCE may pass; else what fits.
	if unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, exitBuffer) != nil {
		_ = unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, exitBuffer)
	}
	if err := e.register(unix.TASKSTATS_CMD_ATTR_REGISTER_CPUMASK); err != nil {
		c.Close()
		return nil, err
	}
	return e, nil
}

func (e *Exits) register(command uint16) error {
	c := e.client
	c.seq++
	c.out = appendRequest(c.out[:0], c.family, unix.NLM_F_ACK, c.seq, unix.TASKSTATS_CMD_GET, unix.TASKSTATS_GENL_VERSION,
		command, append([]byte(e.cpus), 0))
	return c.exchange(c.seq, 1, func(uint32, *message) error { return nil })
}

// Next tells of all threads that have ended since the last call. lost says that
// the kernel had to drop some, because the socket was full.
func (e *Exits) Next(tell func(Stats)) (lost bool, err error) {
	for {
		got, _, err := unix.Recvfrom(e.client.fd, e.client.in, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return lost, nil
		case errors.Is(err, unix.ENOBUFS):
			lost = true
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return lost, os.NewSyscallError("recvfrom(AF_NETLINK)", err)
		}
		if err := eachExit(e.client.in[:got], e.client.family, tell); err != nil {
			return lost, err
		}
	}
}

// eachExit reads what the kernel sends of its own accord. A message may hold the
// sums of a process beside the statistics of its last thread: they are passed over.
func eachExit(b []byte, family uint16, tell func(Stats)) error {
	for len(b) > 0 {
		var m message
		var err error
		if m, b, err = nextMessage(b); err != nil {
			return err
		}
		if m.kind != family {
			continue
		}
		attributes, err := m.attributes()
		if err != nil {
			return err
		}
		s, ok, err := parseStats(attributes)
		if err != nil {
			return err
		}
		if ok {
			tell(s)
		}
	}
	return nil
}

// Close ends the registration. It may be called more than once.
func (e *Exits) Close() error {
	if e.client.fd >= 0 {
		// If that fails, the kernel forgets us when the next message finds the socket closed.
		_ = e.register(unix.TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK)
	}
	return e.client.Close()
}
