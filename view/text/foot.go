// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/snapshot"
)

// footLines tell what was lost or sampled, what iowitness cost, and the notes.
func footLines(s *snapshot.Snapshot, width int) []line {
	lines := wrapped(lostLine(s.Lost), width, lostStyle(s.Lost))
	if words := coverageWords(s); words != nil {
		lines = append(lines, wrapped(strings.Join(words, dot), width, bold)...)
	}
	lines = append(lines, wrapped(strings.Join(slices.Concat(sampledWords(s), joinedWords(s), []string{costLine(s)}), dot), width, dim)...)
	if s.Below.Rows > 0 {
		lines = append(lines, wrapped(fmt.Sprintf("not shown: %s whose waits were all too short, %s together",
			plural(uint64(s.Below.Rows), "row"), Duration(s.Below.Total)), width, dim)...)
	}
	for _, note := range s.Notes {
		lines = append(lines, wrapped("note: "+quote(note), width, dim)...)
	}
	return lines
}

func lostStyle(lost []snapshot.Loss) style {
	for _, l := range lost {
		if l.Count > 0 && !l.Harmless {
			return bold
		}
	}
	return dim
}

func lostLine(lost []snapshot.Loss) string {
	var parts []string
	for _, l := range lost {
		if l.Count == 0 || l.Harmless {
			continue
		}
		part := Count(l.Count) + " × " + quote(l.Title)
		if l.NS > 0 {
			bound := ""
			if l.AtMost {
				bound = "at most "
			}
			part += " (" + bound + Duration(l.NS) + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "nothing lost"
	}
	return "lost: " + strings.Join(parts, dot)
}

// coverageWords say what was left out on purpose; nothing if all was witnessed.
func coverageWords(s *snapshot.Snapshot) []string {
	var words []string
	c := &s.Coverage
	if gap := c.Elapsed - s.Wall; gap > 0 && gap > c.Elapsed/1000 {
		words = append(words, fmt.Sprintf("witnessed %s of %s (%s%%): figures are of that time alone",
			durationOf(s.Wall), durationOf(c.Elapsed), Percent(100*float64(s.Wall)/float64(c.Elapsed))))
	}
	if c.Ratio > 1 {
		words = append(words, fmt.Sprintf("1 in %s waits measured: counts and times are of these alone", Count(uint64(c.Ratio))))
	}
	if c.Shed {
		words = append(words, "causes were not looked for all the time")
	}
	return words
}

func sampledWords(s *snapshot.Snapshot) []string {
	if !s.Sampled.Any {
		return nil
	}
	if s.Estimated {
		return []string{fmt.Sprintf("all figures (~) are estimates, causes told from %s that were seen", plural(s.Sampled.Seen, "wait"))}
	}
	words := fmt.Sprintf("causes (~) told from %s of %s waits", Count(s.Sampled.Seen), Count(s.Sampled.Of))
	if s.SampleEvery > 0 {
		words += fmt.Sprintf(": all from %s on, 1 in %s or fewer of the shorter", Duration(s.SlowNS), Count(s.SampleEvery))
	}
	return []string{words}
}

// leastShare is how long a share of a CPU must have been taken to be told as one: what begins and ends a
// run would make of a short one most of a CPU.
const leastShare = time.Second

// cpuShare is percent of a CPU over some time (0: not known), or the CPU's time where that is short.
func cpuShare(percent float64, wall time.Duration) string {
	if wall == 0 || wall >= leastShare {
		return Percent(percent) + "% of a CPU"
	}
	return Duration(uint64(percent/100*float64(wall))) + " of CPU time"
}

func costLine(s *snapshot.Snapshot) string {
	c := &s.Cost
	text := fmt.Sprintf("cost: %s, %s", cpuShare(c.CPUPercent, c.Wall), Bytes(c.RSSBytes))
	if s.Estimated {
		return text // there are no probes
	}
	if c.ProbeWall <= 0 {
		return text + ", probes not measured"
	}
	text += ", probes " + cpuShare(100*float64(c.ProbeNS)/float64(c.ProbeWall), c.Wall)
	if c.ProbeRuns > 0 {
		text += fmt.Sprintf(" (%s a run)", Duration(c.ProbeNS/c.ProbeRuns))
	}
	return text
}
