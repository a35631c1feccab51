// SPDX-License-Identifier: Apache-2.0

// Package folded writes profiles as folded stacks, the lines that flame graph tools read:
// process;outermost;…;innermost weight.
package folded

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/symbol"
)

// Options choose what a line has.
type Options struct {
	Threads bool // threads have a frame of their own after their process
	IDs     bool // names of processes and threads end in their numbers
	Time    bool // weigh by time in ns, not by count
	Marks   bool // frames of the kernel end in _[k], of code compiled at run time in _[j]
}

// Write writes the profile's stacks, each once, in order of their text.
func Write(w io.Writer, p *profile.Profile, o Options) error {
	lines := map[string]uint64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		weight := s.Count
		if o.Time {
			weight = s.Value
		}
		if weight > 0 {
			lines[line(s, o)] += weight
		}
	}
	out := bufio.NewWriter(w)
	for _, stack := range slices.Sorted(maps.Keys(lines)) {
		out.WriteString(stack)
		out.WriteByte(' ')
		out.WriteString(strconv.FormatUint(lines[stack], 10))
		out.WriteByte('\n')
	}
	return out.Flush()
}

func line(s *profile.Sample, o Options) string {
	parts := []string{name(s.Process, s.PID, o.IDs)}
	if o.Threads {
		parts = append(parts, name(s.Thread, s.TID, o.IDs))
	}
	if s.Truncated {
		parts = append(parts, "[truncated]")
	}
	for _, frames := range [...][]symbol.Frame{s.User, s.Kernel} {
		for i := range slices.Backward(frames) {
			parts = append(parts, frame(&frames[i], o.Marks))
		}
	}
	return strings.Join(parts, ";")
}

func frame(f *symbol.Frame, marks bool) string {
	label := safe(f.Label())
	switch {
	case !marks:
	case f.Kind == symbol.Kernel:
		label += "_[k]"
	case f.Kind == symbol.JIT:
		label += "_[j]"
	}
	return label
}

func name(text string, id uint32, ids bool) string {
	if text == "" {
		text = "?"
	}
	if ids {
		text += "-" + strconv.FormatUint(uint64(id), 10)
	}
	return safe(text)
}

// separators would end a frame or begin a weight.
var separators = strings.NewReplacer(";", ":", " ", "_", "\u00a0", "_")

func safe(text string) string { return separators.Replace(identity.Quote(text)) }
