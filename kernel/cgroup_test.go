// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"testing"

	"github.com/iowitness/iowitness/kernel"
)

// Writeback is charged only where block I/O and memory are both of version 2 (case A15).
func TestWhereWritebackIsCharged(t *testing.T) {
	const v2, hybrid = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	const blkio = "31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"v2":            {map[string]string{"proc/self/mountinfo": v2, "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n"}, true},
		"hybrid":        {map[string]string{"proc/self/mountinfo": hybrid + blkio, "sys/fs/cgroup/unified/cgroup.controllers": "\n"}, false},
		"memory of v1":  {map[string]string{"proc/self/mountinfo": hybrid, "sys/fs/cgroup/unified/cgroup.controllers": "io pids\n"}, false},
		"v1":            {map[string]string{"proc/self/mountinfo": blkio}, false},
		"no cgroups":    {map[string]string{"proc/self/mountinfo": ""}, false},
		"others' names": {map[string]string{"proc/self/mountinfo": v2, "sys/fs/cgroup/cgroup.controllers": "iox memoryx\n"}, false},
	} {
		if got, err := kernel.ChargesWriteback(tree(t, test.files)); got != test.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := kernel.ChargesWriteback(t.TempDir()); err == nil {
		t.Error("no error without /proc")
	}
}
