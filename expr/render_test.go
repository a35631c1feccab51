// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cilium/ebpf/btf"
)

var (
	char   = &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}
	cInt   = &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	cUint  = &btf.Int{Name: "unsigned int", Size: 4}
	cU64   = &btf.Int{Name: "unsigned long", Size: 8}
	cBool  = &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool}
	uchar  = &btf.Int{Name: "unsigned char", Size: 1}
	cU8    = &btf.Typedef{Name: "u8", Type: uchar}
	colour = &btf.Enum{Name: "colour", Size: 4, Values: []btf.EnumValue{{Name: "RED", Value: 0}, {Name: "BLUE", Value: 7}}}
)

func TestRender(t *testing.T) {
	nested := &btf.Struct{Name: "s", Size: 48, Members: []btf.Member{
		{Name: "n", Type: cInt, Offset: 0},
		{Name: "low", Type: cUint, Offset: 32, BitfieldSize: 3},
		{Name: "high", Type: cInt, Offset: 35, BitfieldSize: 5},
		{Name: "c", Type: &btf.Const{Type: colour}, Offset: 64},
		{Name: "on", Type: cBool, Offset: 96},
		{Name: "name", Type: &btf.Array{Type: char, Nelems: 8}, Offset: 128},
		{Type: &btf.Union{Size: 8, Members: []btf.Member{{Name: "p", Type: &btf.Pointer{Target: cInt}}, {Name: "raw", Type: cU64}}}, Offset: 192},
		{Name: "bytes", Type: &btf.Array{Type: cU8, Nelems: 3}, Offset: 256},
	}}
	raw := make([]byte, 48)
	binary.LittleEndian.PutUint32(raw, 0xffff_fffe)
	raw[4] = 5 | 0x1f<<3 // 5, and -1 in five bits
	raw[8], raw[12] = 7, 1
	copy(raw[16:], "a\"b\n")
	binary.LittleEndian.PutUint64(raw[24:], 0xffff_ffff_ffff_fffe)
	copy(raw[32:], []byte{1, 2, 3})
	const want = `{n = -2, low = 5, high = -1, c = BLUE, on = true, name = "a\"b\n", {p = -ENOENT, raw = 18446744073709551614}, bytes = [1, 2, 3]}`
	if got := Render(nested, raw); got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
	for _, test := range []struct {
		t    btf.Type
		raw  []byte
		want string
	}{
		{cInt, []byte{1}, "?"},
		{&btf.Pointer{Target: nested}, make([]byte, 8), "NULL"},
		{&btf.Array{Type: cU8, Nelems: 20}, make([]byte, 20), "[" + strings.Repeat("0, ", 16) + "… 4 more]"},
		{&btf.Int{Name: "__int128", Size: 16}, append(make([]byte, 15), 1), "0x01" + strings.Repeat("00", 15)},
		{&btf.Void{}, nil, "?"},
		{&btf.Float{Size: 8}, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, "1.5"},
		{colour, []byte{9, 0, 0, 0}, "9"},
	} {
		if got := Render(test.t, test.raw); got != test.want {
			t.Errorf("%v: %s, want %s", test.t, got, test.want)
		}
	}
}

// TestRenderIsBounded: structs of a real kernel, filled with noise.
func TestRenderIsBounded(t *testing.T) {
	types := kernelTypes(t)
	random := rand.NewPCG(1, 2)
	count := 0
	for each, err := range types.All() {
		if err != nil {
			t.Fatal(err)
		}
		if count++; !isCompound(each) || count%7 != 0 {
			continue
		}
		size, _ := btf.Sizeof(each)
		for _, length := range []int{size, size / 2, 0} {
			raw := make([]byte, min(length, 4096))
			for i := range raw {
				raw[i] = byte(random.Uint64())
			}
			if got := Render(each, raw); len(got) > renderLength+8 || !utf8.ValidString(got) {
				t.Fatalf("%v: %d bytes: %q", each, len(got), got)
			}
		}
	}
}

// FuzzRender: whatever the bytes, and however many.
func FuzzRender(f *testing.F) {
	packed := &btf.Struct{Size: 9, Members: []btf.Member{
		{Name: "b", Type: cU64, Offset: 3, BitfieldSize: 64},
		{Name: "self", Type: &btf.Array{Type: &btf.Array{Type: char, Nelems: 3}, Nelems: 3}},
		{Name: "far", Type: cInt, Offset: 1 << 31},
		{Name: "c", Type: colour, Offset: 9, BitfieldSize: 7},
	}}
	all := []btf.Type{packed, colour, cBool, &btf.Array{Type: packed, Nelems: 1 << 31}, &btf.Fwd{Name: "x"}, &btf.Float{Size: 4}}
	f.Add([]byte("0123456789abcdef"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, each := range all {
			if got := Render(each, raw); len(got) > renderLength+8 || !utf8.ValidString(got) {
				t.Fatalf("%q", got)
			}
		}
	})
}

// TestFieldRender: kinds as a view shows them.
func TestFieldRender(t *testing.T) {
	eight := func(value uint64) []byte { return binary.LittleEndian.AppendUint64(nil, value) }
	for _, test := range []struct {
		field Field
		raw   []byte
		want  string
	}{
		{Field{Kind: Signed}, eight(^uint64(0)), "-1"},
		{Field{Kind: Unsigned}, eight(^uint64(0)), "18446744073709551615"},
		{Field{Kind: Bool}, eight(1), "true"},
		{Field{Kind: Pointer}, eight(0xffff888000001000), "0xffff888000001000"},
		{Field{Kind: Pointer}, eight(^uint64(11)), "-ENOMEM"},
		{Field{Kind: Enum, Type: colour}, eight(7), "BLUE"},
		{Field{Kind: String}, []byte("abc\x00def"), "abc"},
		{Field{Kind: Signed}, []byte{1}, "?"},
	} {
		if got := test.field.Render(test.raw); got != test.want {
			t.Errorf("%+v: %s, want %s", test.field, got, test.want)
		}
	}
	if !slices.Contains([]string{"-EWOULDBLOCK", "-EAGAIN"}, ErrnoName(-11)) || ErrnoName(-512) != "-ERESTARTSYS" || ErrnoName(5) != "" {
		t.Error(ErrnoName(-11), ErrnoName(-512), ErrnoName(5))
	}
}
