// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The parts of FUSE's protocol that opening a connection needs.
const (
	fuseOpInit       = 26
	fuseInHeaderSize = 40
	fuseInitReply    = 16 + 64
	fuseMajor        = 7
	fuseMinor        = 31
)

// SilentFUSE mounts a FUSE file system whose daemon answers nothing but the
// opening of the connection: who touches it waits until the test ends.
func SilentFUSE(t testing.TB) (dir string) {
	t.Helper()
	NeedRoot(t)
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	dir, err = os.MkdirTemp("", "iowitness-fuse")
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := unix.Mount("silent", dir, "fuse", 0, options); err != nil {
		t.Skipf("no FUSE mounts here: %v", err)
	}
	t.Cleanup(func() {
		unix.Unmount(dir, unix.MNT_DETACH)
		unix.Close(fd) // ends the connection: all waiters get an error
		os.Remove(dir)
	})
	if err := answerInit(fd); err != nil {
		t.Fatal(err)
	}
	return dir
}

// StuckStat is a process whose stat(2) waits uninterruptibly, state D, for a file system that answers nothing.
func StuckStat(t testing.TB) *Child {
	t.Helper()
	c := Workload{Name: "stat", Args: []string{filepath.Join(SilentFUSE(t), "x")}}.Start(t)
	c.Go()
	// A request that a signal has interrupted waits on without taking signals. One to the process may go to any thread.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.PID()))
		for _, thread := range threads {
			if stack, _ := os.ReadFile(thread + "/stack"); !bytes.Contains(stack, []byte("fuse")) {
				continue
			}
			if status, _ := os.ReadFile(thread + "/status"); bytes.Contains(status, []byte("State:\tD")) {
				return c
			}
			tid, _ := strconv.Atoi(filepath.Base(thread))
			unix.Tgkill(int(c.PID()), tid, unix.SIGURG)
		}
	}
	t.Fatal("no thread of the process waits for the file system")
	return nil
}

func answerInit(fd int) error {
	request := make([]byte, 1<<20)
	n, err := unix.Read(fd, request)
	if err != nil {
		return err
	}
	if n < fuseInHeaderSize || binary.NativeEndian.Uint32(request[4:]) != fuseOpInit {
		return fmt.Errorf("the first request of a FUSE connection is no INIT: %d bytes", n)
	}
	reply := make([]byte, fuseInitReply)
	binary.NativeEndian.PutUint32(reply, fuseInitReply)
	copy(reply[8:16], request[8:16]) // the request's number
	binary.NativeEndian.PutUint32(reply[16:], fuseMajor)
	binary.NativeEndian.PutUint32(reply[20:], fuseMinor)
	binary.NativeEndian.PutUint32(reply[36:], 128<<10) // max_write
	_, err = unix.Write(fd, reply)
	return err
}
