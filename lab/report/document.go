// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/lab/fact"
)

// document is docs/KERNELS.md.
func document(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("# Kernels\n\n" +
		"Made by `make lab-agreement`, which runs tests on real kernels in virtual machines. Do not edit it.\n\n")
	var releases []string
	emulated := false
	for _, k := range kernels {
		releases = append(releases, k.Release)
		emulated = emulated || k.Accel == "tcg"
	}
	fmt.Fprintf(&b, "Measured on %s, with 2 CPUs each.", strings.Join(releases, ", "))
	if emulated {
		b.WriteString(" The machines were **emulated**, instruction by instruction: nanoseconds here are tens of times those of a real machine and compare with each other only, in the same row or table. Costs of a real machine are in [OVERHEAD.md](OVERHEAD.md).")
	}
	b.WriteString("\n\n")
	b.WriteString(meansTable(kernels))
	b.WriteString(agreement(kernels))
	b.WriteString(missedTable(kernels))
	b.WriteString(programTable(kernels))
	b.WriteString(functionTable(kernels))
	return b.String()
}

// table writes rows of cells below a head.
func table(b *strings.Builder, head []string, rows [][]string) {
	row := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(head)
	row(strings.Split(strings.Repeat("---,", len(head)-1)+"---", ","))
	for _, r := range rows {
		row(r)
	}
	b.WriteString("\n")
}

func meansTable(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("## Means\n\nWhich means can witness waits on a kernel, for a process with all privileges. The one in bold is used unless `--via` asks for another.\n\n")
	all := meansOf(kernels)
	var rows, reasons [][]string
	for _, k := range kernels {
		row := []string{k.Release}
		for _, via := range all {
			m := k.meansBy(via)
			cell := "no"
			switch {
			case m == nil:
				cell = "not tried"
			case m.Default:
				cell = "**yes**"
			case m.Usable:
				cell = "yes"
			default:
				reasons = append(reasons, []string{k.Release, code(via), plain(m.Why)})
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	table(&b, append([]string{"kernel"}, codes(all)...), rows)
	if len(reasons) > 0 {
		table(&b, []string{"kernel", "means", "why not"}, reasons)
	}
	return b.String()
}

func (k *kernel) meansBy(via string) *fact.Means {
	for i := range k.means {
		if k.means[i].Via == via {
			return &k.means[i]
		}
	}
	return nil
}

func missedTable(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("## Missed returns\n\nMore threads sleep in a function than the pool of return probes, made small on purpose, has room for. *Really missed* is what the kernel's count of the threads' switches says beyond the waits that were counted; *shown* is what iowitness tells as `missed_return`, from entries and returns; *by the kernel* is its own count of missed returns, which 5.10 does not keep for a pool that is used up.\n\n")
	var rows [][]string
	for _, k := range kernels {
		for _, m := range k.missed {
			told := "-"
			if m.Kernel >= 0 {
				told = number(m.Kernel)
			}
			rows = append(rows, []string{
				k.Release, code(m.Via), number(int64(m.Threads)), number(int64(m.MaxActive)), number(int64(m.Switches)),
				number(int64(m.Waits)), number(m.Real()), number(int64(m.Shown)), told,
			})
		}
	}
	table(&b, []string{"kernel", "means", "threads", "pool asked for", "switches", "waits counted", "really missed", "shown", "by the kernel"}, rows)
	return b.String()
}

func programTable(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("## Programs\n\nFor each program the instructions that the verifier went through at load (where the kernel tells them, else -), and the time of a run, by the kernel's BPF statistics, over the workloads above. Programs of functions are loaded once for each; the figures are of all copies for `io_schedule` and `io_schedule_timeout`.\n\n")
	head := []string{"means", "program", "attached to"}
	type key struct{ via, name, point string }
	var keys []key
	cells := map[key][]string{}
	for i, k := range kernels {
		head = append(head, k.Release)
		for _, p := range k.programs {
			at := key{p.Via, p.Name, p.Point}
			if cells[at] == nil {
				keys = append(keys, at)
				cells[at] = make([]string, len(kernels))
			}
			cells[at][i] = programCell(&p)
		}
	}
	var rows [][]string
	for _, via := range meansOf(kernels) {
		for _, at := range keys {
			if at.via != via {
				continue
			}
			row := []string{code(at.via), code(at.name), pointName(at.name, at.point)}
			for _, cell := range cells[at] {
				row = append(row, blank(cell))
			}
			rows = append(rows, row)
		}
	}
	table(&b, head, rows)
	return b.String()
}

func programCell(p *fact.Program) string {
	verified, run := "-", "not run"
	if p.Verified > 0 {
		verified = number(int64(p.Verified))
	}
	if p.Runs > 0 {
		run = number(int64(p.NS/p.Runs)) + " ns"
	}
	return verified + " · " + run
}

func pointName(program, point string) string {
	switch {
	case point != "":
		return code(point)
	case strings.HasPrefix(program, "enter"):
		return "entry of functions"
	case strings.HasPrefix(program, "leave"):
		return "return of functions"
	}
	return "iterator over threads"
}

func functionTable(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("## Functions\n\nThose of the table of functions that a kernel has, without modules that were not loaded. What sleeps in one that is missing is not witnessed by means of entry and return.\n\n")
	var rows [][]string
	for _, k := range kernels {
		rows = append(rows, []string{k.Release, strings.Join(codes(k.functions.Present), " "), strings.Join(codes(k.functions.Absent), " ")})
	}
	table(&b, []string{"kernel", "has", "lacks, or has inlined"}, rows)
	return b.String()
}
