// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// NullBlk is a device without a medium that completes each request after a
// delay, and takes more requests at once than tests have threads. Only in a guest: the module is loaded and unloaded.
func NullBlk(t testing.TB, delay time.Duration) Device {
	t.Helper()
	needGuest(t)
	Run(t, "modprobe", "null_blk", "nr_devices=1", "queue_mode=2", "irqmode=2",
		"hw_queue_depth=512", // more than tests have threads: none waits for a tag
		fmt.Sprintf("completion_nsec=%d", delay.Nanoseconds()))
	t.Cleanup(func() { exec.Command("modprobe", "-r", "null_blk").Run() })
	return DeviceAt(t, "/dev/nullb0")
}

// DMDelay is a device over another one that keeps each request back for a delay.
func DMDelay(t testing.TB, d Device, delay time.Duration) Device {
	t.Helper()
	needGuest(t)
	Run(t, "modprobe", "dm-delay")
	return mapped(t, "delay-"+d.Name, fmt.Sprintf("0 %d delay %s 0 %d", sectors(t, d), d.Path, delay.Milliseconds()))
}

// DMCrypt is a device over another one that encrypts what it writes there.
func DMCrypt(t testing.TB, d Device) Device {
	t.Helper()
	needGuest(t)
	Run(t, "modprobe", "dm-crypt")
	key := strings.Repeat("0123456789abcdef", 4)
	return mapped(t, "crypt-"+d.Name, fmt.Sprintf("0 %d crypt aes-cbc-plain %s 0 %s 0", sectors(t, d), key, d.Path))
}

// Suspend has a device-mapper device keep back all that comes, whose file system is not frozen, until the result is called or the test ends.
func Suspend(t testing.TB, d Device) (resume func()) {
	t.Helper()
	set := func(verb ...string) error {
		out, err := exec.Command("dmsetup", append(verb, "--noudevsync", "--major", fmt.Sprint(d.Dev.Major()), "--minor", fmt.Sprint(d.Dev.Minor()))...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("dmsetup %v: %w: %s", verb, err, out)
		}
		return nil
	}
	if err := set("suspend", "--nolockfs"); err != nil {
		t.Fatal(err)
	}
	resume = sync.OnceFunc(func() {
		if err := set("resume"); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(resume)
	return resume
}

// mapped makes a device-mapper device by its table.
func mapped(t testing.TB, name, table string) Device {
	t.Helper()
	Run(t, "dmsetup", "--noudevsync", "create", name, "--table", table)
	t.Cleanup(func() { exec.Command("dmsetup", "--noudevsync", "remove", "--force", name).Run() })
	// Without udev nobody makes /dev/mapper: the kernel's own node is there at once.
	return DeviceAt(t, filepath.Join("/dev", Run(t, "dmsetup", "info", "-c", "--noheadings", "-o", "blkdevname", name)))
}

// ScsiDebug is a SCSI disk in memory that answers after a delay. Options are the module's, such as for errors.
func ScsiDebug(t testing.TB, mib int, delay time.Duration, options ...string) Device {
	t.Helper()
	needGuest(t)
	Run(t, "modprobe", "sd_mod")
	before := disks("sd")
	Run(t, "modprobe", append([]string{"scsi_debug", fmt.Sprintf("dev_size_mb=%d", mib), fmt.Sprintf("ndelay=%d", delay.Nanoseconds())}, options...)...)
	t.Cleanup(func() { exec.Command("modprobe", "-r", "scsi_debug").Run() })
	for range 100 {
		for _, name := range disks("sd") {
			if !strings.Contains(strings.Join(before, " "), name) {
				return DeviceAt(t, "/dev/"+name)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("scsi_debug made no disk")
	return Device{}
}

// Disk is a disk of the guest, by the serial number that the lab gave it; of one with several
// paths their head.
func Disk(t testing.TB, serial string) Device {
	t.Helper()
	needGuest(t)
	for _, name := range append(disks("vd"), disks("nvme")...) {
		if text, err := os.ReadFile(filepath.Join("/sys/block", name, "hidden")); err == nil && strings.TrimSpace(string(text)) == "1" {
			continue // a path
		}
		for _, file := range []string{"serial", "device/serial"} {
			if text, err := os.ReadFile(filepath.Join("/sys/block", name, file)); err == nil && strings.TrimSpace(string(text)) == serial {
				return DeviceAt(t, "/dev/"+name)
			}
		}
	}
	t.Fatalf("the guest has no disk %q", serial)
	return Device{}
}

func needGuest(t testing.TB) {
	t.Helper()
	NeedRoot(t)
	if !Guest() {
		t.Skip("only on the lab's kernels")
	}
}

func disks(prefix string) (names []string) {
	paths, _ := filepath.Glob("/sys/block/" + prefix + "*")
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func sectors(t testing.TB, d Device) int {
	t.Helper()
	var n int
	text, err := os.ReadFile(filepath.Join("/sys/class/block", d.Name, "size"))
	if err == nil {
		_, err = fmt.Sscan(string(text), &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
