// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Module is a loaded kernel module and where its code begins.
type Module struct {
	Name string
	Base uint64
	Size uint64 // of all its memory, bytes
}

// Modules are loaded modules by ascending address.
type Modules []Module

// ReadModules reads proc/modules below root; empty where it cannot be read, or hides addresses.
func ReadModules(root string) Modules {
	text, err := readText(root, "proc/modules")
	if err != nil {
		return nil
	}
	return ParseModules(text)
}

// ParseModules reads lines such as "ext4 1015808 1 - Live 0xffffffffc0a00000".
func ParseModules(text string) (all Modules) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		size, err := strconv.ParseUint(fields[1], 10, 64)
		base, hex := strings.CutPrefix(fields[5], "0x")
		address, wrong := strconv.ParseUint(base, 16, 64)
		if err != nil || wrong != nil || !hex || address == 0 || size == 0 {
			continue
		}
		all = append(all, Module{fields[0], address, size})
	}
	slices.SortFunc(all, func(a, b Module) int { return cmp.Compare(a.Base, b.Base) })
	return all
}

// Of names the module that holds the code at an address; "": none does.
func (m Modules) Of(address uint64) string {
	i, found := slices.BinarySearchFunc(m, address, func(one Module, want uint64) int { return cmp.Compare(one.Base, want) })
	if !found {
		i--
	}
	if i < 0 || address-m[i].Base >= m[i].Size {
		return ""
	}
	return m[i].Name
}
