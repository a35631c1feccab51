// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/iowitness/iowitness/kernel"
)

// btfOf lays out types of two words each beside the name: kind with parts, and what follows.
func btfOf(strings string, types ...[]uint32) []byte {
	var body []byte
	for _, t := range types {
		for _, word := range t {
			body = binary.NativeEndian.AppendUint32(body, word)
		}
	}
	raw := binary.NativeEndian.AppendUint16(nil, 0xeb9f)
	raw = append(raw, 1, 0)
	for _, n := range []int{24, 0, len(body), len(body), len(strings)} {
		raw = binary.NativeEndian.AppendUint32(raw, uint32(n))
	}
	return append(append(raw, body...), strings...)
}

func namesOf(t *testing.T, b *kernel.BTF, kind kernel.BTFKind, prefix string) (names []string) {
	t.Helper()
	if err := b.Names(kind, prefix, func(name []byte) { names = append(names, string(name)) }); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBTFNames(t *testing.T) {
	const integer, structure, typedef, function = 1 << 24, 4 << 24, 8 << 24, 12 << 24
	texts := "\x00int\x00pair\x00btf_trace_x\x00do_it\x00"
	raw := btfOf(
		texts,
		[]uint32{1, integer, 4, 32},
		[]uint32{5, structure | 2, 8, 0, 1, 0, 0, 1, 32},
		[]uint32{10, typedef, 1},
		[]uint32{22, function, 1},
	)
	b, err := kernel.ParseBTF(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := namesOf(t, b, kernel.BTFFunction, ""); len(got) != 1 || got[0] != "do_it" {
		t.Errorf("%q", got)
	}
	if got := namesOf(t, b, kernel.BTFTypedef, "btf_trace_"); len(got) != 1 || got[0] != "btf_trace_x" {
		t.Errorf("%q", got)
	}
	if got := namesOf(t, b, kernel.BTFTypedef, "other_"); got != nil {
		t.Errorf("%q", got)
	}
	module, err := kernel.ParseBTF(btfOf("\x00own\x00", []uint32{uint32(len(texts)) + 1, function, 1}, []uint32{22, function, 1}), b)
	if err != nil {
		t.Fatal(err)
	}
	if got := namesOf(t, module, kernel.BTFFunction, ""); len(got) != 2 || got[0] != "own" || got[1] != "do_it" {
		t.Errorf("%q", got)
	}
	unknown, err := kernel.ParseBTF(btfOf("\x00", []uint32{0, 31 << 24, 1}), nil)
	if err != nil || unknown.Names(kernel.BTFFunction, "", func([]byte) {}) == nil {
		t.Errorf("a kind that nobody knows was passed over: %v", err)
	}
}

func TestBTFOfThisKernel(t *testing.T) {
	b, err := kernel.ReadBTF("/sys/kernel/btf/vmlinux", nil)
	if os.IsNotExist(err) {
		t.Skip("this kernel has none")
	}
	if err != nil {
		t.Fatal(err)
	}
	for kind, wanted := range map[kernel.BTFKind]string{kernel.BTFFunction: "vfs_read", kernel.BTFTypedef: "btf_trace_sched_switch"} {
		if got := namesOf(t, b, kind, wanted); len(got) == 0 || got[0] != wanted {
			t.Errorf("%s: %q", wanted, got)
		}
	}
}

func TestBTFThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for _, text := range []string{"", "hello", "\x7fELF and no more"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := kernel.ReadBTF(file, nil); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func FuzzBTFNames(f *testing.F) {
	f.Add(btfOf("\x00do_it\x00", []uint32{1, 12 << 24, 1}))
	f.Add(btfOf("\x00p\x00", []uint32{1, 4<<24 | 1, 4, 1, 1, 0}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := kernel.ParseBTF(raw, nil)
		if err != nil {
			return
		}
		told := 0
		_ = b.Names(kernel.BTFFunction, "", func(name []byte) {
			if told++; len(name) == 0 || told > len(raw) {
				t.Errorf("%q, name %d of %d bytes", name, told, len(raw))
			}
		})
	})
}
