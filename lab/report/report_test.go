// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab/fact"
)

func one(t *testing.T, kind string, value any) fact.Fact {
	t.Helper()
	v, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return fact.Fact{Kind: kind, Value: v}
}

// TestTheDocumentDoesNotDependOnTheOrderOfFacts: programs are told in any order.
func TestTheDocumentDoesNotDependOnTheOrderOfFacts(t *testing.T) {
	facts := []fact.Fact{
		one(t, fact.KindMeans, fact.Means{Via: "tp_btf", Usable: true, Default: true}),
		one(t, fact.KindMeans, fact.Means{Via: "kmod", Why: "no | headers"}),
		one(t, fact.KindProgram, fact.Program{Via: "tp_btf", Name: "switch_tp_btf", Point: "sched:sched_switch", Verified: 53832, Runs: 10, NS: 1000}),
		one(t, fact.KindProgram, fact.Program{Via: "tp_btf", Name: "walk"}),
		one(t, fact.KindProgram, fact.Program{Via: "tp_btf", Name: "switch_tp_btf", Point: "sched:sched_switch", Runs: 10, NS: 3000}),
		one(t, fact.KindAgreement, fact.Agreement{Via: "tp_btf", Workload: "reads", Ops: 1000, Switches: 1000, Waits: 999, NotCounted: 1, FloorNS: 100, BlockedNS: 110, TotalNS: 120, CostNS: 4000}),
		one(t, fact.KindMissed, fact.Missed{Via: "kretprobe", MaxActive: 4, Threads: 64, Switches: 1917, Waits: 179, Shown: 1738, Kernel: -1}),
		one(t, fact.KindFunctions, fact.Functions{Present: []string{"io_schedule"}, Absent: []string{"other"}}),
	}
	made := func(order ...int) string {
		k := fact.Kernel{Release: "6.1.0-x", Accel: "tcg"}
		for _, i := range order {
			k.Facts = append(k.Facts, facts[i])
		}
		all, err := sorted([]fact.Kernel{k})
		if err != nil {
			t.Fatal(err)
		}
		return document(all)
	}
	text := made(0, 1, 2, 3, 4, 5, 6, 7)
	if other := made(0, 1, 3, 4, 7, 6, 5, 2); other != text {
		t.Errorf("%s\nis not\n%s", other, text)
	}
	for _, part := range []string{
		"6.1.0-x", "emulated", "**yes**", "no / headers", "53,832 · 200 ns", "- · not run",
		"| 1,000 | 1,000 | 999 | -0.10% | 1 |", "| 1,917 | 179 | 1,738 | 1,738 | - |", "`io_schedule`",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestAFactThatIsNoneIsAnError(t *testing.T) {
	if _, err := sorted([]fact.Kernel{{Release: "x", Facts: []fact.Fact{{Kind: fact.KindMeans, Value: []byte("{")}}}}); err == nil {
		t.Error("taken")
	}
}

// TestCostsOfACall: ratios are to the first means, and what could not be measured is told.
func TestCostsOfACall(t *testing.T) {
	all, err := sorted([]fact.Kernel{{Release: "6.1.0-x", Accel: "icount", Facts: []fact.Fact{
		one(t, fact.KindCallCost, fact.CallCost{Tool: "other", Load: "sums", Order: 1, Bare: []float64{900}, Added: []float64{5000, 4000, 4500}}),
		one(t, fact.KindCallCost, fact.CallCost{Tool: "iowitness fexit", Load: "sums", Bare: []float64{1003.7}, Added: []float64{1500}, InBPF: 1200, Runs: 2}),
		one(t, fact.KindCallCost, fact.CallCost{Tool: "third", Load: "sums", Order: 2, Why: "no | room"}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	text := callCost(all)
	for _, part := range []string{
		"takes 1,003 instructions", "| iowitness fexit | sums | 1,500 (1,500…1,500) | 1.00 × | 1,200 | 2.00 |",
		"| other | sums | 4,500 (4,000…5,000) | 3.00 × | - | - |", "| third | sums | no / room |",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
