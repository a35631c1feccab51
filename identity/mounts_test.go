// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func machine(t *testing.T) string {
	t.Helper()
	return tree(t, map[string]string{
		"proc/self/mountinfo":                               fixture(t, "mountinfo"),
		"sys/dev/block/254:1":                               "-> ../../devices/virtio0/block/vda/vda1",
		"sys/devices/virtio0/block/vda/vda1/x":              "",
		"sys/dev/block/7:3":                                 "-> ../../devices/virtual/block/loop3",
		"sys/devices/virtual/block/loop3/loop/backing_file": "/var/img/with space \n",
		"sys/dev/block/253:0":                               "-> ../../devices/virtual/block/dm-0",
		"sys/devices/virtual/block/dm-0/dm/name":            "vg-lv\n",
		"sys/dev/block/104:1":                               "-> ../../devices/pci/block/cciss!c0d0/cciss!c0d0p1",
		"sys/fs/btrfs/features/x":                           "",
		"sys/fs/btrfs/0a1b/devices/loop4/dev":               "7:4\n",
		"sys/fs/btrfs/0a1b/devices/loop3/dev":               "7:3\n",
		"sys/fs/btrfs/ffff/devices/loop9/dev":               "7:9\n",
	})
}

func fakeStat(root string) func(string) (event.Dev, error) {
	return func(path string) (event.Dev, error) {
		switch strings.TrimPrefix(path, root) {
		case "/dev/loop3":
			return event.MakeDev(7, 3), nil
		case "/dev/fuse":
			return 0, unix.ENOTBLK
		}
		return 0, errors.New("no such device")
	}
}

func TestResolve(t *testing.T) {
	mounts := identity.NewMounts(machine(t))
	vda1, btrfs := event.MakeDev(254, 1), event.MakeDev(0, 50)
	for _, c := range []struct {
		dev  event.Dev
		in   string
		want string
		ok   bool
	}{
		{vda1, "/etc/passwd", "/etc/passwd", true},
		{vda1, "/", "/", true},
		{vda1, "", "/", true},
		{vda1, "/srv/data/x", "/exports/my data/x", true}, // a bind mount shows less
		{vda1, "/srv/database", "/srv/database", true},    // no part of the name counts
		{event.MakeDev(7, 0), "/lib/x", "/var/lib/x", true},
		{btrfs, "/@/usr/bin/x", "/mnt/pool/usr/bin/x", true},
		{btrfs, "/@home/me", "", false},        // that subvolume is not mounted
		{event.MakeDev(0, 4), "/x", "", false}, // nsfs: its root is no path
		{event.MakeDev(9, 9), "/x", "", false},
	} {
		got, ok := mounts.Resolve(c.dev, c.in)
		if got != c.want || ok != c.ok {
			t.Errorf("%d:%d %s is %q (%v), want %q (%v)", c.dev.Major(), c.dev.Minor(), c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestBacking(t *testing.T) {
	root := machine(t)
	mounts := identity.NewMounts(root)
	mounts.StatDevice = fakeStat(root)
	for _, c := range []struct {
		name string
		dev  event.Dev
		want []event.Dev
	}{
		{"a file system of its own device", event.MakeDev(254, 1), []event.Dev{event.MakeDev(254, 1)}},
		{"btrfs on two", event.MakeDev(0, 50), []event.Dev{event.MakeDev(7, 3), event.MakeDev(7, 4)}},
		{"nfs", event.MakeDev(0, 51), nil},
		{"overlay", event.MakeDev(0, 52), nil},
		{"a source that is no device", event.MakeDev(0, 53), nil},
		{"unknown", event.MakeDev(0, 99), nil},
	} {
		if diff := cmp.Diff(c.want, mounts.Backing(c.dev)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestDeviceNames(t *testing.T) {
	root := machine(t)
	devices := identity.NewDevices(root, identity.NewMounts(root))
	for dev, want := range map[event.Dev]string{
		event.MakeDev(254, 1): "vda1",
		event.MakeDev(7, 3):   "loop3",
		event.MakeDev(253, 0): "dm-0 (vg-lv)",
		event.MakeDev(104, 1): "cciss/c0d0p1",
		event.MakeDev(0, 50):  "btrfs on /dev/loop3",
		event.MakeDev(0, 51):  "nfs4 server:/export",
		event.MakeDev(0, 52):  "overlay",
		event.MakeDev(0, 99):  "0:99",
		event.MakeDev(8, 0):   "8:0",
	} {
		if got := devices.Name(dev); got != want {
			t.Errorf("%d:%d is %q, want %q", dev.Major(), dev.Minor(), got, want)
		}
	}
	if got := devices.Detail(event.MakeDev(7, 3)); got != "/var/img/with space " {
		t.Errorf("loop3 is on %q", got)
	}
	if got := devices.Node(event.MakeDev(253, 0)); got != "/dev/mapper/vg-lv" {
		t.Errorf("dm-0 is %q", got)
	}
}

func TestFilePath(t *testing.T) {
	root := machine(t)
	mounts := identity.NewMounts(root)
	devices := identity.NewDevices(root, mounts)
	vda1 := event.MakeDev(254, 1)
	for _, c := range []struct {
		name string
		file event.File
		want string
		ok   bool
	}{
		{"a file", event.File{Dev: vda1, Source: event.ByFD, Path: "/etc/x"}, "/etc/x", true},
		{"none", event.File{Dev: vda1, Path: "/etc/x"}, "", false},
		{"too deep", event.File{Dev: vda1, Source: event.ByFD, Path: strings.Repeat("/a", 20)}, "", false},
		{"just not too deep", event.File{Dev: vda1, Source: event.ByFD, Path: strings.Repeat("/a", 19)}, strings.Repeat("/a", 19), true},
		{"too long", event.File{Dev: vda1, Source: event.ByFD, Path: strings.Repeat("/aaaaaaaaaaaaaaa", 16)}, "", false},
		{"a cut component", event.File{Dev: vda1, Source: event.ByFD, Path: "/" + strings.Repeat("a", 127)}, "", false},
		{"a disk", event.File{Dev: event.MakeDev(7, 3), Source: event.ByFD, Path: "/loop3", BlockDevice: true}, "/dev/loop3", true},
		{"an unknown disk", event.File{Dev: event.MakeDev(8, 0), Source: event.ByFD, Path: "/sda", BlockDevice: true}, "", false},
	} {
		got, ok := identity.FilePath(c.file, mounts, devices)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %q (%v), want %q (%v)", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestMountViewsOfContainers(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/self/ns/mnt": "-> mnt:[1]", "proc/self/root": "-> /",
		"proc/self/mountinfo": "1 1 0:60 / /host rw - overlay overlay rw\n",
		"proc/10/ns/mnt":      "-> mnt:[1]", "proc/10/root": "-> /",
		"proc/20/ns/mnt": "-> mnt:[2]", "proc/20/root": "-> /",
		"proc/20/mountinfo": "1 1 0:60 / / rw - overlay overlay rw\n",
	})
	views := identity.NewMountViews(root)
	for pid, want := range map[uint32]string{10: "/host/x", 20: "/x", 30: "/host/x"} {
		mounts, own := views.Of(pid)
		if got, _ := mounts.Resolve(event.MakeDev(0, 60), "/x"); got != want || own != (pid != 20) {
			t.Errorf("process %d sees %q (own: %v), want %q", pid, got, own, want)
		}
	}
}

func TestThisMachinesMounts(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(exe, &st); err != nil {
		t.Fatal(err)
	}
	dev := event.MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev))
	mounts := identity.NewMounts("/")
	if _, _, ok := mounts.Source(dev); !ok {
		t.Skip("the test's own file system has another device number in mountinfo, as with btrfs")
	}
	if name := identity.NewDevices("/", mounts).Name(dev); name == "" {
		t.Error("its device has no name")
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(fixture(f, "mountinfo"), "/srv/data/x")
	f.Add(`1 1 0:1 / /a\0 rw - x y`, "")
	f.Add("1 1 4096:1048576 / / rw - x y z", "/")
	f.Fuzz(func(t *testing.T, text, path string) {
		mounts := identity.ParseMounts(text)
		for _, m := range mounts {
			if again, err := identity.ParseDev(fmt.Sprintf("%d:%d", m.Dev.Major(), m.Dev.Minor())); err != nil || again != m.Dev {
				t.Errorf("%+v: device %d, %v", m, again, err)
			}
		}
		if got, ok := identity.ResolveAmong(mounts, path); ok && !strings.HasPrefix(got, "/") {
			t.Errorf("%q is %q", path, got)
		}
	})
}
