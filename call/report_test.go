// SPDX-License-Identifier: Apache-2.0

package call

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
)

type plainNames struct{}

func (plainNames) Process(pid uint32) string  { return fmt.Sprint(pid) }
func (plainNames) Cgroup(id uint64) string    { return fmt.Sprintf("/c%d", id) }
func (plainNames) Frames(key uint64) []string { return []string{fmt.Sprintf("f%d", key)} }

func sum(n uint64, ns uint64) *event.CallSum {
	return &event.CallSum{Count: n, NS: n * ns, Max: ns, Hist: event.Hist{{Slot: uint8(event.HistSlot(ns)), N: uint32(n)}}}
}

func TestRowsBalance(t *testing.T) {
	sums := map[event.CallKey]*event.CallSum{
		{Function: 0, PID: 1}: sum(10, 5000),
		{Function: 0, PID: 2}: sum(20, 7000),
		{Function: 1, PID: 1}: sum(1, 9_000_000),
		{Function: 1, PID: 3}: {},
	}
	r := Build(sums, Options{Functions: Functions{{Name: "a"}, {Name: "b", Module: "m"}}, Keys: []Key{ByProcess}, Names: plainNames{}, Top: 2})
	if len(r.Rows) != 3 || r.Rows[0].Function != "b" || r.Rows[0].Module != "m" || r.Rows[2].Others != 1 {
		t.Fatalf("%+v", r.Rows)
	}
	var count, total uint64
	for _, row := range r.Rows {
		count, total = count+row.Count, total+row.Total
	}
	if count != 31 || total != 50_000+140_000+9_000_000 {
		t.Errorf("%d calls, %d ns", count, total)
	}
	if r.Rows[1].Mean() != 7000 || !r.Rows[1].P50.Known {
		t.Errorf("%+v", r.Rows[1])
	}
}

// TestTwoPeaksAreTold: hits of a cache, and reads from a disk.
func TestTwoPeaksAreTold(t *testing.T) {
	both := sum(700, 3_000)
	both.Add(sum(300, 4_000_000))
	r := Build(map[event.CallKey]*event.CallSum{{}: both}, Options{Functions: Functions{{Name: "vfs_read"}}, Names: plainNames{}})
	if peaks := r.Rows[0].Peaks; len(peaks) != 2 || peaks[0].Count != 700 || peaks[1].Count != 300 {
		t.Errorf("%+v", peaks)
	}
}

func TestSinceIsWhatCameAfter(t *testing.T) {
	key := event.CallKey{Function: 3}
	before := map[event.CallKey]*event.CallSum{key: sum(10, 5000)}
	now := sum(10, 5000)
	now.Add(sum(5, 100_000))
	grown := Since(map[event.CallKey]*event.CallSum{key: now, {Function: 4}: sum(1, 1)}, before)
	if g := grown[key]; g.Count != 5 || g.NS != 500_000 || g.Max != 100_000 || len(grown) != 2 {
		t.Errorf("%+v", grown[key])
	}
	if again := Since(before, before); len(again) != 0 {
		t.Errorf("%+v", again)
	}
}

// TestResultsAreRead (case D6) by the function's type: the upper half of a register may be anything.
func TestResultsAreRead(t *testing.T) {
	number := func(size uint32, e btf.IntEncoding) btf.Type { return &btf.Int{Name: "n", Size: size, Encoding: e} }
	for _, c := range []struct {
		field *expr.Field
		ret   uint64
		text  string
		errno unix.Errno
	}{
		{&expr.Field{Kind: expr.Signed, Type: number(4, btf.Signed)}, 0xdeadbeef_fffffffb, "-EIO", unix.EIO},
		{&expr.Field{Kind: expr.Signed, Type: number(4, btf.Signed)}, 0xdeadbeef_00000007, "7", 0},
		{&expr.Field{Kind: expr.Signed, Type: number(8, btf.Signed)}, ^uint64(0) - 21, "-EINVAL", unix.EINVAL},
		{&expr.Field{Kind: expr.Unsigned, Type: number(4, btf.Unsigned)}, ^uint64(0), "4294967295", 0},
		{&expr.Field{Kind: expr.Signed, Type: number(8, btf.Signed)}, ^uint64(0) - 9999, "-10000", 0},
		{nil, ^uint64(0), "", 0},
	} {
		f := Function{Result: c.field}
		if got := f.ResultText(c.ret); got != c.text || f.Error(c.ret) != c.errno {
			t.Errorf("%+v: %#x is %q, error %v", c.field, c.ret, got, f.Error(c.ret))
		}
		if c.field == nil {
			continue
		}
		captured := *c.field // as a key of rows, or among the fields of a line
		captured.Text = "ret"
		if got := f.text(&captured, binary.LittleEndian.AppendUint64(nil, c.ret)); got != c.text {
			t.Errorf("%+v: captured, %#x is %q", c.field, c.ret, got)
		}
	}
}
