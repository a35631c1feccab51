// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/spelling"
)

// Key is what rows are grouped by.
type Key uint8

// The keys, in the order of their columns.
const (
	ByProcess Key = iota
	ByThread
	ByUser
	ByCgroup
	ByContainer
	ByCause
	ByDevice
	ByFile
)

var keyNames = [...]string{"process", "thread", "user", "cgroup", "container", "cause", "device", "file"}

func (k Key) String() string { return keyNames[k] }

// splits says that the key parts a single thread's waiting, so that its rows
// come from charges and not from exact tallies.
func (k Key) splits() bool { return k >= ByCause }

// KeyNames are the names that ParseKey takes.
func KeyNames() []string { return slices.Clone(keyNames[:]) }

// ParseKey finds a key by its name.
func ParseKey(name string) (Key, error) {
	if i := slices.Index(keyNames[:], name); i >= 0 {
		return Key(i), nil
	}
	return 0, spelling.Unknown("cannot group by", name, keyNames[:])
}

// Options choose what a snapshot shows.
type Options struct {
	By     []Key // in the order of the columns; default: ByProcess
	Top    int   // rows; the others are summed into one. 0: all
	Stacks int   // distinct stacks per row; the largest is always there
	Splits bool  // also fill Snapshot.Splits

	Min     time.Duration // rows whose longest wait is shorter are left out, and counted
	Causes  []blame.Cause // any of them
	PIDs    []uint32      // any of them
	Comms   []string      // any of them: of the thread, of the process or the executable's base name
	Cgroups []string      // any of them or below
	Users   []string      // any of them: name or number
}

func (o *Options) normalize() {
	if len(o.By) == 0 {
		o.By = []Key{ByProcess}
	}
	o.By = distinct(o.By)
	o.Stacks = max(o.Stacks, 1)
}

func distinct(keys []Key) []Key {
	var once []Key
	for _, k := range keys {
		if !slices.Contains(once, k) {
			once = append(once, k)
		}
	}
	return once
}

// fromCharges says whether the rows can be told from exact tallies or need charges.
func (o *Options) fromCharges() bool {
	return len(o.Causes) > 0 || slices.ContainsFunc(o.By, Key.splits)
}

func (o *Options) wantsCause(c blame.Cause) bool {
	return len(o.Causes) == 0 || slices.Contains(o.Causes, c)
}

// filtered says that some threads or waits are left out.
func (o *Options) filtered() bool {
	return len(o.Causes)+len(o.PIDs)+len(o.Comms)+len(o.Cgroups)+len(o.Users) > 0 || o.Min > 0
}

func (o *Options) wantsThread(t *blame.Thread, names *nameCache) bool {
	if len(o.PIDs) > 0 && !slices.Contains(o.PIDs, t.PID) {
		return false
	}
	if len(o.Comms)+len(o.Cgroups)+len(o.Users) == 0 {
		return true
	}
	p := names.Process(t.PID)
	return (len(o.Comms) == 0 || slices.ContainsFunc(o.Comms, func(want string) bool { return matchesComm(want, t, &p) })) &&
		(len(o.Cgroups) == 0 || slices.ContainsFunc(o.Cgroups, func(want string) bool { return within(p.Cgroup, want) })) &&
		(len(o.Users) == 0 || p.Known && slices.ContainsFunc(o.Users, func(want string) bool { return matchesUser(want, &p) }))
}

const commBytes = 15 // of a name that the kernel keeps

// matchesComm takes the full name of an executable as well as the kernel's cut one.
func matchesComm(want string, t *blame.Thread, p *ProcessName) bool {
	cut := want[:min(len(want), commBytes)]
	return t.Comm == cut || p.Comm == cut || baseName(p.Exe) == want
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// within says whether path is prefix or below it, by whole components.
func within(path, prefix string) bool {
	prefix = "/" + strings.Trim(prefix, "/")
	if prefix == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

func matchesUser(want string, p *ProcessName) bool {
	return want == p.User && want != "" || want == fmt.Sprint(p.UID)
}
