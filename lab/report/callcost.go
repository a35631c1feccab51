// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iowitness/iowitness/lab/fact"
)

// callCost is docs/CALLCOST.md: what a call of a function costs while it is witnessed.
func callCost(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("# What a call costs\n\n" +
		"Made by `make lab-cost`, which measures in virtual machines. Do not edit it.\n\n" +
		"One thread writes single bytes to /dev/null while `vfs_write` is witnessed, from entry to return. *A call* is what that adds to each, by the thread's CPU time: in batches of one size the time with, less the median time without just before and after, the median (first quartile…third) of the batches. " +
		"*In BPF* is what of it is within BPF programs by the kernel's statistics, switched on for a run of its own, whose measurement is part of it: the rest is how the kernel gets there and back. *Against* compares with `iowitness func` by fexit, sums only. " +
		"Ours and the others take turns; `perf stat` and `perf record` have a probe at entry and one at return, as `perf probe` makes them.\n\n")
	for i := range kernels {
		kernels[i].callCostTable(&b)
	}
	return b.String()
}

func (k *kernel) callCostTable(b *strings.Builder) {
	if len(k.callCosts) == 0 {
		return
	}
	unit := "ns"
	fmt.Fprintf(b, "## %s\n\n", k.Release)
	switch k.Accel {
	case "icount":
		unit = "instructions"
		b.WriteString("An emulated machine of one CPU, whose clock counts **instructions**, 1 ns each: the figures do not depend on what else the host does, but an atomic operation or a miss of a cache counts as any other instruction.\n\n")
	case "tcg":
		b.WriteString("An **emulated** machine: only ratios within this table mean something.\n\n")
	}
	reference := median(k.callCosts[0].Added)
	var rows, failed [][]string
	for _, c := range k.callCosts {
		if c.Why != "" || len(c.Added) == 0 {
			failed = append(failed, []string{c.Tool, c.Load, plain(c.Why)})
			continue
		}
		rows = append(rows, callCostRow(&c, reference))
	}
	fmt.Fprintf(b, "A write that nobody witnesses takes %s %s.\n\n", number(int64(median(k.callCosts[0].Bare))), unit)
	table(b, []string{"by", "what it does", "a call, " + unit, "against", "in BPF, " + unit, "runs"}, rows)
	if len(failed) > 0 {
		table(b, []string{"by", "what it would do", "why it did not"}, failed)
	}
}

func callCostRow(c *fact.CallCost, reference float64) []string {
	in, runs := "-", "-"
	if c.Runs > 0 {
		in, runs = number(int64(c.InBPF)), fmt.Sprintf("%.2f", c.Runs)
	}
	return []string{
		c.Tool, c.Load,
		fmt.Sprintf("%s (%s…%s)", number(int64(median(c.Added))), number(int64(quantile(c.Added, 1))), number(int64(quantile(c.Added, 3)))),
		fmt.Sprintf("%.2f ×", median(c.Added)/reference), in, runs,
	}
}

func median(all []float64) float64 { return quantile(all, 2) }

// quantile is the value below which some quarters of all lie.
func quantile(all []float64, quarters int) float64 {
	if len(all) == 0 {
		return 0
	}
	in := slices.Sorted(slices.Values(all))
	return in[len(in)*quarters/4]
}
