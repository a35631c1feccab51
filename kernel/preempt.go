// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"os"
	"path/filepath"
	"strings"
)

// Preemption says whether a thread may lose its CPU while it runs in the kernel, a BPF
// program of fentry or fexit included: others on that CPU then go past the same program.
// On a kernel that decides at boot, debugfs tells, or the command line, or else nobody.
func Preemption(root string) Setting {
	if mode, err := os.ReadFile(filepath.Join(root, "sys/kernel/debug/sched/preempt")); err == nil {
		_, mode, _ := strings.Cut(string(mode), "(")
		mode, _, _ = strings.Cut(mode, ")")
		return ofMode(mode)
	}
	version, _ := os.ReadFile(filepath.Join(root, "proc/version"))
	words := strings.Fields(string(version))
	for _, w := range words {
		switch w {
		case "PREEMPT", "PREEMPT_RT":
			return On
		case "PREEMPT_DYNAMIC":
			line, _ := os.ReadFile(filepath.Join(root, "proc/cmdline"))
			for _, word := range strings.Fields(string(line)) {
				if mode, found := strings.CutPrefix(word, "preempt="); found {
					return ofMode(mode)
				}
			}
			return Unknown
		}
	}
	if len(words) == 0 {
		return Unknown
	}
	return Off
}

func ofMode(mode string) Setting {
	switch mode {
	case "none", "voluntary":
		return Off
	case "full", "lazy":
		return On
	}
	return Unknown
}
