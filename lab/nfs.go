// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// NFS is a mount of a directory that this kernel's own NFS server exports.
type NFS struct {
	Dir    string // where it is mounted
	Source string // server and path, as the table of mounts has them

	link *link
}

// Flags of an export: include/uapi/linux/nfsd/export.h.
const (
	exportInsecurePort   = 0x2
	exportNoSubtreeCheck = 0x400
	exportFSID           = 0x2000
)

// MountNFS exports a directory and mounts it by NFS 4.2. What the server says
// arrives late by a delay, beside what the directory's disk takes.
func MountNFS(t testing.TB, export string, delay time.Duration) *NFS {
	t.Helper()
	needGuest(t)
	for _, module := range []string{"nfsd", "nfs", "nfsv4"} {
		Run(t, "modprobe", module)
	}
	server := serveNFS(t, export)
	n := &NFS{Dir: t.TempDir(), Source: "files.test:/", link: newLink(t, server, delay)}
	options := fmt.Sprintf("vers=4.2,sec=sys,addr=127.0.0.1,clientaddr=127.0.0.1,port=%d", n.link.port())
	if err := unix.Mount(n.Source, n.Dir, "nfs4", 0, options); err != nil {
		t.Fatalf("mounting by NFS: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(n.Dir); err != nil {
			t.Errorf("unmounting NFS: %v", err)
		}
	})
	return n
}

// Stall silences the server until resume is called, or the test ends: its
// connections stand, and nothing passes them.
func (n *NFS) Stall(t testing.TB) (resume func()) {
	n.link.held.Lock()
	resume = sync.OnceFunc(n.link.held.Unlock)
	t.Cleanup(resume)
	return resume
}

// serveNFS starts the kernel's server for one directory, to whoever asks on this
// machine, and tells its address. It does what exportfs and rpc.nfsd do: what the
// server would ask a daemon for is put into its caches beforehand.
func serveNFS(t testing.TB, export string) (address string) {
	t.Helper()
	const control = "/proc/fs/nfsd"
	if err := unix.Mount("nfsd", control, "nfsd", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		t.Fatal(err)
	}
	t.Cleanup(flushExports) // they hold the directory's file system
	expiry := time.Now().Add(24 * time.Hour).Unix()
	flags := exportInsecurePort | exportNoSubtreeCheck | exportFSID
	tell(t, "/proc/net/rpc/auth.unix.ip/channel", fmt.Sprintf("nfsd 127.0.0.1 %d lab", expiry))
	tell(t, "/proc/net/rpc/nfsd.export/channel", fmt.Sprintf("lab %s %d %d 65534 65534 0", export, expiry, flags))
	tell(t, "/proc/net/rpc/nfsd.fh/channel", fmt.Sprintf("lab 1 \\x00000000 %d %s", expiry, export)) // the root, by fsid 0
	tell(t, filepath.Join(control, "versions"), "-2 -3 +4")                                          // the older ones need a portmapper
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // which the server takes no socket of
	listener, err := plain.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	tell(t, filepath.Join(control, "nfsv4gracetime"), "10") // the least
	tell(t, filepath.Join(control, "portlist"), strconv.Itoa(int(socket.Fd())))
	tell(t, filepath.Join(control, "threads"), "8")
	t.Cleanup(func() {
		tell(t, filepath.Join(control, "threads"), "0")
		unix.Unmount(control, 0)
	})
	awaitGrace(t, filepath.Join(control, "v4_end_grace"))
	return listener.Addr().String()
}

// flushExports empties the caches of the server.
func flushExports() {
	for _, cache := range []string{"nfsd.fh", "nfsd.export", "auth.unix.ip"} {
		_ = os.WriteFile(filepath.Join("/proc/net/rpc", cache, "flush"), []byte(fmt.Sprintln(time.Now().Unix()+1)), 0)
	}
}

// awaitGrace waits until the server no longer keeps files for clients of an
// earlier run. Kernels that keep no record of clients refuse to end that by order.
func awaitGrace(t testing.TB, file string) {
	t.Helper()
	_ = os.WriteFile(file, []byte("Y\n"), 0)
	for range 300 {
		if text, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(text), "Y") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the NFS server's grace period does not end")
}

// tell writes a line to a file of the kernel.
func tell(t testing.TB, file, line string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func unmount(dir string) (err error) {
	for range 50 {
		if err = unix.Unmount(dir, 0); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH))
}
