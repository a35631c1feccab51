// SPDX-License-Identifier: Apache-2.0

package main

import (
	stdbinary "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// waitUntilOpen waits until the kernel side of a process is attached and its gate is open: what
// is done before is not witnessed.
func waitUntilOpen(t *testing.T, pid int) {
	t.Helper()
	for range 1200 { // an emulated machine may have much to do
		if hasOpenGate(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("it does not begin to witness")
}

var mapID = regexp.MustCompile(`(?m)^map_id:\s*(\d+)$`)

// hasOpenGate says whether one of the maps that the process holds tells an interval's number.
func hasOpenGate(pid int) bool {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		if m := mapID.FindSubmatch(text); m != nil {
			id, _ := strconv.ParseUint(string(m[1]), 10, 32)
			if epochOf(ebpf.MapID(id)) != 0 {
				return true
			}
		}
	}
	return false
}

// epochOf is the variable of that name in a map of variables; 0 if it is none, or the gate is closed.
func epochOf(id ebpf.MapID) uint32 {
	m, err := ebpf.NewMapFromID(id)
	if err != nil {
		return 0
	}
	defer m.Close()
	at, ok := offsetOfEpoch(m)
	if !ok {
		return 0
	}
	value, err := m.LookupBytes(uint32(0))
	if err != nil || len(value) < at+4 {
		return 0
	}
	return stdbinary.NativeEndian.Uint32(value[at:])
}

func offsetOfEpoch(m *ebpf.Map) (int, bool) {
	info, err := m.Info()
	if err != nil || info.Type != ebpf.Array || info.MaxEntries != 1 {
		return 0, false
	}
	h, err := m.Handle()
	if err != nil {
		return 0, false
	}
	defer h.Close()
	types, err := h.Spec(nil)
	if err != nil {
		return 0, false
	}
	var section *btf.Datasec
	if types.TypeByName(".bss", &section) != nil {
		return 0, false
	}
	for _, v := range section.Vars {
		if v.Type.TypeName() == "epoch" && section.Size == info.ValueSize {
			return int(v.Offset), true
		}
	}
	return 0, false
}
