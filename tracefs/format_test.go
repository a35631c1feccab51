// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readFormat(t testing.TB, name string) *Format {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFormat(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// TestFormatsOfKernels: where fields lie differs between kernels, and the
// stack's declared size is not the record's.
func TestFormatsOfKernels(t *testing.T) {
	for name, want := range map[string]map[string]Field{
		"fork-6.12.format": {
			"common_pid":   {Type: "int", Offset: 4, Size: 4, Signed: true},
			"parent_comm":  {Type: "char", Offset: 8, Size: 16, Array: true},
			"child_pid":    {Type: "pid_t", Offset: 44, Size: 4, Signed: true},
			"common_flags": {Type: "unsigned char", Offset: 2, Size: 1},
		},
		"fork-6.18.format": {
			"parent_comm": {Type: "__data_loc char[]", Offset: 8, Size: 4, Array: true, Location: DataLoc},
			"child_pid":   {Type: "pid_t", Offset: 20, Size: 4, Signed: true},
		},
		"kernel_stack-5.10.format": {
			"size":   {Type: "int", Offset: 8, Size: 4, Signed: true},
			"caller": {Type: "unsigned long", Offset: 16, Size: 64, Array: true},
		},
		"entry-5.10.format": {
			"__probe_ip": {Type: "unsigned long", Offset: 8, Size: 8},
			"sp":         {Type: "u64", Offset: 16, Size: 8},
			"comm":       {Type: "__data_loc char[]", Offset: 28, Size: 4, Array: true, Signed: true, Location: DataLoc},
		},
		"newtask-5.10.format": {"clone_flags": {Type: "unsigned long", Offset: 32, Size: 8}},
		"newtask-7.3.format":  {"clone_flags": {Type: "u64", Offset: 32, Size: 8}},
		"block_rq_issue-6.1.format": {
			"rwbs": {Type: "char", Offset: 32, Size: 8, Array: true, Signed: true},
			"cmd":  {Type: "__data_loc char[]", Offset: 56, Size: 4, Array: true, Signed: true, Location: DataLoc},
		},
		"block_rq_issue-6.12.format": {
			"ioprio": {Type: "unsigned short", Offset: 32, Size: 2},
			"rwbs":   {Type: "char", Offset: 34, Size: 8, Array: true},
			"cmd":    {Type: "__data_loc char[]", Offset: 60, Size: 4, Array: true, Location: DataLoc},
		},
		"block_rq_issue-7.3.format": {
			"rwbs": {Type: "char", Offset: 34, Size: 10, Array: true},
			"comm": {Type: "char", Offset: 44, Size: 16, Array: true},
		},
	} {
		f := readFormat(t, name)
		if f.ID == 0 || f.Name == "" {
			t.Errorf("%s: name %q, ID %d", name, f.Name, f.ID)
		}
		for field, w := range want {
			w.Name = field
			if got, ok := f.Field(field); !ok || got != w {
				t.Errorf("%s: %s is %+v, not %+v", name, field, got, w)
			}
		}
	}
	if _, ok := readFormat(t, "block_rq_issue-6.1.format").Field("ioprio"); ok {
		t.Error("6.1 has no ioprio")
	}
}

func TestFieldsAreReadWhereTheFormatSaysSo(t *testing.T) {
	record := make([]byte, 48)
	copy(record, []byte{7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	binary.NativeEndian.PutUint64(record[8:], 0xffffffff81000000)
	binary.NativeEndian.PutUint32(record[16:], 6<<16|28)
	copy(record[28:], "dd\x00xyz")
	f := &Format{Fields: []Field{
		{Name: "common_pid", Offset: 4, Size: 4, Signed: true},
		{Name: "raw", Offset: 4, Size: 4},
		{Name: "byte", Offset: 0, Size: 1},
		{Name: "short", Offset: 4, Size: 2, Signed: true},
		{Name: "ip", Offset: 8, Size: 8},
		{Name: "comm", Offset: 16, Size: 4, Location: DataLoc},
		{Name: "rel", Offset: 16, Size: 4, Location: RelLoc},
		{Name: "beyond", Offset: 46, Size: 4},
		{Name: "odd", Offset: 0, Size: 3},
	}}
	for name, want := range map[string]uint64{
		"common_pid": ^uint64(0), "raw": 0xffffffff, "byte": 7, "short": ^uint64(0), "ip": 0xffffffff81000000,
	} {
		field, _ := f.Field(name)
		if got, ok := field.Uint(record); !ok || got != want {
			t.Errorf("%s: %#x, not %#x", name, got, want)
		}
	}
	for _, name := range []string{"beyond", "odd"} {
		field, _ := f.Field(name)
		if got, ok := field.Uint(record); ok {
			t.Errorf("%s: %d", name, got)
		}
	}
	comm, _ := f.Field("comm")
	if text, ok := comm.Text(record); !ok || string(text) != "dd" {
		t.Errorf("comm %q", text)
	}
	if _, ok := comm.Text(record[:30]); ok {
		t.Error("a name beyond the record's end was taken")
	}
	rel, _ := f.Field("rel") // 28 bytes behind offset 20: at the record's end
	if _, ok := rel.Bytes(record); ok {
		t.Error("a name beyond the record's end was taken")
	}
}

func TestBrokenFormatsAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "nothing", "name: x\nID: 99999\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n",
		"\tfield:int a;\toffset:-1;\tsize:4;\tsigned:1;\n", "\tfield:int a;\toffset:0;\tsize:99999;\tsigned:1;\n",
		"\tfield:;\toffset:0;\tsize:4;\tsigned:1;\n",
	} {
		if f, err := ParseFormat(text); err == nil {
			t.Errorf("taken: %q: %+v", text, f)
		}
	}
}

func FuzzParseFormat(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.format")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), []byte(strings.Repeat("x", 64)))
	}
	f.Fuzz(func(_ *testing.T, text string, record []byte) {
		format, err := ParseFormat(text)
		if err != nil {
			return
		}
		for _, field := range format.Fields {
			field.Uint(record)
			field.Text(record)
		}
	})
}
