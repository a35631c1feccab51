// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"slices"
	"strings"
	"testing"
)

func TestApart(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"read", "read", 0},
		{"raed", "read", 1},
		{"red", "read", 1},
		{"reads", "read", 1},
		{"road", "read", 1},
		{"write", "read", 4},
		{"vfs_raed", "vfs_read", 1},
		{"ab", "ba", 1},
		{"abcd", "badc", 2},
		{strings.Repeat("a", 100), strings.Repeat("a", 90), 0},
	} {
		if got, back := Apart(c.a, c.b), Apart(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q, %q: %d and %d, not %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestNear(t *testing.T) {
	ops := []string{"read", "write", "flush", "discard", "other"}
	for written, want := range map[string][]string{
		"raed": {"read"}, "READ": {"read"}, "wr": {"write"}, "flsh": {"flush"}, "": nil, "x": nil, "colour": nil, " discard": {"discard"},
	} {
		if got := Near(written, ops); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", written, got, want)
		}
	}
	if got := Near("vd", []string{"sda", "vdb", "vda"}); !slices.Equal(got, []string{"vda", "vdb"}) {
		t.Errorf("%q", got)
	}
}

func TestSortPutsTheLikeliestFirst(t *testing.T) {
	got := Sort("pos", []string{"count", "f_pos", "position", "pid", "count"})
	if !slices.Equal(got, []string{"f_pos", "position", "pid", "count"}) {
		t.Errorf("%q", got)
	}
}

func TestUnknown(t *testing.T) {
	names := []string{"read", "write"}
	for written, want := range map[string]string{
		"raed": `no operation "raed": did you mean read?`,
		"zzz":  `no operation "zzz": choose from read, write`,
	} {
		if got := Unknown("no operation", written, names).Error(); got != want {
			t.Errorf("%q", got)
		}
	}
}

func FuzzNear(f *testing.F) {
	f.Add("read", "raed")
	f.Fuzz(func(t *testing.T, written, name string) {
		if d := Apart(written, name); d < 0 || d > longest || d != Apart(name, written) {
			t.Errorf("%q, %q: %d", written, name, d)
		}
		for _, near := range Near(written, []string{name, "read"}) {
			if near != name && near != "read" {
				t.Errorf("%q is none of the names", near)
			}
		}
	})
}
