// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// TestNumbersCompareAsNumbers: values of each type, compared by size, against
// numbers without bounds.
func TestNumbersCompareAsNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	types := []string{"s8", "u8", "s16", "u16", "int", "u32", "long", "u64", "unsigned short", "long long int", "bool"}
	for range 4000 {
		left, right := pick(random, types...), pick(random, types...)
		sign := pick(random, "<", "<=", ">", ">=")
		text := fmt.Sprintf("(%s)arg1 %s (%s)arg2", left, sign, right)
		filter, err := (&Scope{}).Filter(text)
		if err != nil {
			t.Fatal(err)
		}
		c := &call{Args: [6]uint64{number8(random), number8(random)}}
		got := (&interpreter{call: c}).certain(filter.root) == isTrue
		order := exact(t, left, c.Args[0]).Cmp(exact(t, right, c.Args[1]))
		want := map[string]bool{"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]
		if got != want {
			t.Errorf("%s is %v for %#x and %#x", text, got, c.Args[0], c.Args[1])
		}
	}
}

// exact is what a C type makes of 64 bits.
func exact(t *testing.T, name string, value uint64) *big.Int {
	t.Helper()
	words := map[string][]string{"unsigned short": {"unsigned", "short"}, "long long int": {"long", "long", "int"}}[name]
	if words == nil {
		words = []string{name}
	}
	number, ok := integerWords(words)
	if !ok {
		t.Fatalf("%s is no type", name)
	}
	bits := uint(8 * number.Size)
	out := new(big.Int).SetUint64(value)
	out.And(out, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1)))
	if number.Encoding&btf.Signed != 0 && out.Bit(int(bits-1)) == 1 {
		out.Sub(out, new(big.Int).Lsh(big.NewInt(1), bits))
	}
	return out
}

// TestErrorsInResults: what a function returns, by its type.
func TestErrorsInResults(t *testing.T) {
	const address = 0xffff_8880_0000_1000
	minus := func(n uint64) uint64 { return -n }
	pointer := &btf.Pointer{Target: cInt}
	for _, test := range []struct {
		returns btf.Type
		filter  string
		ret     uint64
		want    bool
	}{
		{cInt, "ret < 0", 0xffff_fffb, true}, // the upper half of the register is not set
		{cInt, "ret == -EIO", 0xffff_fffb, true},
		{cInt, "ret == 0xfffffffb", minus(5), true},
		{cInt, "ret >= 0", 0xffff_ffff_0000_0000, true},
		{cUint, "ret == -1", 0xffff_ffff, true},
		{cUint, "ret > 5", 0xffff_ffff, true},
		{pointer, "ret < 0", minus(2), true},
		{pointer, "ret < 0", minus(4095), true},
		{pointer, "ret < 0", minus(4096), false},
		{pointer, "ret < 0", address, false},
		{pointer, "ret > 0", address, true},
		{pointer, "ret > 0", minus(2), false},
		{pointer, "ret > 0", 0, false},
		{pointer, "ret >= 0", 0, true},
		{pointer, "ret == -ENOENT", minus(2), true},
		{pointer, "ret <= -2", minus(1), false},
		{pointer, "ret == NULL", 0, true},
		{pointer, "0 > ret", minus(2), true},
		{pointer, "ret > 0xffff888000000000", address, true},
		{cU64, "ret < 0", minus(12), true},
		{cU64, "ret < 0", address, false},
		{cU64, "ret > 4096", address, true},
		{cU64, "ret == -ENOMEM", minus(12), true},
		{cBool, "ret", 0xffff_ff01, true},
		{cBool, "!ret", 0xffff_ff00, true},
		{colour, "ret == 7", 7, true},
	} {
		filter, err := made(test.returns).Filter(test.filter)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := (&interpreter{call: &call{Ret: test.ret}}).certain(filter.root) == isTrue; got != test.want {
			t.Errorf("%s %s is %v for %#x", TypeName(test.returns), test.filter, got, test.ret)
		}
	}
}
