// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestCausesAreDescribed(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	ids, titles := map[string]bool{}, map[string]bool{}
	for _, c := range Causes() {
		if !id.MatchString(c.ID()) || ids[c.ID()] {
			t.Errorf("cause %d: id %q is malformed or used twice", c, c.ID())
		}
		if c.Title() == "" || titles[c.Title()] || len(c.Title()) > 32 {
			t.Errorf("%s: title %q is empty, too long or used twice", c, c.Title())
		}
		for _, text := range []string{c.Explain(), c.Next()} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") || len(text) > 260 {
				t.Errorf("%s: not one sentence on one line: %q", c, text)
			}
		}
		ids[c.ID()], titles[c.Title()] = true, true
	}
	if len(Causes()) != int(causeCount) {
		t.Errorf("%d of %d causes listed", len(Causes()), causeCount)
	}
}

// The ids that JSON, metrics and the design page promise.
func TestCauseIDsAreStable(t *testing.T) {
	want := `page_cache_read page_fault_read direct_read direct_write metadata_read metadata_write data_writeback
		device_flush discard journal_commit journal_space journal_locked log_force dirty_throttle cgroup_throttle qos_throttle
		request_tag queue_frozen swap_in reclaim inode_lock page_lock mmap_lock fs_frozen nfs fuse network_block io_uring_idle
		io_uring_io loop_device device_mapper raid not_storage unknown unattributed`
	if got := strings.Join(allIDs(), " "); got != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got %s", got)
	}
}

func TestZeroCauseIsUnknown(t *testing.T) {
	var c Cause
	if c != Unknown || Cause(200).ID() != "unknown" {
		t.Error("a cause that was not set, or is out of range, must read as unknown")
	}
	if _, err := Cause(200).MarshalText(); err == nil {
		t.Error("a cause out of range was written")
	}
}

func TestStorage(t *testing.T) {
	for _, c := range Causes() {
		if want := c != IOUringIdle && c != NotStorage; c.Storage() != want {
			t.Errorf("%s: Storage() = %v", c, c.Storage())
		}
	}
}

func TestCauseText(t *testing.T) {
	for _, c := range Causes() {
		data, err := json.Marshal(map[Cause]Cause{c: c})
		if err != nil {
			t.Fatal(err)
		}
		back := map[Cause]Cause{}
		if err := json.Unmarshal(data, &back); err != nil || back[c] != c {
			t.Errorf("%s: %v, %v", data, back, err)
		}
	}
	var c Cause
	if err := json.Unmarshal([]byte(`"fsync"`), &c); err == nil {
		t.Error("an unknown id was read")
	}
}

func TestParseCauseOffersNearNames(t *testing.T) {
	for text, near := range map[string]string{
		"page_cache_raed": "page_cache_read", "devicflush": "device_flush", "Device-Flush": "device_flush", "fsync": "data_writeback", "wbt": "qos_throttle",
		"journal": "journal_commit", "trim": "discard", "swap": "swap_in", "io_uring": "io_uring_io", "raid1": "raid", "lvm": "device_mapper", "": "page_cache_read", "zzzzz": "page_cache_read",
		strings.Repeat("x", 1000): "page_cache_read",
	} {
		_, err := ParseCause(text)
		if err == nil || !strings.Contains(err.Error(), near) {
			t.Errorf("%q: %v does not offer %s", text, err, near)
		}
	}
	if _, err := ParseCause("page_cache_raed"); strings.Contains(err.Error(), "discard") {
		t.Errorf("a slip of typing is offered too much: %v", err)
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		cause   Cause
		syscall string
		want    string
	}{
		{DeviceFlush, "fsync", "fsync's device flush"},
		{DeviceFlush, "pwrite64", "device flush in pwrite64"},
		{JournalCommit, "fdatasync", "fdatasync's journal commit"},
		{PageCacheRead, "read", "page cache read miss in read"},
		{PageCacheRead, "", "page cache read miss"},
		{PageFaultRead, "", "page fault read"},
		{MetadataRead, "openat", "metadata read in openat"},
		{IOUringIdle, "io_uring_enter", "idle io_uring wait"},
		{NotStorage, "vfork", "no I/O behind it"},
		{Unknown, "read", "unknown cause"},
		{Unattributed, "", "unattributed time"},
		{NFS, "read", "wait for the NFS server in read"},
	} {
		if got := Words(c.cause, c.syscall); got != c.want {
			t.Errorf("%s in %q: got %q, want %q", c.cause, c.syscall, got, c.want)
		}
	}
}

func FuzzParseCause(f *testing.F) {
	for _, c := range Causes() {
		f.Add(c.ID())
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCause(text)
		if err == nil && c.ID() != text {
			t.Errorf("%q became %s", text, c)
		}
	})
}
