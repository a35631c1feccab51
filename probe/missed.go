// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/link"

	"github.com/iowitness/iowitness/tracefs"
)

// missedOf is what the kernel counts as missed of a link: of kprobe.multi, or of
// one function (from 6.7).
func missedOf(l link.Link) (uint64, bool) {
	info, err := l.Info()
	if err != nil {
		return 0, false
	}
	if multi := info.KprobeMulti(); multi != nil {
		return multi.Missed, true
	}
	if event := info.PerfEvent(); event != nil && event.Kprobe() != nil {
		return event.Kprobe().Missed, true
	}
	return 0, false
}

// missedByProfile is what the kernel's profile of probes counts as missed of a
// probe that was made in tracefs.
func missedByProfile(function string) (uint64, bool) {
	t, err := tracefs.Open("/")
	if err != nil {
		return 0, false
	}
	defer t.Close()
	profile, err := t.Files().Open("kprobe_profile")
	if err != nil {
		return 0, false
	}
	defer profile.Close()
	return parseProfile(profile, function)
}

// parseProfile finds a probe in kprobe_profile: lines of name, hits and misses. The
// names are without their groups: where two are the same, none can be told apart.
func parseProfile(profile io.Reader, name string) (missed uint64, found bool) {
	for lines := bufio.NewScanner(profile); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[0] != name {
			continue
		}
		n, err := strconv.ParseUint(fields[2], 10, 64)
		if err != nil || found {
			return 0, false
		}
		missed, found = n, true
	}
	return missed, found
}

// missedReader reads the kernel's own count of a function's missed returns. Before 6.7
// a link tells none, and the profile does.
func missedReader(l link.Link, symbol string, byTracefs bool) func() (uint64, bool) {
	return func() (uint64, bool) {
		linked, told := missedOf(l)
		if linked > 0 || !byTracefs {
			return linked, told
		}
		return missedByProfile(eventName(symbol))
	}
}

// eventName is how a function's event is called in tracefs, where dots are not allowed.
func eventName(function string) string { return strings.ReplaceAll(function, ".", "_") }
