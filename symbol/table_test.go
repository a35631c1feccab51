// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

type given struct {
	start, size uint64
	name        string
	rank        uint32
}

func made(all []given, sections []span) *table {
	var b builder
	for _, g := range all {
		b.add(g.start, g.size, []byte(g.name), g.rank)
	}
	return b.build(sections)
}

func nameAt(t *table, address uint64) string {
	at, offset, ok := t.find(address)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s+%d", t.name(at), offset)
}

func TestTable(t *testing.T) {
	sections := []span{{100, 200}, {300, 400}}
	for _, c := range []struct {
		what string
		of   []given
		want map[uint64]string
	}{
		{"gaps have no name", []given{{100, 10, "a", 0}, {120, 10, "b", 0}}, map[uint64]string{99: "", 100: "a+0", 109: "a+9", 110: "", 119: "", 129: "b+9", 130: ""}},
		{"the innermost wins", []given{{100, 50, "outer", 2}, {110, 10, "inner", 0}}, map[uint64]string{109: "outer+9", 110: "inner+0", 119: "inner+9", 120: "outer+20", 149: "outer+49", 150: ""}},
		{"overlapping", []given{{100, 20, "a", 0}, {110, 20, "b", 0}}, map[uint64]string{109: "a+9", 110: "b+0", 129: "b+19", 130: ""}},
		{"without size up to the next", []given{{100, 0, "a", 0}, {150, 10, "b", 0}, {170, 0, "c", 0}}, map[uint64]string{100: "a+0", 149: "a+49", 159: "b+9", 160: "", 199: "c+29", 200: ""}},
		{"without size outside of a section", []given{{250, 0, "a", 0}, {300, 10, "b", 0}}, map[uint64]string{250: "", 260: ""}},
		{"without size inside of another", []given{{100, 50, "a", 0}, {120, 0, "label", 0}}, map[uint64]string{119: "a+19", 120: "a+20", 149: "a+49", 150: ""}},
		{"without size at the begin of another", []given{{100, 0, "label", 2}, {100, 50, "a", 0}}, map[uint64]string{100: "a+0"}},
		{"the plainest name", []given{{100, 10, "__libc_read", 2}, {100, 10, "read", 1}, {100, 10, "__read", 2}}, map[uint64]string{105: "read+5"}},
		{"global before weak before local", []given{{100, 10, "local", 0}, {100, 10, "weak", 1}, {100, 10, "global", 2}}, map[uint64]string{105: "global+5"}},
		{"around the end of memory", []given{{^uint64(0) - 5, 10, "a", 0}, {^uint64(0) - 5, 5, "b", 0}}, map[uint64]string{^uint64(0) - 2: "b+3", ^uint64(0): ""}},
	} {
		table := made(c.of, sections)
		for address, want := range c.want {
			if got := nameAt(table, address); got != want {
				t.Errorf("%s: %d is %q, want %q", c.what, address, got, want)
			}
		}
	}
}

// TestTableIsThatOfASlowOne: any symbols, against a search through all of them.
func TestTableIsThatOfASlowOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var all []given
		for i := range rng.IntN(40) {
			all = append(all, given{uint64(rng.IntN(100)), uint64(1 + rng.IntN(40)), fmt.Sprintf("s%02d", i), 0})
		}
		table := made(all, nil)
		var b builder
		for _, g := range all {
			b.add(g.start, g.size, []byte(g.name), 0)
		}
		latest := b.buildLatest()
		for address := range uint64(150) {
			inner, last := "", ""
			var best given
			for _, g := range all {
				if address < g.start || address >= g.start+g.size {
					continue
				}
				last = fmt.Sprintf("%s+%d", g.name, address-g.start)
				closer := g.start > best.start || g.start == best.start && (g.size < best.size || g.size == best.size && g.name < best.name)
				if inner == "" || closer {
					best, inner = g, last
				}
			}
			if got := nameAt(table, address); got != inner {
				t.Fatalf("round %d: %d is %q, want %q", round, address, got, inner)
			}
			if got := nameAt(latest, address); got != last {
				t.Fatalf("round %d: the latest at %d is %q, want %q", round, address, got, last)
			}
		}
	}
}

// TestHostileTable: many symbols around each other cost no more than as many beside each other.
func TestHostileTable(t *testing.T) {
	var b builder
	const n = 200_000
	for i := range uint64(n) {
		b.add(i, 2*n-2*i, []byte("x"), 0)
	}
	if table := b.build(nil); len(table.starts) > 2*n {
		t.Errorf("%d stretches of %d symbols", len(table.starts), n)
	}
}

func TestParseAreas(t *testing.T) {
	const maps = `00400000-00401000 r--p 00000000 08:01 12 /bin/a
00401000-00402000 r-xp 00001000 08:01 12                                 /bin/a b
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f0000002000-7f0000003000 r-xs 00000000 00:2d 77                         /opt/x\012y (deleted)
7f0000001800-7f0000002800 r-xp 00000000 00:00 0 out of order
7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]
nonsense
5-4 r-xp 0 00:00 0
`
	areas, left, err := parseAreas(strings.NewReader(maps), 3)
	if err != nil || left != 2 || len(areas) != 3 {
		t.Fatalf("%+v, %d left, %v", areas, left, err)
	}
	if a := areas[0]; a.path != "/bin/a b" || a.offset != 0x1000 || a.inode != 12 || a.device != 8<<8|1 || a.special() != "a b" {
		t.Errorf("%+v", a)
	}
	if a := areas[2]; a.path != "/opt/x\ny" || !a.deleted || areas[1].special() != "[anon]" {
		t.Errorf("%+v", a)
	}
}

func TestReadable(t *testing.T) {
	for name, want := range map[string]string{
		"_ZN4node5StartEiPPc": "node::Start", "_ZN3foo3barILi3EEEvv.cold": "foo::bar<3>", "main": "main",
		"_RNvC6_123foo3bar":                      "123foo::bar",
		"_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
		"runtime.memmove.abi0":                   "runtime.memmove",
		"_Zbroken":                               "_Zbroken",
		"_ZN" + strings.Repeat("1a", 4000) + "E": "_ZN" + strings.Repeat("1a", 4000) + "E",
		"github.com/x/y.(*T).method-fm":          "github.com/x/y.(*T).method-fm",
		"_dl_relocate_object":                    "_dl_relocate_object",
	} {
		if got := readable(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestOnlyRegularFilesAreOpened: to open a FIFO would wait, and a device might do something.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	for _, path := range []string{"/dev/null", "/dev", "/proc/self/fd/0"} {
		if path == "/proc/self/fd/0" {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			path = fmt.Sprintf("/proc/self/fd/%d", r.Fd())
		}
		if h, err := holdFile(path); err == nil {
			h.close()
			t.Errorf("%s was taken", path)
		}
	}
}

// TestRootsHoldLinks: a link in a container leads nowhere outside of it.
func TestRootsHoldLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", dir+"/absolute"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../../../../../etc/passwd", dir+"/relative"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/own", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/own", dir+"/inside"); err != nil {
		t.Fatal(err)
	}
	file, key, err := openRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := &root{key: key, file: file}
	for name, want := range map[string]bool{"/absolute": false, "/relative": false, "/../../../etc/passwd": false, "/inside": true, "/own": true} {
		h, err := in.hold(name)
		if (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
		h.close()
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add("1000 10 a\n0x1008 4 b c\n", uint64(0x1009))
	f.Add("ffffffffffffffff ffffffffffffffff x\n0 0 \n1 1 \x00\n", uint64(1))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		table := readPerfMap(strings.NewReader(text), int64(len(text)))
		if at, _, ok := table.find(address); ok && !strings.Contains(text, string(table.name(at))) {
			t.Errorf("%q is in no line", table.name(at))
		}
	})
}

func FuzzMaps(f *testing.F) {
	f.Add("00401000-00402000 r-xp 00001000 08:01 12    /bin/a (deleted)\n")
	f.Fuzz(func(t *testing.T, text string) {
		areas, _, err := parseAreas(strings.NewReader(text), 8)
		if err == nil && len(areas) > 8 {
			t.Errorf("%d areas", len(areas))
		}
		for i, a := range areas {
			if a.start >= a.end || i > 0 && a.start < areas[i-1].end {
				t.Errorf("%+v", areas)
			}
		}
	})
}

// elfSeed is a small file with all that is looked at.
func elfSeed(tb testing.TB) []byte {
	tb.Helper()
	content, err := os.ReadFile("testdata/small.elf")
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

// FuzzELF changes bytes of a small file: each three of the patch are where, and to what.
func FuzzELF(f *testing.F) {
	seed := elfSeed(f)
	f.Add([]byte{0x28, 0, 0xff}, uint64(0x1000), uint16(0))
	f.Add([]byte{60, 0, 0xff, 61, 0, 0xff}, uint64(0), uint16(100))
	f.Fuzz(func(t *testing.T, patch []byte, offset uint64, cut uint16) {
		content := bytes.Clone(seed[:len(seed)-int(cut)%len(seed)])
		for ; len(patch) >= 3; patch = patch[3:] {
			content[(int(patch[0])|int(patch[1])<<8)%len(content)] = patch[2]
		}
		got := readBroken(content)
		address, _ := address(got.segments, offset)
		if got.table == nil {
			return
		}
		if at, _, ok := got.table.find(address); ok && len(got.table.name(at)) == 0 {
			t.Error("a symbol without name")
		}
		if got.table.bytes() > int64(64*len(content)) {
			t.Errorf("a table of %d bytes of a file of %d", got.table.bytes(), len(content))
		}
	})
}

func FuzzUnpack(f *testing.F) {
	packed, err := os.ReadFile("testdata/small.xz")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, packed []byte) {
		if out, err := unpack(packed, 1<<20); err == nil && len(out) > 1<<20 {
			t.Errorf("%d bytes", len(out))
		}
	})
}
