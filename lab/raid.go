// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Raid1 mirrors one device onto another, without a superblock and taken as in step.
func Raid1(t testing.TB, a, b Device) Device {
	t.Helper()
	needGuest(t)
	Run(t, "modprobe", "raid1")
	const name = "md0"
	write := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatalf("%s > %s: %v", value, file, err)
		}
	}
	dir := filepath.Join("/sys/block", name, "md")
	write("/sys/module/md_mod/parameters/new_array", name)
	kib := min(sectors(t, a), sectors(t, b)) / 2 / 64 * 64
	write(filepath.Join(dir, "metadata_version"), "none")
	write(filepath.Join(dir, "level"), "raid1")
	write(filepath.Join(dir, "raid_disks"), "2")
	write(filepath.Join(dir, "component_size"), strconv.Itoa(kib))
	write(filepath.Join(dir, "resync_start"), "none")
	for slot, d := range []Device{a, b} {
		write(filepath.Join(dir, "new_dev"), fmt.Sprintf("%d:%d", d.Dev.Major(), d.Dev.Minor()))
		write(filepath.Join(dir, "dev-"+d.Name, "slot"), strconv.Itoa(slot))
	}
	write(filepath.Join(dir, "array_state"), "active")
	t.Cleanup(func() {
		for range 50 {
			if os.WriteFile(filepath.Join(dir, "array_state"), []byte("clear"), 0o600) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("%s stays", name)
	})
	return DeviceAt(t, "/dev/"+name)
}
