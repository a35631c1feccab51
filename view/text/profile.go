// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/profile"
)

// ProfileOptions choose what of a profile is shown.
type ProfileOptions struct {
	Options
	Functions int    // at most so many (20 if 0)
	Processes int    // at most so many (10 if 0)
	Of        int    // functions of each (3 if 0)
	Threads   bool   // threads instead of processes
	Around    string // a function's name: its callers and callees are shown too
}

// Profile shows a profile's functions, processes and losses.
func Profile(w io.Writer, p *profile.Profile, o ProfileOptions) error {
	o.Functions, o.Processes, o.Of = cmp.Or(o.Functions, 20), cmp.Or(o.Processes, 10), cmp.Or(o.Of, 3)
	return write(w, func(lower *Options) ([]line, error) {
		o.Options = *lower
		return profileLines(p, &o), nil
	}, &o.Options)
}

func profileLines(p *profile.Profile, o *ProfileOptions) []line {
	head, foot := wrapped(profileTitle(p), o.Width, dim), profileFoot(p, o.Width)
	body := []line{{}}
	if len(p.Samples) == 0 {
		body = append(body, line{cut("nothing was seen", o.Width), dim})
	} else {
		body = append(body, functionLines(p, o)...)
		body = append(append(body, line{}), processLines(p, o)...)
	}
	if o.Around != "" {
		body = append(append(body, line{}), aroundLines(p, o)...)
	}
	if room := o.Height - len(head) - len(foot) - 1; o.Height > 0 {
		body = limit(body, max(room, 2), o.Width)
	}
	lines := append(append(append(head, body...), line{}), foot...)
	if o.Height > 0 && len(lines) > o.Height {
		lines = lines[:o.Height]
	}
	return lines
}

var profileWords = map[profile.Kind]string{
	profile.CPU: "on a CPU", profile.OffCPU: "off the CPU", profile.RunQ: "waiting for a CPU", profile.Wait: "waiting for I/O",
}

func profileTitle(p *profile.Profile) string {
	total := p.Total()
	parts := []string{strings.TrimSpace("iowitness " + string(p.Kind) + " " + quote(p.Version))}
	if p.Kernel != "" {
		parts = append(parts, "Linux "+quote(p.Kernel))
	}
	if !p.Start.IsZero() {
		parts = append(parts, fmt.Sprintf("%s to %s (%s)", p.Start.Format(time.TimeOnly), p.Start.Add(p.Duration).Format(time.TimeOnly), durationOf(p.Duration)))
	}
	if p.Scope != "" {
		parts = append(parts, "only "+quote(p.Scope))
	}
	seen := plural(total.Count, "event")
	if p.Period > 0 {
		seen = plural(total.Count, "sample") + ", one each " + durationOf(p.Period) + " and CPU"
	}
	if total.Value > 0 {
		seen = Duration(total.Value) + " " + profileWords[p.Kind] + " (" + seen + ")"
	}
	return strings.Join(append(parts, seen), dot)
}

// functionTitles are those of functionCells.
var functionTitles = []string{"OWN%", "ALL%", "OWN", "ALL", "COUNT", "MODULE", "FUNCTION"}

func functionCells(r *profile.Row, total profile.Weight) []string {
	module := cut(quote(r.Module), 24)
	if module == "" {
		module = unknown
	}
	return []string{
		Percent(100 * r.Self.ShareOf(total)), Percent(100 * r.Total.ShareOf(total)),
		timeCell(r.Self), timeCell(r.Total), Count(r.Self.Count), module, functionName(r.Function),
	}
}

func timeCell(w profile.Weight) string {
	if w.Value == 0 && w.Count > 0 {
		return unknown
	}
	return Duration(w.Value)
}

// functionName is a function's name, or what is known in its place.
func functionName(f profile.Function) string {
	switch {
	case f.Name != "":
		return quote(f.Name)
	case f.BuildID != "":
		return "(no symbol; build id " + quote(f.BuildID) + ")"
	case f.Module != "":
		return "(no symbol)"
	}
	return "(unknown)"
}

func functionGrid(o *ProfileOptions) *grid {
	g := &grid{width: o.Width, less: []string{"COUNT", "ALL", "OWN", "MODULE"}}
	g.head(slices.Clone(functionTitles)...)
	return g
}

func functionLines(p *profile.Profile, o *ProfileOptions) []line {
	total, all := p.Total(), p.Top(0)
	g := functionGrid(o)
	shown := all[:min(len(all), o.Functions)]
	for i := range shown {
		g.row(functionCells(&shown[i], total)...)
	}
	lines := g.lines("FUNCTION")
	if left := all[len(shown):]; len(left) > 0 {
		var rest profile.Weight
		for i := range left {
			rest.Add(left[i].Self)
		}
		lines = append(lines, line{cut(fmt.Sprintf("… %s with %s%% in themselves", plural(uint64(len(left)), "more function"), Percent(100*rest.ShareOf(total))), o.Width), dim})
	}
	return lines
}

func processLines(p *profile.Profile, o *ProfileOptions) []line {
	rows, noun := p.ByProcess(o.Of), "more process"
	if o.Threads {
		rows, noun = p.ByThread(o.Of), "more thread"
	}
	g := grid{width: o.Width, less: []string{"COUNT", "TIME", "TID"}}
	g.head("SHARE", "TIME", "COUNT", "PID", "TID", "PROCESS", "MOSTLY IN")
	for i := range rows[:min(len(rows), o.Processes)] {
		r := &rows[i]
		tid, name := unknown, quote(r.Process)
		if r.TID != 0 {
			tid = fmt.Sprint(r.TID)
		}
		if r.Thread != "" && r.Thread != r.Process {
			name += "/" + quote(r.Thread)
		}
		g.row(Percent(100*r.Weight.ShareOf(p.Total())), timeCell(r.Weight), Count(r.Weight.Count), fmt.Sprint(r.PID), tid, cut(name, 32), mostlyIn(r))
	}
	if !o.Threads {
		g.drop("TID")
	}
	lines := g.lines("MOSTLY IN")
	if left := len(rows) - o.Processes; left > 0 {
		if left > 1 {
			noun = map[string]string{"more process": "more processes", "more thread": "more threads"}[noun]
		}
		lines = append(lines, line{cut(fmt.Sprintf("… %d %s", left, noun), o.Width), dim})
	}
	return lines
}

// mostlyIn are the functions that a process's own time is in, as shares of that.
func mostlyIn(r *profile.ProcessRow) string {
	var parts []string
	for i := range r.Top {
		if f := &r.Top[i]; f.Self.ShareOf(r.Weight) > 0 {
			parts = append(parts, quote(f.Label())+" "+Percent(100*f.Self.ShareOf(r.Weight))+"%")
		}
	}
	return strings.Join(parts, ", ")
}

// aroundLines are callers and callees of the functions of a name.
func aroundLines(p *profile.Profile, o *ProfileOptions) []line {
	total := p.Total()
	var lines []line
	for _, r := range p.Top(0) {
		if r.Name != o.Around {
			continue
		}
		for _, side := range []struct {
			title string
			rows  []profile.Row
		}{{"callers of ", p.Callers(r.Function)}, {"called by ", p.Callees(r.Function)}} {
			lines = append(lines, line{cut(side.title+quote(r.Name)+" ("+quote(r.Module)+")", o.Width), bold})
			if len(side.rows) == 0 {
				lines = append(lines, line{cut("  none", o.Width), dim})
				continue
			}
			g := functionGrid(o)
			for i := range side.rows[:min(len(side.rows), o.Functions)] {
				g.row(functionCells(&side.rows[i], total)...)
			}
			lines = append(lines, g.lines("FUNCTION")...)
		}
	}
	if lines == nil {
		lines = append(lines, line{cut("no stack has "+quote(o.Around), o.Width), dim})
	}
	return lines
}

func profileFoot(p *profile.Profile, width int) []line {
	l := &p.Lost
	var parts []string
	add := func(n uint64, title string) {
		if n > 0 {
			parts = append(parts, Count(n)+" × "+title)
		}
	}
	add(l.Samples, "sample not recorded")
	if l.Time > 0 {
		parts = append(parts, durationOf(l.Time))
	}
	add(l.KernelStacks, "no kernel stack")
	add(l.UserStacks, "no user stack")
	add(l.Frames, "frame not named")
	words, st := "nothing lost", dim
	if l.Any() {
		words, st = "lost: "+strings.Join(parts, dot), bold
	}
	lines := wrapped(words, width, st)
	for _, note := range p.Notes {
		lines = append(lines, wrapped("note: "+quote(note), width, dim)...)
	}
	return lines
}
