// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

const (
	blkpg             = 0x1269 // BLKPG
	blkpgAddPartition = 1
	blkpgDelPartition = 2
)

// blkpgPartition is struct blkpg_partition of the kernel: start and length in bytes.
type blkpgPartition struct {
	start, length int64
	number        int32
	_             [128 + 4]byte
}

// Partition makes a part of a device known to the kernel, whether or not it reads tables of
// partitions, with a node of its own; begin and size are in MiB.
func Partition(t testing.TB, d Device, number int32, begin, size int64) Device {
	t.Helper()
	p := blkpgPartition{begin << 20, size << 20, number, [132]byte{}}
	if err := tellPartition(d, blkpgAddPartition, &p); err != nil {
		t.Fatalf("partition %d of %s: %v", number, d.Name, err)
	}
	t.Cleanup(func() { _ = tellPartition(d, blkpgDelPartition, &p) })
	name := fmt.Sprintf("%sp%d", d.Name, number)
	text, err := os.ReadFile(filepath.Join("/sys/class/block", name, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	var major, minor uint32
	if _, err := fmt.Sscanf(strings.TrimSpace(string(text)), "%d:%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(t.TempDir(), name)
	if err := unix.Mknod(node, unix.S_IFBLK|0o600, int(unix.Mkdev(major, minor))); err != nil {
		t.Fatal(err)
	}
	return Device{Path: node, Name: name, Dev: event.MakeDev(major, minor)}
}

func tellPartition(d Device, op int32, p *blkpgPartition) error {
	f, err := os.Open(d.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	arg := struct {
		op, flags, size int32
		partition       *blkpgPartition
	}{op, 0, int32(unsafe.Sizeof(*p)), p}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), blkpg, uintptr(unsafe.Pointer(&arg))); errno != 0 {
		return errno
	}
	return nil
}
