// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	cgroups   = "/sys/fs/cgroup"
	blkio     = cgroups + "/blkio"  // of version 1
	memory    = cgroups + "/memory" // of version 1
	unlimited = "max"
)

// Throttle limits a device for a new cgroup and returns the cgroup's directory: a
// device of known delay, on any kernel. kind is read_iops, write_iops, read_bps or write_bps.
func Throttle(t testing.TB, d Device, kind string, limit int) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(blkio, "blkio.throttle."+kind+"_device")); err == nil {
		dir := newCgroup(t, blkio)
		set(t, dir, "blkio.throttle."+kind+"_device", fmt.Sprintf("%s %d", deviceNumbers(d), limit))
		return dir
	}
	dir := unified(t, "io")
	direction, unit, _ := strings.Cut(kind, "_")
	set(t, dir, "io.max", fmt.Sprintf("%s %c%s=%d", deviceNumbers(d), direction[0], unit, limit))
	return dir
}

// BlockCgroup is a new cgroup to which block I/O is charged; of version 2 writeback too.
func BlockCgroup(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(blkio, "cgroup.procs")); err == nil {
		return newCgroup(t, blkio)
	}
	_ = unified(t, "memory")
	return unified(t, "io")
}

// Controller is the version 1 controller in whose hierarchy a cgroup of Throttle
// is; empty: it is in the unified one.
func Controller(dir string) string {
	if strings.HasPrefix(dir, blkio) {
		return "blkio"
	}
	return ""
}

// Waiting is a device each of whose reads makes the thread wait, for a short time:
// an emulated processor is so slow that a loop device over memory is ready before it sleeps.
func Waiting(t testing.TB) Device {
	t.Helper()
	if Guest() {
		return NullBlk(t, 500*time.Microsecond)
	}
	return Loop(t, 16)
}

// Written is a device whose writes make the thread that waits for them wait.
func Written(t testing.TB) Device {
	t.Helper()
	if Guest() {
		return NullBlk(t, 50*time.Millisecond)
	}
	return Loop(t, 16)
}

// SlowDisk is a device whose requests of everybody, the kernel's threads included,
// last: each by a delay in a guest, elsewhere four in that time. end lets the rest
// go at once where it can.
func SlowDisk(t testing.TB, delay time.Duration) (d Device, end func()) {
	t.Helper()
	if Guest() {
		return NullBlk(t, delay), func() {}
	}
	d = Loop(t, 64)
	limit := func(perSecond int) error {
		return os.WriteFile(blkio+"/blkio.throttle.read_iops_device", fmt.Appendf(nil, "%s %d", deviceNumbers(d), perSecond), 0)
	}
	if err := limit(int(4 * time.Second / delay)); err != nil {
		t.Skipf("no blkio throttling (cgroup v1) here: %v", err)
	}
	end = func() { limit(0) }
	t.Cleanup(end)
	return d, end
}

// LimitWrites lets a device take so many writes a second, of everybody, the kernel's threads included.
func LimitWrites(t testing.TB, d Device, perSecond int) {
	t.Helper()
	limit := func(perSecond int) error {
		return os.WriteFile(blkio+"/blkio.throttle.write_iops_device", fmt.Appendf(nil, "%s %d", deviceNumbers(d), perSecond), 0)
	}
	if err := limit(perSecond); err != nil {
		t.Skipf("no blkio throttling (cgroup v1) here: %v", err)
	}
	t.Cleanup(func() { limit(0) })
}

// WithinMemory is a command that runs in a memory cgroup of a limited size, in bytes.
func WithinMemory(t testing.TB, cmd *exec.Cmd, limit int) *exec.Cmd {
	t.Helper()
	if _, err := os.Stat(memory + "/memory.limit_in_bytes"); err == nil {
		dir := newCgroup(t, memory)
		set(t, dir, "memory.limit_in_bytes", fmt.Sprint(limit))
		return InCgroup(cmd, dir)
	}
	dir := unified(t, "memory")
	set(t, dir, "memory.max", fmt.Sprint(limit))
	set(t, dir, "memory.swap.max", unlimited)
	return InCgroup(cmd, dir)
}

// unified makes a cgroup of version 2 with a controller.
func unified(t testing.TB, controller string) string {
	t.Helper()
	err := os.WriteFile(cgroups+"/cgroup.subtree_control", []byte("+"+controller), 0)
	if err != nil && !Guest() {
		t.Skipf("no controller %s (cgroup v1 or v2) here: %v", controller, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return newCgroup(t, cgroups)
}

func newCgroup(t testing.TB, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "iowitness")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

func set(t testing.TB, dir, file, value string) {
	t.Helper()
	err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
	if errors.Is(err, os.ErrNotExist) && !Guest() {
		t.Skipf("no %s here", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func deviceNumbers(d Device) string { return fmt.Sprintf("%d:%d", d.Dev.Major(), d.Dev.Minor()) }

// InCgroup makes a command first move itself into a cgroup.
func InCgroup(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, dir, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}
