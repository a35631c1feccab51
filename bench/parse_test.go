// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func TestBusyHasNoGuestTwiceAndNothingStolen(t *testing.T) {
	read := func(stat string, at time.Time) cpuTime {
		c, err := parseCPUTime(stat)
		if err != nil {
			t.Fatal(err)
		}
		c.at = at
		return c
	}
	begin := time.Unix(100, 0)
	before := read("cpu  10 0 10 1000 100 0 0 5 0 0\ncpu0 5 0 5 500 50 0 0 5 0 0\ncpu1 5 0 5 500 50 0 0 0 0 0\nintr 1\n", begin)
	after := read("cpu  70 0 60 1050 120 5 5 15 60 0\ncpu0 5 0 5 500 50 0 0 5 0 0\ncpu1 5 0 5 500 50 0 0 0 0 0\nintr 1\n", begin.Add(time.Second))
	if got, want := after.busySince(before), 1200*time.Millisecond; got != want {
		t.Errorf("busy %v, want %v", got, want)
	}
	if _, err := parseCPUTime("intr 1\n"); err == nil {
		t.Error("no error without CPUs")
	}
}

func TestParseFioReads(t *testing.T) {
	n, err := parseFioReads([]byte(`{"jobs": [{"error": 0, "read": {"total_ios": 3}}, {"error": 0, "read": {"total_ios": 4}}]}`))
	if n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := parseFioReads([]byte(`{"jobs": [{"error": 5, "read": {"total_ios": 3}}]}`)); err == nil {
		t.Error("fio's error is not one")
	}
	if _, err := parseFioReads([]byte(`fio: no`)); err == nil {
		t.Error("no JSON is no error")
	}
}

func TestTallySumsTheLoadAndAllLosses(t *testing.T) {
	docs, err := parseDocuments([]byte(
		`{"waits": [{"pid": 7, "count": 3, "causes": [{"cause": "direct_read", "count": 3}]}, {"pid": null, "count": 9, "causes": []}], "lost": {"full": {"count": 1, "ns": 5}}}` + "\n" +
			`{"waits": [{"pid": 7, "count": 2, "causes": [{"cause": "unknown", "count": 2}]}, {"pid": 8, "count": 4, "causes": []}], "lost": {"full": {"count": 2, "ns": 6}}}` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := tallyOf(docs, func(pid int) bool { return pid == 7 })
	if got.waits != 5 || got.causes["direct_read"] != 3 || got.causes["unknown"] != 2 || got.lost["full"] != (loss{3, 11}) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"", "{", "[]"} {
		if _, err := parseDocuments([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestFindNumber(t *testing.T) {
	status := "Name:\tVmRSS: 1\nVmRSS:\t  123 kB\nprog_id:\t45\n"
	for key, want := range map[string]uint64{"VmRSS": 123, "prog_id": 45} {
		if got, err := findNumber(status, key); got != want || err != nil {
			t.Errorf("%s: %d, %v", key, got, err)
		}
	}
	if _, err := findNumber(status, "Vm"); err == nil {
		t.Error("found what is not there")
	}
}

func TestReportWriters(t *testing.T) {
	s := &section{ID: "cost", Title: "what it costs", Took: "1s", Columns: []string{"time", "runs"}}
	s.add("a|b", &bar{"≤ 8 ns", true}, one(7, "ns", 0), one(2, "", 0))
	s.add("c", nil, one(10, "ns", 0))
	s.note("a note")
	r := &report{Facts: []fact{{"CPUs", "2"}}, Sections: []*section{s, {ID: "empty", Title: "nothing", Took: "0s"}}}

	var text, markdown strings.Builder
	if err := writeText(&text, r); err != nil {
		t.Fatal(err)
	}
	want := "CPUs: 2\n\ncost: what it costs (took 1s)\n" +
		"  measured  time   runs  bar\n  a|b       7 ns   2     ≤ 8 ns: met\n  c         10 ns  –\n  * a note\n\nempty: nothing (took 0s)\n"
	if text.String() != want {
		t.Errorf("text:\n%s", text.String())
	}
	if err := writeMarkdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	want = "* CPUs: 2\n\n## cost: what it costs\n\n| measured | time | runs | bar |\n|---|---:|---:|---|\n" +
		"| a\\|b | 7 ns | 2 | ≤ 8 ns: met |\n| c | 10 ns | – |  |\n\n* a note\n\n## empty: nothing\n"
	if markdown.String() != want {
		t.Errorf("markdown:\n%s", markdown.String())
	}
}
