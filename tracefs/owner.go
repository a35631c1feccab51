// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Owner is the run of the program that put something into the tracing file
// system. Its name is the group of its probes and begins those of its instances,
// so that what a killed run left behind is known as ours, and nobody else's.
type Owner struct {
	PID    int    // in its own pid namespace
	Boot   string // first eight digits of the kernel's boot id
	Number int    // of the witness within its process; the first is 0
}

const (
	ownerPrefix = "iowitness"
	bootDigits  = 8
)

// String is such as iowitness_4711_0a1b2c3d, with _N for the later ones of a process.
func (o Owner) String() string {
	name := fmt.Sprintf("%s_%d_%s", ownerPrefix, o.PID, o.Boot)
	if o.Number > 0 {
		name += fmt.Sprintf("_%d", o.Number)
	}
	return name
}

// ParseOwner finds whose the name of a group or an instance is, and what follows
// the owner in it. ok is false for every name that no iowitness has made.
func ParseOwner(name string) (o Owner, role string, ok bool) {
	parts := strings.Split(name, "_")
	if len(parts) < 3 || parts[0] != ownerPrefix || len(parts[2]) != bootDigits || !isHex(parts[2]) {
		return Owner{}, "", false
	}
	pid, ok := parseNumber(parts[1])
	if !ok || pid == 0 {
		return Owner{}, "", false
	}
	o, parts = Owner{PID: pid, Boot: parts[2]}, parts[3:]
	if len(parts) > 0 {
		if n, ok := parseNumber(parts[0]); ok {
			o.Number, parts = n, parts[1:]
		}
	}
	switch len(parts) {
	case 0:
		return o, "", true
	case 1:
		return o, parts[0], parts[0] != ""
	}
	return Owner{}, "", false
}

func parseNumber(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil && strconv.FormatUint(n, 10) == text
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

var owners atomic.Int64

// NewOwner is the name under which this process puts its next probes and
// instances; no two are alike.
func (t *FS) NewOwner() (Owner, error) {
	boot, err := readBoot(t.system)
	return Owner{PID: os.Getpid(), Boot: boot, Number: int(owners.Add(1) - 1)}, err
}

func readBoot(root string) (string, error) {
	id, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/random/boot_id"))
	if err != nil || len(id) < bootDigits || !isHex(string(id[:bootDigits])) {
		return "", fmt.Errorf("the kernel's boot id cannot be read: is proc mounted? (%v)", err)
	}
	return string(id[:bootDigits]), nil
}
