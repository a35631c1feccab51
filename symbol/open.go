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

// held is a file that is held, but not opened for reading yet. To take hold of one asks nothing
// of the file system that it is on, which may be a server that does not answer.
type held struct {
	file  *os.File
	key   fileKey
	owner uint32
}

// holdFile takes hold of a regular file by a path that the kernel made (/proc/PID/…). The file may
// be whatever a hostile process has mapped: nothing but a regular file is taken.
func holdFile(path string) (held, error) {
	return taken(unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0))
}

// holdBeneath takes hold of a regular file by a path as the processes below a root see it. Links,
// absolute ones also, do not lead out of the root.
func holdBeneath(root *os.File, path string) (held, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return taken(unix.Openat2(int(root.Fd()), path, &how)) // Linux 5.6; before it such files are not found
}

func taken(fd int, err error) (held, error) {
	if err != nil {
		return held{}, err
	}
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return held{}, err
	}
	key := fileKey{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), int64(st.Size)}
	return held{os.NewFile(uintptr(fd), "held"), key, st.Uid}, nil
}

// read opens the file for reading, and tells its size. It may take as long as the file system likes.
func (h held) read() (*os.File, int64, error) {
	name := "/proc/self/fd/" + strconv.Itoa(int(h.file.Fd()))
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	file := os.NewFile(uintptr(fd), name)
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// close lets go of the file.
func (h held) close() {
	if h.file != nil {
		h.file.Close()
	}
}

// openRoot takes hold of a process's root directory, so that it outlasts the process.
func openRoot(path string) (*os.File, fileKey, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fileKey{}, err
	}
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st); err != nil {
		unix.Close(fd)
		return nil, fileKey{}, err
	}
	return os.NewFile(uintptr(fd), path), fileKey{device: unix.Mkdev(st.Dev_major, st.Dev_minor), inode: st.Ino}, nil
}
