// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Switch says whether the kernel accounts for delays.
type Switch uint8

// The states of the switch.
const (
	Unknown Switch = iota // nothing says so
	Off
	On       // now; threads that began while it was off stay at 0 for ever
	OnAtBoot // so that it covers every thread
)

// ReadSwitch reads the setting of delay accounting in proc below root. From 5.14
// on it is a switch, off unless the kernel was booted with "delayacct". Before,
// or in a kernel that has none, the file is missing and the result is Unknown:
// older kernels account unless booted with "nodelayacct".
func ReadSwitch(root string) Switch {
	text, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel/task_delayacct"))
	cmdline, _ := os.ReadFile(filepath.Join(root, "proc/cmdline"))
	return parseSwitch(string(text), errors.Is(err, fs.ErrNotExist), string(cmdline))
}

func parseSwitch(text string, missing bool, cmdline string) Switch {
	words := strings.Fields(cmdline)
	if missing {
		if slices.Contains(words, "nodelayacct") {
			return Off
		}
		return Unknown
	}
	switch strings.TrimSpace(text) {
	case "0":
		return Off
	case "1":
		if slices.Contains(words, "delayacct") {
			return OnAtBoot
		}
		return On
	}
	return Unknown
}
