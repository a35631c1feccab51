// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strconv"
	"sync"
)

// maxViews bounds the mount namespaces whose tables are kept.
const maxViews = 64

// MountViews keeps the mounts as different processes see them: containers and
// many services have mount namespaces of their own. Safe for concurrent use.
type MountViews struct {
	root      string
	own       *Mounts
	namespace string // of iowitness itself

	mu    sync.Mutex
	views map[string]*Mounts
}

// NewMountViews reads from proc below root, when asked.
func NewMountViews(root string) *MountViews {
	return &MountViews{root: root, own: NewMounts(root), namespace: namespaceOf(root, "self"), views: map[string]*Mounts{}}
}

// Own is the view of iowitness itself, which Of falls back on.
func (v *MountViews) Own() *Mounts { return v.own }

// Of is the view of a process; own is true where it is that of iowitness
// itself, as for a process that has ended or cannot be read.
func (v *MountViews) Of(pid uint32) (mounts *Mounts, own bool) {
	process := strconv.FormatUint(uint64(pid), 10)
	namespace := namespaceOf(v.root, process)
	v.mu.Lock()
	defer v.mu.Unlock()
	if namespace == "" || namespace == v.namespace {
		return v.own, true
	}
	m := v.views[namespace]
	if m == nil {
		if len(v.views) >= maxViews {
			clear(v.views)
		}
		m = NewMounts(v.root)
		m.namespace = namespace
		v.views[namespace] = m
	}
	m.mu.Lock()
	m.process = process // the one known to live
	m.mu.Unlock()
	return m, false
}
