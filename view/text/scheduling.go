// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/symbol"
)

// Scheduling shows a report on threads and CPUs.
func Scheduling(w io.Writer, r *scheduling.Report, o Options) error {
	return write(w, func(o *Options) ([]line, error) { return schedulingReport(r, o), nil }, &o)
}

// PaintScheduling shows a report in place of the last.
func (l *Live) PaintScheduling(r *scheduling.Report) error {
	return l.paint(func(o *Options) ([]line, error) { return schedulingReport(r, o), nil })
}

func schedulingReport(r *scheduling.Report, o *Options) []line {
	head := wrapped(schedulingTitle(r), o.Width, dim)
	head = append(head, wrapped(schedulingSentence(r), o.Width, bold)...)
	foot := schedulingFoot(r, o.Width)
	var body []line
	block := func(title string, lines []line) {
		if len(lines) > 0 {
			body = append(append(body, line{}, line{cut(title, o.Width), bold}), lines...)
		}
	}
	if r.Kind == profile.RunQ {
		block("waits for a CPU by process", queueLines(r.Queues, false, o.Width))
		block("by CPU", queueLines(r.OnCPUs, true, o.Width))
		block("who woke whom", pairLines(r.Pairs, o.Width))
		block("the longest", longLines(r.Longest, o.Width))
	} else {
		block("samples that did not come in time", gapLines(r, o.Width))
		if len(r.Processes) > 0 {
			shown := ProfileOptions{Options: *o, Processes: len(r.Processes), Of: 3}
			block("by process", processLines(r.Profile, &shown))
			if shown.Threads, shown.Processes = true, len(r.Threads); len(r.Threads) > len(r.Processes) {
				block("by thread", processLines(r.Profile, &shown))
			}
		}
		block("by function", calledLines(r, o.Width))
		if r.Kind == profile.OffCPU {
			block("by stack", offStackLines(r, o.Width))
		}
	}
	if room := o.Height - len(head) - len(foot) - 1; o.Height > 0 {
		body = limit(body, max(room, 2), o.Width)
	}
	lines := append(append(head, body...), line{})
	lines = append(lines, foot...)
	if o.Height > 0 && len(lines) > o.Height {
		lines = lines[:o.Height]
	}
	return lines
}

func schedulingTitle(r *scheduling.Report) string {
	parts := []string{strings.TrimSpace("iowitness " + string(r.Kind) + " " + quote(r.Version)), "Linux " + quote(r.Kernel)}
	parts = append(parts, fmt.Sprintf("%s to %s (%s)", r.Start.Format("15:04:05"), r.End.Format("15:04:05"), durationOf(r.End.Sub(r.Start))))
	if r.Event != "" {
		parts = append(parts, "samples by "+quote(r.Event))
	}
	if r.Period > 0 {
		parts = append(parts, "one a CPU every "+durationOf(r.Period))
	}
	if r.Scope != "" {
		parts = append(parts, "only "+quote(r.Scope))
	}
	return strings.Join(parts, dot)
}

// schedulingSentence is the finding in one sentence.
func schedulingSentence(r *scheduling.Report) string {
	switch {
	case r.Kind == profile.CPU:
		return sampledWord(r)
	case r.Total.Count == 0 && r.Total.Value == 0:
		return "nothing was seen"
	case r.Kind == profile.RunQ:
		words := fmt.Sprintf("%s for a CPU, %s in all", plural(r.Total.Count, "wait"), Duration(r.Total.Value))
		if len(r.Longest) > 0 {
			words += "; the longest " + Duration(r.Longest[0].NS) + " by " + processName(r.Longest[0].Comm, r.Longest[0].PID)
		}
		return words
	}
	var parts []string
	for _, s := range r.States {
		parts = append(parts, fmt.Sprintf("%s %s", Duration(s.NS), s.State))
	}
	return fmt.Sprintf("off the CPU %s: %s", plural(r.Total.Count, "time"), strings.Join(parts, dot))
}

func sampledWord(r *scheduling.Report) string {
	var all event.CPUSamples
	for i := range r.CPUs {
		all.Add(&r.CPUs[i].CPUSamples)
	}
	words := fmt.Sprintf("%s of %s: ", plural(all.Samples, "sample"), plural(uint64(len(r.CPUs)), "CPU"))
	if busy, of := all.Busy(); of > 0 {
		words += share(busy, of) + " busy, "
	}
	words += Count(r.Total.Count) + " told"
	if all.Missed > 0 {
		words += fmt.Sprintf("; %s did not come in time", plural(all.Missed, "sample"))
	}
	if all.PassedNS > 0 && all.StolenNS*100 >= all.PassedNS {
		words += fmt.Sprintf("; the host had the CPUs for %s", Duration(all.StolenNS))
	}
	return words
}

// SchedulingFoot writes what was lost, what it cost and what there is to say, where the output itself cannot.
func SchedulingFoot(w io.Writer, r *scheduling.Report) error {
	return write(w, func(o *Options) ([]line, error) { return schedulingFoot(r, o.Width), nil }, &Options{})
}

func schedulingFoot(r *scheduling.Report, width int) []line {
	lines := wrapped(lostLine(r.Lost), width, lostStyle(r.Lost))
	lines = append(lines, wrapped(costLine(&snapshot.Snapshot{Cost: r.Cost}), width, dim)...)
	for _, note := range r.Notes {
		lines = append(lines, wrapped("note: "+quote(note), width, dim)...)
	}
	return lines
}

// calledName is a function in one word, with the module where that is not the kernel.
func calledName(f *profile.Function) string {
	if f.Name == "" || f.Module == "" || f.Module == "[kernel]" {
		return quote(f.Label())
	}
	return quote(f.Name) + " (" + quote(f.Module) + ")"
}

func percent(part, whole uint64) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

func calledLines(r *scheduling.Report, width int) []line {
	if len(r.Functions) == 0 {
		return nil
	}
	t := grid{width: width, less: []string{"TIME"}}
	t.head("SELF", "TOTAL", "TIME", "FUNCTION", "CALLED BY")
	for i := range r.Functions {
		f := &r.Functions[i]
		var callers []string
		for j := range f.Callers {
			callers = append(callers, share(f.Callers[j].Total.Value, f.Total.Value)+" "+calledName(&f.Callers[j].Function))
		}
		t.row(Percent(percent(f.Self.Value, r.Total.Value))+"%", Percent(percent(f.Total.Value, r.Total.Value))+"%",
			Duration(f.Self.Value), calledName(&f.Function), strings.Join(callers, ", "))
	}
	return t.lines("CALLED BY")
}

// maxFrames of a stack are shown from each end.
const maxFrames = 8

func chainWords(kernel, user []symbol.Frame) string {
	return strings.Join(append(frameWords(kernel), frameWords(user)...), " < ")
}

func frameWords(frames []symbol.Frame) (words []string) {
	for i := range frames {
		if i == maxFrames && len(frames) > maxFrames+1 {
			return append(words, fmt.Sprintf("%d more", len(frames)-maxFrames))
		}
		words = append(words, frameWord(&frames[i]))
	}
	return words
}

// frameWord is a frame with its module, if that is one of the kernel's.
func frameWord(f *symbol.Frame) string {
	if f.Kind == symbol.Kernel && f.Module != "[kernel]" && f.Name != "" {
		return quote(f.Name) + " " + quote(f.Module)
	}
	return quote(f.Label())
}

func wakerWords(is event.WakerKind, comm string, pid uint32) string {
	switch is {
	case event.WakerThread:
		return "woken by " + processName(comm, pid)
	case event.WakerInterrupt:
		return "woken by an interrupt"
	case event.WakerUnsure:
		return "woken by " + processName(comm, pid) + ", or an interrupt that came upon it"
	case event.WakerNew:
		return "made by " + processName(comm, pid)
	}
	return ""
}

func offStackLines(r *scheduling.Report, width int) (lines []line) {
	for i := range r.Stacks {
		s := &r.Stacks[i]
		often := fmt.Sprintf("in %s, at most %s", plural(s.Count, "time"), Duration(s.Max))
		if s.Count == 0 {
			often = "and still"
		}
		words := fmt.Sprintf("%s %s %s: %s", Duration(s.NS), s.State, often, processName(s.Process, s.PID))
		if s.Comm != s.Process {
			words += ", thread " + processName(s.Comm, s.TID)
		}
		if w := wakerWords(s.WakerIs, s.WakerComm, s.Waker); w != "" {
			words += ", " + w
		}
		lines = append(lines, indented(words, width)...)
		if stack := chainWords(s.Kernel, s.User); stack != "" {
			lines = append(lines, indented("  "+stack, width)...)
		}
	}
	return lines
}

// longGap is how long a gap is that is worth a line: on a busy host shorter ones are many.
const longGap = 50 * time.Millisecond

// gapLines tell where CPUs could not be interrupted.
func gapLines(r *scheduling.Report, width int) (lines []line) {
	for i := range r.Gaps {
		g := &r.Gaps[i]
		if g.Max < uint64(longGap) {
			continue
		}
		words := fmt.Sprintf("CPU %d took no sample for %s", g.CPU, Duration(g.Max))
		if g.Count > 1 {
			words = fmt.Sprintf("CPU %d took no sample %s, %s in all, at most %s", g.CPU, plural(g.Count, "time"), Duration(g.NS), Duration(g.Max))
		}
		words += ": interrupts were off, or the host had the CPU"
		if stack := chainWords(g.Kernel, g.User); stack != "" {
			words += "; seen first afterwards: " + stack
		}
		if !isIdle(g.TID, g.Comm) {
			words += " (" + processName(g.Comm, g.PID) + ")"
		}
		lines = append(lines, indented(words, width)...)
	}
	return lines
}

func queueLines(rows []scheduling.Queue, cpus bool, width int) []line {
	if len(rows) == 0 {
		return nil
	}
	t := grid{width: width, less: []string{"P50", "OFTEN", "P99 ", "COUNT", "MEAN"}}
	t.head("PID", "COMMAND", "WOKEN", "COUNT", "MEAN", "P50", "P99", "MAX", "PREEMPTED", "OFTEN", "P99 ", "MAX ")
	if cpus {
		t.rows[0][0] = "CPU"
	}
	for i := range rows {
		q := &rows[i]
		id, comm := q.PID, quote(q.Comm)
		if cpus {
			id, comm = q.CPU, ""
		}
		w, p := &q.Parts[event.RunQWoken], &q.Parts[event.RunQPreempted]
		t.row(fmt.Sprint(id), comm, Duration(w.NS), Count(w.Count), Duration(w.Mean()), quantileOf(w, 0.5), quantileOf(w, 0.99), Duration(w.Max),
			Duration(p.NS), Count(p.Count), quantileOf(p, 0.99), Duration(p.Max))
	}
	if cpus {
		t.drop("COMMAND")
	}
	return t.lines("")
}

func quantileOf(p *scheduling.Part, q float64) string {
	return quantileCell(snapshot.EstimateQuantile(&p.Hist, q, p.Max))
}

func pairLines(pairs []scheduling.Pair, width int) []line {
	if len(pairs) == 0 {
		return nil
	}
	t := grid{width: width, less: []string{"MEAN"}}
	t.head("COUNT", "TIME", "MEAN", "MAX", "WHO")
	for i := range pairs {
		p := &pairs[i]
		words := wakerWords(p.WakerIs, p.WakerComm, p.Waker)
		t.row(Count(p.Count), Duration(p.NS), Duration(p.NS/max(p.Count, 1)), Duration(p.Max), processName(p.WokenComm, p.Woken)+" "+words)
	}
	return t.lines("")
}

func longLines(long []scheduling.Long, width int) (lines []line) {
	for i := range long {
		l := &long[i]
		since := "to run on, having had to give way"
		if l.Kind == event.RunQWoken {
			since = wakerWords(l.WakerIs, l.WakerComm, l.Waker)
		}
		words := fmt.Sprintf("%s at %s on CPU %d: %s, %s", Duration(l.NS), l.At.Format("15:04:05.000"), l.CPU, processName(l.Comm, l.PID), since)
		var ran []string
		for _, r := range l.Ran {
			who := "nothing"
			if !isIdle(r.TID, r.Comm) {
				who = processName(r.Comm, r.PID)
			}
			ran = append(ran, Duration(r.NS)+" "+who)
		}
		if len(ran) > 0 {
			words += "; meanwhile it ran " + strings.Join(ran, ", ")
		}
		if stack := chainWords(l.Where, nil); stack != "" {
			words += ", the last of which gave way at " + stack
		}
		lines = append(lines, indented(words, width)...)
	}
	return lines
}

// isIdle says whether a thread is what a CPU does when it has nothing to do: that has no number, as
// those outside of the caller's pid namespace, but a name of its own.
func isIdle(tid uint32, comm string) bool {
	return tid == 0 && (comm == "" || strings.HasPrefix(comm, "swapper/"))
}
