// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

var errNotRegular = errors.New("not a regular file")

// fileKey tells files apart, and a file from what it was before it was changed.
type fileKey struct {
	device, inode uint64
	modified      int64 // ns
	size          int64
}

// openRegular opens a file by a path that the kernel made (/proc/PID/…). The file may be
// whatever a hostile process has mapped: nothing but a regular file is really opened.
func openRegular(path string) (*os.File, fileKey, error) {
	return reopen(unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0))
}

// openBeneath opens a regular file by a path as the processes below a root see it. Links,
// absolute ones also, do not lead out of the root.
func openBeneath(root *os.File, path string) (*os.File, fileKey, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return reopen(unix.Openat2(int(root.Fd()), path, &how)) // Linux 5.6; before it such files are not found
}

// reopen opens for reading what so far is only a place.
func reopen(place int, err error) (*os.File, fileKey, error) {
	if err != nil {
		return nil, fileKey{}, err
	}
	defer unix.Close(place)
	var st unix.Stat_t
	if err := unix.Fstat(place, &st); err != nil {
		return nil, fileKey{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fileKey{}, errNotRegular
	}
	name := "/proc/self/fd/" + strconv.Itoa(place)
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fileKey{}, err
	}
	key := fileKey{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Size}
	return os.NewFile(uintptr(fd), name), key, nil
}

// openRoot takes hold of a process's root directory, so that it outlasts the process.
func openRoot(path string) (*os.File, fileKey, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fileKey{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, fileKey{}, err
	}
	return os.NewFile(uintptr(fd), path), fileKey{device: uint64(st.Dev), inode: st.Ino}, nil
}
