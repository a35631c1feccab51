// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"strings"
	"testing"
)

func compiledName(text string, address uint64) string {
	table := readPerfMap(strings.NewReader(text), int64(len(text)))
	if at, _, ok := table.find(address); ok {
		return string(table.name(at))
	}
	return ""
}

// TestPerfMapLines: of functions that overlap the later is there, and lines that are none harm no other.
func TestPerfMapLines(t *testing.T) {
	long := strings.Repeat("x", 3*longestLine)
	for text, want := range map[string]map[uint64]string{
		"1000 40 old\n1010 10 new\n":                  {0x1000: "old", 0x1010: "new", 0x101f: "new", 0x1020: "old"},
		"1010 10 old\n1000 40 new\n":                  {0x1000: "new", 0x1010: "new", 0x103f: "new", 0x1040: ""},
		"1000 10 old\n1000 10 new\n1000 8 newest\n":   {0x1000: "newest", 0x1008: "new"},
		"1000 10 a\n" + long + "\n2000 10 b\n":        {0x1000: "a", 0x2000: "b"},
		"1000 10 " + long + "\n2000 10 b":             {0x1000: "", 0x2000: "b"},
		long:                                          {0x1000: ""},
		"\n1000\n1000 10\n1000 zz a\n 10 10 b\r\n":    {0x1000: "", 0x10: ""},
		"0x1000 0x10 void a.b(int, long)\r\n":         {0x1000: "void a.b(int, long)"},
		"ffffffffffffff00 200 a\n1000 0 b\n1 1 \x00c": {0x1000: "", 1: "", 0xffffffffffffff10: ""},
	} {
		for address, name := range want {
			if got := compiledName(text, address); got != name {
				t.Errorf("%.60q: %q at %#x, not %q", text, got, address, name)
			}
		}
	}
}

// endless is a file of one long line, and one that names a function at its end.
type endless int64

const lastLine = "\n1000 10 last\n"

func (size endless) ReadAt(b []byte, at int64) (int, error) {
	for i := range b {
		b[i] = 'x'
		if from := at + int64(i) - (int64(size) - int64(len(lastLine))); from >= 0 && from < int64(len(lastLine)) {
			b[i] = lastLine[from]
		}
	}
	return len(b), nil
}

// TestAPerfMapWithoutEnd: it is read no further than it should be, and that is its end.
func TestAPerfMapWithoutEnd(t *testing.T) {
	const size = 1 << 50
	table := readPerfMap(endless(size), size)
	if at, _, ok := table.find(0x1004); !ok || string(table.name(at)) != "last" {
		t.Error("the last function is not named")
	}
}
