// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/kernel"
)

// ModuleStatus is what the kernel says of the module, loaded or not.
type ModuleStatus struct {
	Loaded     bool
	State      string // "Live", "Loading" or "Unloading"
	Uses       int    // what keeps it from being unloaded; -1: unknown
	Size       uint64 // bytes of its code and data, without its tables
	Digest     string // of its source; other than Digest(): it is of another version
	Parameters map[string]string
	Holders    []Holder
}

// Status reads it from the files below root.
func Status(root string) (ModuleStatus, error) {
	var s ModuleStatus
	text, err := os.ReadFile(filepath.Join(root, "proc/modules"))
	if err != nil {
		return s, nil // a kernel without modules has none loaded; Obstacles tells it
	}
	for line := range strings.Lines(string(text)) {
		if name, rest, _ := strings.Cut(line, " "); name == Name {
			if err := s.parse(rest); err != nil {
				return s, err
			}
		}
	}
	if !s.Loaded {
		return s, nil
	}
	dir := filepath.Join(root, "sys/module", Name)
	digest, _ := os.ReadFile(filepath.Join(dir, "version"))
	s.Digest = strings.TrimSpace(string(digest))
	s.Parameters = map[string]string{}
	files, _ := os.ReadDir(filepath.Join(dir, "parameters"))
	for _, file := range files {
		if value, err := os.ReadFile(filepath.Join(dir, "parameters", file.Name())); err == nil {
			s.Parameters[file.Name()] = strings.TrimSpace(string(value))
		}
	}
	s.Holders = Holders(root)
	return s, nil
}

// parse reads a line of /proc/modules after the name: size, uses, users, state, address.
func (s *ModuleStatus) parse(line string) error {
	words := strings.Fields(line)
	if len(words) < 4 {
		return fmt.Errorf("/proc/modules: line of %s: %w", Name, ErrFormat)
	}
	size, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		return fmt.Errorf("/proc/modules: size of %s: %w", Name, ErrFormat)
	}
	s.Loaded, s.Size, s.State, s.Uses = true, size, words[3], -1
	if uses, err := strconv.Atoi(words[1]); err == nil {
		s.Uses = uses
	}
	return nil
}

// Obstacles says in sentences what keeps this kernel from taking the module, or
// this process from loading it; nil: nothing that can be seen.
func Obstacles(root string) []string {
	var reasons []string
	read := func(path string) string {
		text, _ := os.ReadFile(filepath.Join(root, path))
		return strings.TrimSpace(string(text))
	}
	if _, err := os.Stat(filepath.Join(root, "proc/modules")); err != nil {
		return []string{"this kernel takes no modules (CONFIG_MODULES)"}
	}
	if read("proc/sys/kernel/modules_disabled") == "1" {
		reasons = append(reasons, "loading modules is switched off until the next boot (kernel.modules_disabled)")
	}
	if level := kernel.Read(root).Lockdown; level == "integrity" || level == "confidentiality" {
		reasons = append(reasons, fmt.Sprintf("the kernel is locked down (%s), which forbids modules that are not signed: sign it with a key that the kernel trusts", level))
	} else if read("sys/module/module/parameters/sig_enforce") == "Y" {
		reasons = append(reasons, "the kernel takes signed modules only (module.sig_enforce): sign it with a key that the kernel trusts")
	}
	if known, has := hasSymbol(root, "register_kretprobe"); known && !has {
		reasons = append(reasons, "this kernel has no return probes (CONFIG_KRETPROBES)")
	}
	if status, err := kernel.ReadStatus(root); err == nil && status.Effective>>capSysModule&1 == 0 {
		reasons = append(reasons, "loading modules needs CAP_SYS_MODULE: run it with sudo")
	}
	return reasons
}

const capSysModule = 16

// hasSymbol asks the kernel's list of functions, which everybody may read without the addresses.
func hasSymbol(root, name string) (known, has bool) {
	text, err := os.ReadFile(filepath.Join(root, "proc/kallsyms"))
	if err != nil || len(text) == 0 {
		return false, false
	}
	return true, strings.Contains(string(text), " "+name+"\n") || strings.Contains(string(text), " "+name+"\t")
}
