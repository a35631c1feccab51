// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/snapshot"
)

const dot = " · "

// headLines hold the kernel's percentage against what threads waited.
func headLines(s *snapshot.Snapshot, width int) []line {
	lines := wrapped(titleLine(s), width, dim)
	lines = append(lines, wrapped(truthLine(s), width, plain)...)
	return append(lines, wrapped(Sentence(s), width, bold)...)
}

func titleLine(s *snapshot.Snapshot) string {
	parts := []string{strings.TrimSpace("iowitness " + quote(s.Version))}
	if s.Kernel != "" {
		parts = append(parts, "Linux "+quote(s.Kernel))
	}
	parts = append(parts, fmt.Sprintf("%s to %s (%s)", s.Start.Format("15:04:05"), s.End.Format("15:04:05"), durationOf(s.Wall)))
	if s.Scope != "" {
		parts = append(parts, "only "+quote(s.Scope))
	}
	return strings.Join(parts, dot)
}

func truthLine(s *snapshot.Snapshot) string {
	h := &s.Head
	parts := []string{"iowait unknown"}
	if h.IOWaitKnown {
		parts[0] = "iowait " + Percent(h.IOWaitPercent) + "%"
		if h.CPUs > 0 {
			parts[0] += " of " + plural(uint64(h.CPUs), "CPU")
		}
	}
	truth := estimateMark(s) + threadSeconds(h.ThreadSeconds()) + " thread-seconds per second waited for storage"
	if h.FlagKnown() {
		truth += ", " + share(h.UnflaggedNS, h.StorageNS) + " of it not flagged as iowait"
	}
	parts = append(parts, truth)
	if h.OtherNS > 0 {
		parts = append(parts, estimateMark(s)+threadSeconds(h.OtherSeconds())+" more that are not storage")
	}
	if h.PressureKnown {
		parts = append(parts, fmt.Sprintf("io pressure some %s%%, full %s%%", Percent(h.PressureSome), Percent(h.PressureFull)))
	}
	return strings.Join(parts, dot)
}

// estimateMark stands before figures where all of them are estimates.
func estimateMark(s *snapshot.Snapshot) string {
	if s.Estimated {
		return "~"
	}
	return ""
}

func threadSeconds(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.005:
		return "<0.01"
	}
	return significant(v)
}

func plural(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Count(n) + " " + noun
}
