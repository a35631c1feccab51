// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/iowitness/iowitness/blktrace"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
)

// importNames are those of a recording, which has no others than numbers: this host's
// devices may be other ones.
type importNames struct{}

func (importNames) Device(event.Dev) string        { return "" }
func (importNames) Cgroup(uint64) string           { return "" }
func (importNames) File(event.File, uint32) string { return "" }

// runImport analyses a recording. What comes before a damage is told all the same.
func (c *blockCmd) runImport(s *streams) error {
	if c.Device != nil {
		dev, ok := parseDev(*c.Device)
		if !ok {
			return usageError{errors.New("a recording knows devices by their numbers: give --device as MAJOR:MINOR")}
		}
		c.dev = dev
	}
	if c.Cgroup != "" {
		return usageError{errors.New("a recording does not know cgroups: --cgroup does not go with --import")}
	}
	out, err := openOutput(c.Output, false, s)
	if err != nil {
		return err
	}
	defer out.Close()
	end := newEnding(out, false)
	defer end.close()
	reader, err := blktrace.Open(*c.Import, blktrace.Options{Input: c.input(s, end), Ended: end.asked.Load})
	switch {
	case err != nil && end.asked.Load():
		return end.early()
	case err != nil:
		return err
	}
	if c.Summary {
		return c.importSummary(s, out, reader)
	}
	names := importNames{}
	lines, err := c.newLines(out, names, request.Clock{})
	if err != nil {
		reader.Close()
		return usageError{err}
	}
	var failed error
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return lines.Header()
	}
	counts, damage := reader.Read(func(o *event.IO) {
		if failed == nil && c.wantsAll(o, names) {
			if failed = begin(); failed == nil {
				failed = lines.Write(o)
			}
		}
	})
	if isForeign(&counts, damage) {
		return damage
	}
	if failed == nil {
		failed = errors.Join(begin(), lines.Flush())
	}
	fmt.Fprintf(s.err, "iowitness: %s\n", strings.Join(importFoot(&counts), "; "))
	return errors.Join(reporting(failed), damage)
}

// isForeign says that what was read is no recording, or one that is damaged before its first event: there is
// nothing to tell but that.
func isForeign(c *blktrace.Counts, damage error) bool { return damage != nil && c.Events == 0 }

// input is standard input, which ends when the run is asked to: who writes there may never say anything again.
func (c *blockCmd) input(s *streams, end *ending) io.Reader {
	if *c.Import != "-" {
		return nil
	}
	out, writer := io.Pipe()
	end.call(func() { writer.Close() })
	go func() {
		_, err := io.Copy(writer, s.in)
		writer.CloseWithError(err)
	}()
	return out
}

func (c *blockCmd) importSummary(s *streams, out *os.File, reader *blktrace.Reader) error {
	names := importNames{}
	sums, repeats := request.NewCollector(0, 0), request.NewRepeats()
	victim, _ := c.newVictim(func(pid uint32) (uint32, error) { return pid, nil })
	var first, last uint64
	counts, damage := reader.Read(func(o *event.IO) {
		if begin := o.Begin(); first == 0 || begin != 0 && begin < first {
			first = begin
		}
		last = max(last, o.Completed)
		if c.wantsAll(o, names) {
			sums.Add(o)
			repeats.Add(o)
		}
		if victim != nil && (c.dev == 0 || o.Dev == c.dev || o.Disk == c.dev) {
			victim.Add(o)
		}
	})
	if isForeign(&counts, damage) {
		return damage
	}
	o := request.Options{
		Version: version(), Source: reader.Format() + " " + *c.Import, Wall: time.Duration(max(last, first) - first), Top: c.Top,
		Losses: request.Losses{
			Started: counts.IOs, Completed: counts.IOs - counts.Unfinished, InFlight: counts.Unfinished, Unmatched: counts.Unmatched, Dropped: counts.Missing, Wider: c.isFiltered(),
		},
		Notes: importFoot(&counts),
	}
	if !counts.Began.IsZero() && first >= counts.BeganAt {
		o.Start = counts.Began.Add(time.Duration(first - counts.BeganAt))
		o.End = o.Start.Add(o.Wall)
	}
	if damage != nil {
		o.Notes = append(o.Notes, damage.Error())
	}
	return errors.Join(reporting(c.writeSummary(out, c.summary(sums, victim, repeats, o), names)), damage)
}

// importFoot tells in sentences what a recording holds and lacks.
func importFoot(c *blktrace.Counts) []string {
	notes := []string{fmt.Sprintf("%d events of the block layer, %d requests", c.Events, c.IOs)}
	for _, n := range []struct {
		count uint64
		what  string
	}{
		{c.Unfinished, "requests without a completion in the recording, which says nothing of the device"},
		{c.Unmatched, "completions of requests that were not seen to begin"},
		{c.Stray, "other events of such requests"},
		{c.FlushEnds, "second completions, which only close a flush"},
		{c.OutOfOrder, "events earlier than the one before them"},
		{c.Backwards, "requests with an instant before one that it follows"},
		{c.Missing, "events lost when it was recorded"},
		{c.Skipped, "events and lines of other kinds, passed over"},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	return notes
}
