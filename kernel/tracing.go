// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"strings"
)

// Tracing is the state of the kernel's own tracing, by which functions are probed.
type Tracing struct {
	Ftrace            Setting  // kernel.ftrace_enabled: Off stops fexit, kprobe.multi and function tracing; Absent without CONFIG_FUNCTION_TRACER
	Kprobes           Setting  // debugfs kprobes/enabled: Off disarms every kprobe; Unknown where debugfs is closed
	KprobesOptimised  Setting  // debug.kprobes-optimization: kprobes by a jump instead of a trap; Absent without CONFIG_OPTPROBES
	PerfEventParanoid int      // kernel.perf_event_paranoid; above 1, perf events of the kernel need CAP_PERFMON. UnknownNumber: unknown
	Clock             string   // current clock source, such as "tsc"; "": unknown
	Mounts            []string // where tracefs is mounted, /sys/kernel/tracing first; nil: nowhere
}

// ReadTracing reads it below root. Under lockdown it leaves debugfs alone.
func ReadTracing(root, lockdown string) Tracing {
	t := Tracing{
		Ftrace:            toggle(root, "proc/sys/kernel/ftrace_enabled"),
		Kprobes:           Unknown,
		KprobesOptimised:  toggle(root, "proc/sys/debug/kprobes-optimization"),
		PerfEventParanoid: paranoid(root),
		Mounts:            TracefsMounts(root, lockdown),
	}
	t.Clock, _ = readText(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	if DebugfsClosed(lockdown) == "" {
		t.Kprobes = knownSwitch(root, "sys/kernel/debug/kprobes/enabled")
	}
	return t
}

// paranoid may be -1 by itself: everything is allowed. That is told as 0.
func paranoid(root string) int {
	if text, err := readText(root, "proc/sys/kernel/perf_event_paranoid"); err == nil && text == "-1" {
		return 0
	}
	return number(root, "proc/sys/kernel/perf_event_paranoid")
}

// TracefsMounts are the directories at which a tracing file system shows its
// events, below root: the usual ones, then any that proc/self/mounts lists.
// Under lockdown it leaves debugfs alone, below which is one of them.
func TracefsMounts(root, lockdown string) []string {
	var found []string
	closed := DebugfsClosed(lockdown) != ""
	add := func(dir string) {
		if slices.Contains(found, dir) || closed && strings.HasPrefix(dir, "/sys/kernel/debug/") {
			return
		}
		if presence(root, dir+"/events") == On {
			found = append(found, dir)
		}
	}
	add("/sys/kernel/tracing")
	add("/sys/kernel/debug/tracing")
	text, _ := readText(root, "proc/self/mounts")
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "tracefs" {
			add(unescapeOctal(fields[1]))
		}
	}
	return found
}
