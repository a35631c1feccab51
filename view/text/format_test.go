// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/snapshot"
)

func TestDuration(t *testing.T) {
	for ns, want := range map[uint64]string{
		0: "0 ns", 7: "7 ns", 999: "999 ns", 1000: "1.00 µs", 1024: "1.02 µs", 9_994: "9.99 µs", 9_996: "10.0 µs",
		99_960: "100 µs", 999_499: "999 µs", 999_600: "1.00 ms", 640e6: "640 ms", 1e9: "1.00 s", 40_200e6: "40.2 s",
		99_940e6: "99.9 s", 99_960e6: "1.67 min", 3600e9: "60.0 min", 86400e9: "1,440 min", 1 << 63: "153,722,867 min",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ns, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(1000), "1,000"},
		{Count(1234567), "1,234,567"},
		{Percent(0), "0.0"},
		{Percent(0.01), "<0.1"},
		{Percent(64.04), "64.0"},
		{Percent(1706.2), "1,706"},
		{share(0, 10), "0%"},
		{share(1, 1000), "<1%"},
		{share(999, 1000), ">99%"},
		{share(10, 10), "100%"},
		{share(0, 0), "0%"},
		{Bytes(1023), "1,023 B"},
		{Bytes(1536), "1.50 KiB"},
		{Bytes(21 << 20), "21.0 MiB"},
		{Bytes(5 << 40), "5,120 GiB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestFitPath(t *testing.T) {
	const path = "/var/lib/pg/pg_wal/000000010001"
	for columns, want := range map[int]string{
		0: path, 31: path, 30: "…/lib/pg/pg_wal/000000010001", 22: "…/pg_wal/000000010001", 14: "…/000000010001", 8: "…/00000…", 1: "…",
	} {
		if got := fitPath(path, columns); got != want {
			t.Errorf("fitPath(%d) = %q, want %q", columns, got, want)
		}
	}
}

func TestCutCountsColumns(t *testing.T) {
	if got := cut("名前が長い", 5); got != "名前…" {
		t.Errorf("%q", got)
	}
	if got := cut("e\u0301e\u0301e\u0301", 2); got != "e\u0301…" {
		t.Errorf("%q", got)
	}
}

func TestSentence(t *testing.T) {
	row := snapshot.Row{
		Total: 3400e6, Threads: 12,
		Top: snapshot.Top{PID: 7, Comm: "db", Cause: blame.DeviceFlush, CauseNS: 3400e6, Device: "vda", DeviceNS: 1e9},
	}
	for _, c := range []struct {
		name string
		s    snapshot.Snapshot
		want []string
	}{
		{"nobody", snapshot.Snapshot{Wall: time.Second}, []string{"nobody waited for I/O"}},
		{"filtered", snapshot.Snapshot{Filtered: true}, []string{"nothing that was selected"}},
		{"threads", largestOf(row, true, 0, time.Second), []string{"db (pid 7) waited 3.40 s in the last second with 12 threads, all of it for ", " on vda and others"}},
		{"longer", largestOf(row, true, 5e8, 10020*time.Millisecond), []string{"waited 3.40 s of the last 10 s", "; 500 ms more were not for storage"}},
		{"odd", largestOf(row, true, 0, 3600*time.Second), []string{"of the last 60.0 min"}},
		{"not storage", largestOf(row, false, 0, time.Second), []string{"nobody waited for storage; db (pid 7)", "which is no wait for storage"}},
	} {
		got := Sentence(&c.s)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.name, got, want)
			}
		}
	}
}

func largestOf(row snapshot.Row, storage bool, other uint64, wall time.Duration) snapshot.Snapshot {
	return snapshot.Snapshot{Wall: wall, Head: snapshot.Head{Largest: &snapshot.Largest{Row: row, Storage: storage, OtherNS: other}}}
}
