// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

// scene is a device with a file system and a workload on it, whose waits have a
// known cause, file and device.
type scene struct {
	work   lab.Workload
	device lab.Device
	causes []string // any of them is right
	file   string   // "": the wait names no file, or any

	handsOver bool // completions go to a worker, which wakes the waiter: no device is told where no file names one
}

type fsKind struct {
	name, fstype, options string
	mkfs                  []string
}

var (
	ext4Plain   = fsKind{"ext4 without journal", "ext4", "", []string{"-O", "^has_journal"}}
	ext4Journal = fsKind{"ext4 with journal", "ext4", "", nil}
	xfs         = fsKind{"xfs", "xfs", "", nil}
	btrfs       = fsKind{"btrfs", "btrfs", "", nil}
	eachFS      = []fsKind{ext4Plain, ext4Journal, xfs, btrfs}
)

func mounted(t *testing.T, k fsKind) (lab.Device, string) {
	t.Helper()
	d := lab.Loop(t, 400)
	return d, lab.Mount(t, d, k.fstype, k.options, k.mkfs...)
}

// fill makes a file of some MiB that is not in the page cache.
func fill(t *testing.T, file string, mib int) {
	t.Helper()
	b := make([]byte, mib<<20)
	for i := range b {
		b[i] = byte(i>>12) | 1
	}
	if err := os.WriteFile(file, b, 0o755); err != nil {
		t.Fatal(err)
	}
	lab.DropCaches(t)
}

// onFile is a scene whose workload takes a file of 32 MiB, and more arguments.
func onFile(name string, causes []string, args ...string) func(*testing.T, fsKind) scene {
	return func(t *testing.T, k fsKind) scene {
		d, dir := mounted(t, k)
		file := filepath.Join(dir, "data")
		fill(t, file, 32)
		return scene{lab.Workload{Name: name, Args: append([]string{file}, args...)}, d, causes, file, false}
	}
}

var flushing = []string{"data_writeback", "device_flush", "metadata_write", "journal_commit", "log_force"}

// fsyncCauses are what an fsync may wait for on each file system; the first must be among them.
func fsyncCauses(k fsKind) []string {
	switch k.name {
	case "ext4 with journal":
		return []string{"journal_commit", "data_writeback", "device_flush", "journal_locked"}
	case "xfs":
		return []string{"log_force", "data_writeback", "device_flush"}
	case "btrfs":
		return []string{"journal_commit", "data_writeback", "metadata_write", "device_flush", "journal_locked", "journal_space", "inode_lock", "page_lock"}
	}
	return []string{"data_writeback", "device_flush", "metadata_write"}
}

// btrfsDirectWrites: where it checksums data, it writes through the page cache from 6.14 on.
func btrfsDirectWrites(t *testing.T, k fsKind) scene {
	causes := []string{"data_writeback", "direct_write", "journal_space"}
	if slices.Contains([]string{"5.10", "6.1", "6.12"}, lab.GuestLine()) {
		causes[0], causes[1] = causes[1], causes[0]
	}
	return onFile("direct_write", causes, "500")(t, k)
}

func syncing(name string) func(*testing.T, fsKind) scene {
	return func(t *testing.T, k fsKind) scene {
		d, dir := mounted(t, k)
		file := filepath.Join(dir, "log")
		return scene{lab.Workload{Name: name, Args: []string{file, "200"}}, d, fsyncCauses(k), file, false}
	}
}

func executing(t *testing.T, k fsKind) scene {
	d, dir := mounted(t, k)
	file := filepath.Join(dir, "true")
	lab.Run(t, "cp", "/bin/true", file)
	lab.DropCaches(t)
	return scene{lab.Workload{Name: "exec", Args: []string{file, "1"}}, d, []string{"page_cache_read", "page_fault_read"}, file, false}
}

func syncingAll(t *testing.T, k fsKind) scene {
	d, dir := mounted(t, k)
	causes := flushing
	if k.name == "btrfs" {
		causes = slices.Concat(flushing, []string{"journal_space"}) // its writes wait for room in the transaction that is written
	}
	return scene{lab.Workload{Name: "sync", Args: []string{dir, "40"}}, d, causes, "", false}
}

func listing(t *testing.T, k fsKind) scene {
	d, dir := mounted(t, k)
	for i := range 3000 {
		sub := filepath.Join(dir, fmt.Sprint("dir", i/100))
		if i%100 == 0 {
			os.Mkdir(sub, 0o755)
		}
		os.WriteFile(filepath.Join(sub, fmt.Sprint("file", i)), nil, 0o644)
	}
	lab.Remount(t, d, dir, k.fstype, k.options) // what the journal holds is in no cache to be dropped
	return scene{lab.Workload{Name: "metadata", Args: []string{dir}}, d, []string{"metadata_read", "page_lock"}, "", k.name == "btrfs"}
}

func discarding(t *testing.T, k fsKind) scene {
	k.options = "discard"
	d, dir := mounted(t, k)
	for i := range 16 {
		os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), make([]byte, 8<<20), 0o644)
	}
	lab.DropCaches(t)
	return scene{lab.Workload{Name: "unlink", Args: []string{dir}}, d, []string{"discard"}, "", false}
}

func dirtying(t *testing.T, k fsKind) scene {
	lab.Sysctl(t, "vm/dirty_bytes", "2097152")
	lab.Sysctl(t, "vm/dirty_background_bytes", "1048576")
	d, dir := mounted(t, k)
	file := filepath.Join(dir, "big")
	return scene{lab.Workload{Name: "dirty", Args: []string{file, "200"}}, d, []string{"dirty_throttle"}, file, false}
}

func swapping(t *testing.T, _ fsKind) scene {
	d := lab.Swap(t, 256)
	return scene{lab.Workload{Name: "touch_memory", Args: []string{"96"}}, d, []string{"swap_in"}, "", false}
}

// scenes are the workloads of the test suite; each must get the right cause, file and device.
var scenes = []struct {
	name string
	on   []fsKind
	make func(*testing.T, fsKind) scene
}{
	{"buffered reads", eachFS, onFile("buffered", []string{"page_cache_read", "metadata_read"})}, // btrfs reads checksums too
	{"mmap", eachFS, onFile("mmap", []string{"page_fault_read"})},
	{"exec", eachFS, executing},
	{"fsync", eachFS, syncing("fsync")},
	{"O_SYNC writes", eachFS, syncing("osync")},
	{"O_DIRECT reads", eachFS, onFile("direct_read", []string{"direct_read"}, "500")},
	{"O_DIRECT writes", []fsKind{ext4Plain, ext4Journal, xfs}, onFile("direct_write", []string{"direct_write"}, "500")},
	{"O_DIRECT writes", []fsKind{btrfs}, btrfsDirectWrites},
	{"sync", eachFS, syncingAll},
	{"metadata", eachFS, listing},
	{"discard", []fsKind{ext4Plain}, discarding},
	{"dirty throttling", []fsKind{ext4Plain, xfs}, dirtying},
	{"swap", []fsKind{{name: "swap"}}, swapping},
}

func TestEachWorkloadGetsItsCauseFileAndDevice(t *testing.T) {
	lab.NeedRoot(t)
	for i, s := range scenes {
		on := s.on
		if testing.Short() {
			on = on[i%len(on):][:1] // all file systems have their turn
		}
		for _, k := range on {
			t.Run(s.name+" on "+k.name, func(t *testing.T) { s.make(t, k).check(t) })
		}
	}
}

func (s scene) check(t *testing.T) {
	t.Helper()
	cmd, truth := command(t, s.work)
	if s.work.Name == "touch_memory" {
		cmd = lab.WithinMemory(t, cmd, 48<<20)
	}
	doc := witness(t, cmd, "--by", "cause,device,file", "--stacks", "--max-cost", "0")
	var all, right uint64
	var sole bool
	for _, w := range doc.Waits {
		if !s.concerns(w) {
			continue
		}
		all += w.TotalNS
		if slices.Contains(s.causes, w.Cause) {
			right += w.TotalNS
			sole = sole || w.Cause == s.causes[0] || s.file == ""
		}
	}
	if right == 0 || float64(right) < 0.9*float64(all) || !sole {
		t.Errorf("%v: %.1f of %.1f ms for %v on %s, file %q", s.work, ms(right), ms(all), s.causes, s.device.Name, s.file)
		for _, w := range doc.Waits {
			t.Logf("%-18s %-10s %-12s %s %s: %d waits, %.1f ms  %s", w.Cause, w.Device, w.DeviceSource, w.File, w.FileSource, w.Count, ms(w.TotalNS), strings.Join(w.Stack, " "))
		}
	}
	lab.ReadTruth(t, truth)
}

// concerns says whether a row is about the scene's device, and its file if that has one.
func (s scene) concerns(w waitDoc) bool {
	if w.Device == "" && s.handsOver {
		return w.Cause != "unattributed" && w.Cause != "mmap_lock" && w.Cause != "not_storage"
	}
	return w.Device == s.device.Name && (s.file == "" || w.File == s.file)
}

func ms(ns uint64) float64 { return float64(ns) / 1e6 }
