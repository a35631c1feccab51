// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/lab"
)

// TestPathsAreToldWithTheirDisk (case A12): of an NVMe disk by two controllers each I/O is seen once,
// as the disk's, by the hidden path that it took, whichever of the two it is watched by.
func TestPathsAreToldWithTheirDisk(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	head := lab.Disk(t, "shared")
	paths := pathsOf(head.Name)
	if len(paths) != 2 && hiddenAreNumbered() {
		t.Fatalf("%s has the paths %v: was the kernel booted without multipath?", head.Name, paths)
	}
	var used event.Dev
	for _, asked := range []string{"all", "disk", "path"} {
		dev := map[string]event.Dev{"disk": head.Dev, "path": used}[asked]
		for _, engine := range []string{"psync", "libaio", "io_uring"} {
			if asked != "all" && engine != "psync" {
				continue
			}
			if engine == "io_uring" && lab.GuestLine() == "5.10" {
				continue // where a disk cannot be asked without waiting, kernel threads of its own submit there
			}
			t.Run(asked+"/"+engine, func(t *testing.T) {
				w := openRequests(t, RequestOptions{Records: true, Sums: true, Dev: dev, Address: symbolAddress(t)})
				truth := lab.Fio(t, head.Path, "--ioengine="+engine, "--iodepth=8", "--numjobs=2", "--size=32m", "--io_size=256k")
				r := allRequests(t, w)
				checkFio(t, w, r, truth)
				used = checkPaths(t, r, head, paths)
			})
		}
	}
	t.Run("split", func(t *testing.T) { // larger than the controllers take at once
		w := openRequests(t, RequestOptions{Records: true, Dev: head.Dev})
		truth := lab.Fio(t, head.Path, "--bs=4m", "--size=16m", "--rw=read")
		r := allRequests(t, w)
		checkPaths(t, r, head, paths)
		var bytes uint64
		for _, o := range r.ios {
			bytes += uint64(o.Bytes)
		}
		if bytes != truth.ReadBytes || uint64(len(r.ios)) <= truth.Reads {
			t.Errorf("%d requests of %d bytes are told of %d of %d", len(r.ios), bytes, truth.Reads, truth.ReadBytes)
		}
	})
}

// hiddenAreNumbered says whether the kernel tells the numbers of hidden disks.
func hiddenAreNumbered() bool { return lab.GuestLine() != "5.10" }

// pathsOf are the numbers of a disk's hidden paths, by their names.
func pathsOf(head string) map[event.Dev]string {
	controller, namespace, _ := strings.Cut(strings.TrimPrefix(head, "nvme"), "n")
	paths := map[event.Dev]string{}
	for c := range 8 {
		name := fmt.Sprintf("nvme%sc%dn%s", controller, c, namespace)
		if dev, ok := identity.HiddenDisk("/", name); ok {
			paths[dev] = name
		}
	}
	return paths
}

// checkPaths holds what is fio's to have come through the disk to a path of it, and gives that.
func checkPaths(t *testing.T, r *toldRequests, head lab.Device, paths map[event.Dev]string) (used event.Dev) {
	t.Helper()
	n, wrong := 0, 0
	for _, o := range r.ios {
		if o.Owner.Comm != "fio" {
			continue
		}
		n++
		used = o.Disk
		right := o.Dev == head.Dev && o.Top == head.Dev && o.Whole() == head.Dev && (paths[o.Disk] != "" || !hiddenAreNumbered()) && o.Disk != head.Dev && o.Flags&event.IOPassed != 0 && o.Issued != 0
		if !right || o.Carrier.TID != 0 {
			if wrong++; wrong < 5 {
				t.Errorf("%+v", o)
			}
		}
	}
	t.Logf("%d requests by %s", n, paths[used])
	if n == 0 || wrong > 0 {
		t.Errorf("%d requests of the disk, %d wrong", n, wrong)
	}
	return used
}
