// SPDX-License-Identifier: Apache-2.0

package kernel

import "testing"

const someModules = `ext4 1000 1 - Live 0xffffffffc0a00000
jbd2 100 1 ext4, Live 0xffffffffc0900000 (OE)
hidden 100 0 - Live 0x0000000000000000
broken
odd x 1 - Live 0xffff
`

func TestModules(t *testing.T) {
	m := ParseModules(someModules)
	if len(m) != 2 {
		t.Fatalf("%+v", m)
	}
	for address, want := range map[uint64]string{
		0xffffffffc0a00000: "ext4", 0xffffffffc0a003e7: "ext4", 0xffffffffc0a003e8: "", 0xffffffffc0900063: "jbd2",
		0xffffffffc0900064: "", 0xffffffff81000000: "", 0: "", 1<<64 - 1: "",
	} {
		if got := m.Of(address); got != want {
			t.Errorf("%x: %q, not %q", address, got, want)
		}
	}
}

func FuzzParseModules(f *testing.F) {
	f.Add(someModules)
	f.Fuzz(func(t *testing.T, text string) {
		m := ParseModules(text)
		for i := range m {
			if i > 0 && m[i].Base < m[i-1].Base {
				t.Fatal("not in order")
			}
			if m[i].Size > 0 && m.Of(m[i].Base) == "" {
				t.Fatalf("%+v does not hold its first byte", m[i])
			}
		}
	})
}
