// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"

	"github.com/iowitness/iowitness/event"
)

// Limits of the kernel side's paths: PATH_LEVELS, PATH_BYTES and NAME_BYTES in bpf/abi.h.
const (
	pathLevels = 20
	pathBytes  = 256
	nameBytes  = 128
)

// PathComplete tells whether a file's path within its file system reaches up
// to that file system's root, and no component of it was cut. One that just
// fits within the limits counts as cut.
func PathComplete(f event.File) bool {
	if f.Source == event.NoFile || len(f.Path) >= pathBytes || strings.Count(f.Path, "/") >= pathLevels {
		return false
	}
	for component := range strings.SplitSeq(f.Path, "/") {
		if len(component) >= nameBytes-1 {
			return false
		}
	}
	return true
}

// FilePath is a file's path as mounts show it; a block device's is its
// node below /dev. ok is false if it is not known: f.Path, the path within the file
// system or the innermost part of it, is then all there is. devices may be nil.
func FilePath(f event.File, mounts *Mounts, devices *Devices) (path string, ok bool) {
	if !PathComplete(f) {
		return "", false
	}
	if !f.BlockDevice {
		return mounts.Resolve(f.Dev, f.Path)
	}
	if devices == nil {
		return "", false
	}
	path = devices.Node(f.Dev)
	return path, path != ""
}
