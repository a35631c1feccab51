// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// wishes say whose waits are wanted. Processes and followed threads are also a
// filter of the kernel's, which lets nobody else's events pass.
type wishes struct {
	root       string
	self       uint32 // left out; 0: nobody is
	pids       map[uint32]bool
	unfollowed map[uint32]bool
	comm       string
	cgroup     *cgroupFilter
}

func newWishes(root string, o *Options) (*wishes, error) {
	w := &wishes{root: root, unfollowed: map[uint32]bool{}, comm: o.Comm}
	if len(w.comm) > 15 {
		w.comm = w.comm[:15]
	}
	if !o.IncludeSelf {
		w.self = uint32(os.Getpid())
	}
	for _, pid := range o.PIDs {
		if _, err := os.Stat(filepath.Join(root, "proc", strconv.Itoa(int(pid)))); err != nil {
			return nil, &PIDError{pid}
		}
		if w.pids == nil {
			w.pids = map[uint32]bool{}
		}
		w.pids[pid] = true
	}
	var err error
	w.cgroup, err = findCgroup(root, o.Cgroup)
	return w, err
}

// recheckAfter is how long what proc told of a thread is believed: it may move to
// another cgroup.
const recheckAfter = 1e9 // ns

func (w *wishes) want(tid, pid uint32, comm string) bool {
	switch {
	case pid == w.self && pid != 0, w.unfollowed[tid]:
		return false
	case w.pids != nil && !w.pids[pid]:
		return false
	case w.comm != "" && comm != w.comm:
		return false
	}
	return w.cgroup == nil || w.cgroup.holds(w.root, tid)
}

// cgroupFilter is a cgroup by its path, as proc tells it of threads.
type cgroupFilter struct{ controller, path string }

// findCgroup looks for the cgroup of an id in the mounts of its hierarchy; nil for no filter.
func findCgroup(root string, c Cgroup) (*cgroupFilter, error) {
	if c.ID == 0 {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		within, dir, ok := cgroupMount(lines.Text(), c.Controller)
		if !ok {
			continue
		}
		if below, ok := directoryWithID(filepath.Join(root, dir), c.ID); ok {
			return &cgroupFilter{c.Controller, path.Join(within, below)}, nil
		}
	}
	return nil, fmt.Errorf("the cgroup to watch is in no mounted hierarchy: mount it, or name another one")
}

// cgroupMount reads a line of mountinfo: what of a hierarchy is mounted, and where.
func cgroupMount(line, controller string) (within, dir string, ok bool) {
	mount, fsPart, found := strings.Cut(line, " - ")
	fields, fsFields := strings.Fields(mount), strings.Fields(fsPart)
	if !found || len(fields) < 5 || len(fsFields) < 3 {
		return "", "", false
	}
	if controller == "" {
		ok = fsFields[0] == "cgroup2"
	} else {
		ok = fsFields[0] == "cgroup" && slices.Contains(strings.Split(fsFields[2], ","), controller)
	}
	return fields[3], fields[4], ok
}

var errFound = errors.New("found")

func directoryWithID(dir string, id uint64) (below string, ok bool) {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // one that is gone, or may not be read, is not the one
		}
		var st unix.Stat_t
		if unix.Stat(name, &st) == nil && st.Ino == id {
			below, _ = filepath.Rel(dir, name)
			return errFound
		}
		return nil
	})
	return below, errors.Is(err, errFound)
}

func (c *cgroupFilter) holds(root string, tid uint32) bool {
	text, err := os.ReadFile(filepath.Join(root, "proc", strconv.Itoa(int(tid)), "cgroup"))
	return err == nil && c.matches(string(text))
}

// matches reads lines such as "4:memory:/user.slice" and "0::/user.slice".
func (c *cgroupFilter) matches(text string) bool {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) != 3 || !slices.Contains(strings.Split(parts[1], ","), c.controller) {
			continue
		}
		rest, within := strings.CutPrefix(parts[2], strings.TrimSuffix(c.path, "/"))
		return within && (rest == "" || rest[0] == '/')
	}
	return false
}
