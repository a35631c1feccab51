// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/lab/fact"
)

// agreement is how the means agree with the workload and with each other.
func agreement(kernels []kernel) string {
	var b strings.Builder
	b.WriteString("## Agreement\n\n" +
		"The same reads under each means. *Switches* is the kernel's own count of how often the threads gave up their CPU within the reads: the truth that *waits* has to meet. " +
		"*Not counted* is what a means itself tells as missed or lost, calls of which it did not see whether they slept among them; *awake* are calls of a sleeping function in which the thread did not sleep, which only means by entry and return see. " +
		"*Waited* includes the delay from wake-up to running, which means by entry and return cannot tell apart: its share of the reads' time by the workload's own clock, and of the device's delay, which is the floor.\n\n")
	for _, name := range workloads(kernels) {
		fmt.Fprintf(&b, "### %s\n\n", upper(name))
		var rows [][]string
		for _, k := range kernels {
			for _, a := range k.agreements {
				if a.Workload == name {
					rows = append(rows, agreementRow(&k, &a))
				}
			}
		}
		table(&b, []string{"kernel", "means", "reads", "switches", "waits", "difference", "not counted", "awake", "negative", "waited / reads' time", "waited / device's delay"}, rows)
	}
	b.WriteString(costTable(kernels))
	return b.String()
}

func workloads(kernels []kernel) (names []string) {
	for _, k := range kernels {
		for _, a := range k.agreements {
			if !slices.Contains(names, a.Workload) {
				names = append(names, a.Workload)
			}
		}
	}
	return names
}

func agreementRow(k *kernel, a *fact.Agreement) []string {
	waited := float64(a.BlockedNS + a.RunQueueNS)
	waits, difference := a.Waits, fmt.Sprintf("%+.2f%%", 100*(float64(a.Waits)/float64(a.Switches)-1))
	if a.Estimated {
		waits, difference = a.Waits+a.Unflagged, "an estimate"
	}
	return []string{
		k.Release, code(a.Via), number(int64(a.Ops)), number(int64(a.Switches)), number(int64(waits)), difference,
		number(int64(a.Missed + a.NotCounted + a.Unseen)), number(int64(a.NoSleep)), number(int64(a.Negative)),
		fmt.Sprintf("%.3f", waited/float64(a.TotalNS)), fmt.Sprintf("%.3f", waited/float64(max(a.FloorNS, 1))),
	}
}

// costTable is of the last workload, whose many short waits are not all recorded.
func costTable(kernels []kernel) string {
	var b strings.Builder
	names := workloads(kernels)
	if len(names) == 0 {
		return ""
	}
	load := names[len(names)-1]
	fmt.Fprintf(&b, "## Cost of a wait\n\nUnder %q: time in the kernel, of all runs of the means' programs, divided by the waits, with each run's own measurement (- where nobody measures it); what programs that do nothing take at the same points; and CPU time of the reading process. What else the host did shows in these figures: differences below a half say little.\n\n", load)
	all := meansOf(kernels)
	var inKernel, inUser [][]string
	for _, k := range kernels {
		row, user := []string{k.Release}, []string{k.Release}
		for _, via := range all {
			cell, userCell := "-", "-"
			for _, a := range k.agreements {
				if a.Via != via || a.Workload != load || a.Switches == 0 {
					continue
				}
				waits := uint64(a.Switches)
				if a.CostNS > 0 {
					cell = fmt.Sprintf("%s ns in %.1f runs", number(int64(a.CostNS/waits)), float64(a.Runs)/float64(waits))
				}
				userCell = number(int64(a.UserNS/waits)) + " ns"
			}
			row, user = append(row, cell), append(user, userCell)
		}
		inKernel, inUser = append(inKernel, row), append(inUser, user)
	}
	var floors [][]string
	for _, k := range kernels {
		row := []string{k.Release}
		for _, via := range all {
			row = append(row, k.floorOf(via, load))
		}
		floors = append(floors, row)
	}
	table(&b, append([]string{"in the kernel"}, codes(all)...), inKernel)
	table(&b, append([]string{"programs that do nothing"}, codes(all)...), floors)
	table(&b, append([]string{"by the reader"}, codes(all)...), inUser)
	return b.String()
}

func (k *kernel) floorOf(via, load string) string {
	for _, f := range k.floors {
		if f.Via == via && f.Workload == load && f.Switches > 0 {
			return fmt.Sprintf("%s ns in %.1f runs", number(int64(f.CostNS/uint64(f.Switches))), float64(f.Runs)/float64(f.Switches))
		}
	}
	return "-"
}

// number writes a count with separators of thousands.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func code(s string) string { return "`" + s + "`" }

func codes(all []string) (out []string) {
	for _, s := range all {
		out = append(out, code(s))
	}
	return out
}

func blank(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

// plain is text that does not end a table's cell.
func plain(s string) string {
	return strings.NewReplacer("|", "/", "\n", " ").Replace(s)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
