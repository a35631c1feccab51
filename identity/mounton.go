// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// ReadMounts reads proc/self/mountinfo below root.
func ReadMounts(root string) ([]Mount, error) {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("what is mounted cannot be read: %w", err)
	}
	return ParseMounts(string(text)), nil
}

// MountOf finds the mount that a path lies on; links are followed. The path is
// the caller's own, the table of mounts that below root.
func MountOf(root, path string) (Mount, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return Mount{}, fmt.Errorf("there is no %q", path)
	case err != nil:
		return Mount{}, fmt.Errorf("%q cannot be looked at: %w", path, err)
	case st.Mask&unix.STATX_MNT_ID == 0:
		return Mount{}, fmt.Errorf("this kernel does not tell on which mount %q is", path)
	}
	mounts, err := ReadMounts(root)
	if err != nil {
		return Mount{}, err
	}
	for _, m := range mounts {
		if m.ID == st.Mnt_id {
			return m, nil
		}
	}
	return Mount{}, fmt.Errorf("the mount on which %q is has gone, or is out of our sight", path)
}

// Whole is the whole device of a partition; of any other device it is that itself.
func (d *Devices) Whole(dev event.Dev) event.Dev {
	directory := filepath.Join(d.root, "sys/dev/block", number(dev))
	if readLine(filepath.Join(directory, "partition")) == "" {
		return dev
	}
	link, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return dev
	}
	whole, err := ParseDev(readLine(filepath.Join(filepath.Dir(link), "dev")))
	if err != nil {
		return dev
	}
	return whole
}
