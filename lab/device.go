// SPDX-License-Identifier: Apache-2.0

// Package lab makes devices, file systems and workloads of known truth for
// tests and benchmarks. It needs root. No product code uses it.
package lab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// Device is a block device of a test.
type Device struct {
	Path string // e.g. /dev/loop3
	Name string // e.g. loop3
	Dev  event.Dev
}

// NeedRoot skips a test that has no privileges at all to make devices.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// Dir is a directory in memory (tmpfs), where the kernel has one.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "iowitness")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Run runs a command to its end; its failure is the test's.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Loop makes a loop device of some MiB over a file in memory.
func Loop(t testing.TB, mib int64) Device {
	t.Helper()
	return LoopOver(t, filepath.Join(Dir(t), "disk.img"), mib)
}

// LoopOver makes a loop device over a file that it makes.
func LoopOver(t testing.TB, file string, mib int64) Device {
	t.Helper()
	NeedRoot(t)
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, mib<<20); err != nil {
		t.Fatal(err)
	}
	path := Run(t, "losetup", "--find", "--show", file)
	t.Cleanup(func() { exec.Command("losetup", "--detach", path).Run() })
	return DeviceAt(t, path)
}

// LoopOn makes a loop device over another device, whose requests last as long
// as that takes.
func LoopOn(t testing.TB, d Device) Device {
	t.Helper()
	path := Run(t, "losetup", "--direct-io=on", "--find", "--show", d.Path)
	t.Cleanup(func() { exec.Command("losetup", "--detach", path).Run() })
	return DeviceAt(t, path)
}

// DeviceAt is the device of a node.
func DeviceAt(t testing.TB, path string) Device {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return Device{
		Path: path, Name: filepath.Base(path),
		Dev: event.MakeDev(unix.Major(st.Rdev), unix.Minor(st.Rdev)),
	}
}

// Mount makes a file system on a device and mounts it.
func Mount(t testing.TB, d Device, fstype, options string, mkfs ...string) string {
	t.Helper()
	tool := "mkfs." + fstype
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed", tool)
	}
	// ext4 would complete itself in the background: writes of nobody's, on a device whose truth is known.
	always := map[string][]string{"ext4": {"-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}, "xfs": {"-f"}, "btrfs": {"-f"}}[fstype]
	Run(t, tool, slices.Concat(always, mkfs, []string{d.Path})...)
	dir := t.TempDir()
	flags := []string{"-t", fstype}
	if options != "" {
		flags = append(flags, "-o", options)
	}
	Run(t, "mount", append(flags, d.Path, dir)...)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			unix.Unmount(dir, unix.MNT_DETACH)
		}
		awaitRelease(t, d)
	})
	return dir
}

// awaitRelease waits until no file system holds a device: it may be let go of after the unmount, when the last one
// that had a file open there is done, and writes until then.
func awaitRelease(t testing.TB, d Device) {
	t.Helper()
	for range 100 {
		fd, err := unix.Open(d.Path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
			return
		}
		if !errors.Is(err, unix.EBUSY) {
			return // it is gone, or broken
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s is still held after its file system was unmounted", d.Path)
}

// Remount unmounts and mounts again: what was cached is read anew.
func Remount(t testing.TB, d Device, dir, fstype, options string) {
	t.Helper()
	Run(t, "umount", dir)
	Run(t, "mount", "-t", fstype, "-o", strings.TrimSuffix("rw,"+options, ","), d.Path, dir)
	DropCaches(t)
}

// DropCaches empties the page cache, so that the next reads come from the devices.
func DropCaches(t testing.TB) {
	t.Helper()
	unix.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		t.Fatal(err)
	}
}

// Sysctl sets a kernel parameter, by its path below /proc/sys, for the test's duration.
func Sysctl(t testing.TB, name, value string) {
	t.Helper()
	path := filepath.Join("/proc/sys", name)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		restore := path
		if strings.TrimSpace(string(old)) == "0" && strings.HasSuffix(name, "_bytes") {
			// 0 is not taken: the ratio that was in force brings it back.
			restore = strings.TrimSuffix(path, "_bytes") + "_ratio"
			old = []byte(map[bool]string{true: "10", false: "20"}[strings.Contains(name, "background")])
		}
		if err := os.WriteFile(restore, old, 0); err != nil {
			t.Error(err)
		}
	})
}

// Swap makes a loop device of some MiB a swap area.
func Swap(t testing.TB, mib int64) Device {
	t.Helper()
	d := Loop(t, mib)
	Run(t, "mkswap", d.Path)
	if out, err := exec.Command("swapon", d.Path).CombinedOutput(); err != nil {
		t.Skipf("no swap here: %s", out)
	}
	t.Cleanup(func() { exec.Command("swapoff", d.Path).Run() })
	return d
}

// SetQueue sets a parameter of a device's request queue for the test's duration.
func SetQueue(t testing.TB, d Device, name, value string) {
	t.Helper()
	path := filepath.Join("/sys/block", d.Name, "queue", name)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("%s has no %s: %v", d.Name, name, err)
	}
	if Guest() && name == "scheduler" {
		exec.Command("modprobe", value).Run() // a module there
	}
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		if Guest() {
			t.Fatal(err)
		}
		t.Skipf("%s cannot be set to %s: %v", path, value, err)
	}
	was := strings.TrimSpace(string(old))
	if _, choice, chosen := strings.Cut(was, "["); chosen {
		was, _, _ = strings.Cut(choice, "]")
	}
	t.Cleanup(func() { os.WriteFile(path, []byte(was), 0) })
}
