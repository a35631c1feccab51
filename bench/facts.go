// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fact is something about the machine that a reader of the numbers has to know.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func machineFacts(ctx context.Context, iowitness string) []fact {
	facts := []fact{{"kernel", kernelRelease()}, {"CPUs", processors()}}
	if b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource"); err == nil {
		facts = append(facts, fact{"clocksource", strings.TrimSpace(string(b))})
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		facts = append(facts, fact{"load average before", strings.Join(strings.Fields(string(b))[:3], " ")})
	}
	return append(facts,
		fact{"iowitness", firstLine(ctx, iowitness, "--version")},
		fact{"fio", firstLine(ctx, "fio", "--version")},
		fact{"libbpf-tools", firstLine(ctx, "biolatency", "--version")},
		fact{"bpftrace", firstLine(ctx, "bpftrace", "--version")},
	)
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
}

func processors() string {
	n := 0
	model := ""
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "processor":
			n++
		case "model name":
			model = ", " + strings.TrimSpace(value)
		}
	}
	return strconv.Itoa(n) + model
}

// firstLine is what a command says of its version.
func firstLine(ctx context.Context, argv ...string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return "not there"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimLeft(strings.TrimPrefix(line, argv[0]), " -")
}
