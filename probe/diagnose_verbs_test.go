// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
)

// TestVerbsAreJudgedByTheirMeans: the best that works is told, else why none does.
func TestVerbsAreJudgedByTheirMeans(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*host)
		verdict diagnosis.Verdict
		means   string
		reason  string // in it
	}{
		"all works":          {func(*host) {}, diagnosis.Usable, "tp_btf", ""},
		"the second":         {func(h *host) { h.verbs = map[string]error{"block tp_btf": unix.EINVAL} }, diagnosis.Usable, "raw_tp", ""},
		"a means does not":   {func(h *host) { h.fails = map[Means]error{TPBTF: unix.EINVAL} }, diagnosis.Usable, "raw_tp", ""},
		"neither of its own": {func(h *host) { h.verbs = map[string]error{"block tp_btf": unix.EINVAL, "block raw_tp": unix.E2BIG} }, diagnosis.Unusable, "", "raw_tp: the smallest trial of it works, but not what iowitness attaches"},
		"no means at all":    {func(h *host) { h.fails = map[Means]error{TPBTF: unix.EINVAL, RawTP: unix.EINVAL} }, diagnosis.Unusable, "", "tp_btf: "},
	} {
		h := usual()
		test.change(h)
		r := h.diagnose(t)
		var ids []string
		for i := range r.Verbs {
			ids = append(ids, r.Verbs[i].ID)
		}
		if strings.Join(ids, " ") != "block fs cpu offcpu runq" {
			t.Fatalf("%+v", r.Verbs)
		}
		if cpu := &r.Verbs[2]; cpu.Verdict != diagnosis.Usable || cpu.Means != string(PerfEvent) {
			t.Errorf("%s: samples need none of the means of waits: %+v", name, cpu)
		}
		if runq := &r.Verbs[4]; name == "no means at all" && (runq.Verdict != diagnosis.Usable || runq.Means != string(TP)) {
			t.Errorf("%s: plain tracepoints are the last: %+v", name, runq)
		}
		v := r.Verbs[0]
		if v.Verdict != test.verdict || v.Means != test.means || !strings.Contains(v.Reason, test.reason) || (v.Reason == "") != (test.reason == "") {
			t.Errorf("%s: %+v", name, v)
		}
		if v.Verdict == diagnosis.Usable && (len(v.Notes) != 1 || v.Notes[0] != "block by "+test.means) {
			t.Errorf("%s: notes %q", name, v.Notes)
		}
	}
}
