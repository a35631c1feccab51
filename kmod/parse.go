// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// WaitsVersion is the version of the form of /proc/iowitness/waits that ParseWaits knows.
const WaitsVersion = 1

// ErrFormat is wrapped by every error of a text that is not of the module's form.
var ErrFormat = errors.New("not understood")

// ErrVersion says that the loaded module is of another version of iowitness.
var ErrVersion = errors.New("the loaded module is of another version: unload it and load the one of this program")

// words takes a line apart. The first thing that is wrong is kept, and what
// follows gives zeros.
type words struct {
	rest []string
	err  error
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *words) next(what string) string {
	if w.err != nil || len(w.rest) == 0 {
		w.fail("no %s", what)
		return ""
	}
	word := w.rest[0]
	w.rest = w.rest[1:]
	return word
}

func (w *words) number(what string, bits int) uint64 {
	word := w.next(what)
	if w.err != nil {
		return 0
	}
	n, err := strconv.ParseUint(word, 10, bits)
	// The module writes no sign and no leading zeros.
	if err != nil || strconv.FormatUint(n, 10) != word {
		w.fail("%s %q is no number of %d bits", what, word, bits)
		return 0
	}
	return n
}

func (w *words) u64(what string) uint64 { return w.number(what, 64) }
func (w *words) u32(what string) uint32 { return uint32(w.number(what, 32)) }

// either is whether the next word is the first of the two that it can be.
func (w *words) either(what, yes, no string) bool {
	word := w.next(what)
	if word != yes && word != no {
		w.fail("%s %q is neither %s nor %s", what, word, yes, no)
	}
	return word == yes
}

func (w *words) sum(what string) Sum { return Sum{w.u64(what), w.u64(what + " time")} }

func (w *words) end() error {
	if w.err == nil && len(w.rest) > 0 {
		w.fail("%q follows the last word", w.rest[0])
	}
	return w.err
}

// ParseWaits reads the text of /proc/iowitness/waits. Its errors name the line,
// and wrap ErrVersion or ErrFormat.
func ParseWaits(text []byte) (*State, error) {
	s := &State{}
	p := &waitsParser{state: s}
	n := 0
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		n++
		err := p.line(n, string(line))
		if err == nil && !whole {
			err = errors.New("it is cut off")
		}
		if errors.Is(err, ErrVersion) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("/proc/iowitness/waits, line %d: %w: %w", n, err, ErrFormat)
		}
		text = rest
	}
	if !p.ended {
		return nil, fmt.Errorf("/proc/iowitness/waits ends after line %d without its last line: %w", n, ErrFormat)
	}
	return s, nil
}

type waitsParser struct {
	state *State
	ended bool
	seen  map[string]bool // lines that may come once
}

func (p *waitsParser) line(n int, line string) error {
	if p.ended {
		return errors.New("it follows the last line")
	}
	w := &words{rest: strings.Split(line, " ")}
	kind := w.next("word")
	if (n == 1) != (kind == "iowitness-waits") {
		return fmt.Errorf("the first line, and no other, begins with iowitness-waits; this one with %q", kind)
	}
	switch kind {
	case "iowitness-waits":
		if version := w.u64("version"); w.err == nil && version != WaitsVersion {
			return ErrVersion
		}
	case "now":
		p.once(w, kind, "")
		p.state.Now = w.u64("instant")
	case "epoch":
		p.once(w, kind, "")
		p.state.Epoch = w.u32("epoch")
	case "time":
		p.reason(w, kind, &p.state.Time)
	case "closed":
		p.reason(w, kind, &p.state.Closed)
	case "probe":
		p.probe(w)
	case "loss":
		l := Loss{ID: w.next("id")}
		p.once(w, kind, l.ID)
		l.Count, l.NS = w.u64("count"), w.u64("time")
		p.state.Losses = append(p.state.Losses, l)
	case "cost":
		p.once(w, kind, "")
		p.state.Cost = Cost{Runs: w.u64("runs"), Timed: w.u64("timed"), NS: w.u64("time"), MaxNS: w.u64("longest")}
	case "process":
		p.state.Processes = append(p.state.Processes, parseProcess(w))
	case "ended":
		p.once(w, kind, "")
		p.state.Ended = Ended{Processes: w.u64("processes"), Counts: w.counts()}
		p.state.Ended.Slots = w.slots()
	case "end":
		p.ended = true
		if lines := w.u64("lines"); w.err == nil && lines != uint64(n) {
			w.fail("%d lines were written and %d have come", lines, n)
		}
	default:
		return fmt.Errorf("there is no line of the kind %q", kind)
	}
	return w.end()
}

// once refuses a second line of a kind and an id.
func (p *waitsParser) once(w *words, kind, id string) {
	key := kind + " " + id
	if p.seen[key] {
		w.fail("a second line of %s", strings.TrimSpace(key))
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[key] = true
}

func (p *waitsParser) reason(w *words, kind string, r *ByReason) {
	reason := w.next("reason")
	to := map[string]*uint64{"open": &r.Open, "gate": &r.Gate, "duty": &r.Duty, "heartbeat": &r.Heartbeat}[reason]
	if to == nil {
		w.fail("there is no reason %q", reason)
		return
	}
	p.once(w, kind, reason)
	*to = w.u64(kind)
}

func (p *waitsParser) probe(w *words) {
	probe := Probe{Function: w.next("function")}
	p.once(w, "probe", probe.Function)
	probe.Flagged = w.either("flag", "flagged", "unflagged")
	errno := w.next("error")
	// The kernel's error numbers are negative.
	n, err := strconv.Atoi(errno)
	if err != nil || n > 0 || n < -4095 || strconv.Itoa(n) != errno {
		w.fail("error %q is none", errno)
	}
	probe.Error, probe.MaxActive = -n, w.u32("maxactive")
	probe.Entries, probe.Returns = w.u64("entries"), w.u64("returns")
	probe.Skipped, probe.Nested = w.u64("skipped"), w.u64("nested")
	probe.Missed, probe.Recursed = w.u64("missed"), w.u64("recursed")
	p.state.Probes = append(p.state.Probes, probe)
}

func parseProcess(w *words) Process {
	var p Process
	p.TGID, p.PPID, p.Born = w.u32("process id"), w.u32("parent"), w.u64("birth")
	p.Alive = w.either("state", "alive", "ended")
	p.Comm = w.name()
	p.Now = w.u64("instant")
	p.Counts = w.counts()
	p.Waiting, p.Oldest = w.u32("waiting"), w.u64("oldest")
	p.OldestFlagged = w.either("flag", "flagged", "unflagged")
	if (p.Waiting == 0) != (p.Oldest == 0) {
		w.fail("%d waits in progress, and the oldest began at %d", p.Waiting, p.Oldest)
	}
	p.Slots = w.slots()
	return p
}

func (w *words) counts() Counts {
	c := Counts{
		Entries: w.u64("entries"), Flagged: w.sum("flagged"), Unflagged: w.sum("unflagged"), NotWaited: w.sum("not waited"),
		BelowMin: w.u64("below the minimum"), MaxNS: w.u64("longest"),
	}
	for i := range c.Epochs {
		epoch, ns := w.u32("epoch"), w.u64("longest of an epoch")
		if epoch > EpochMask || ns > EpochMaxLimit {
			w.fail("%d ns in epoch %d are out of bounds", ns, epoch)
		}
		c.Epochs[i] = EpochMax{Epoch: epoch, NS: ns}
	}
	return c
}

const (
	histSlots = 128
	commBytes = 15
)

// slots are the rest of the line.
func (w *words) slots() []SlotCount {
	var slots []SlotCount
	for w.err == nil && len(w.rest) > 0 {
		slot, count, _ := strings.Cut(w.next("slot"), ":")
		pair := words{rest: []string{slot, count}}
		s := SlotCount{Slot: uint8(pair.number("slot", 8)), N: pair.u64("count of a slot")}
		switch {
		case pair.err != nil:
			w.err = pair.err
		case s.Slot >= histSlots || len(slots) > 0 && slots[len(slots)-1].Slot >= s.Slot:
			w.fail("slot %d is out of order", s.Slot)
		case s.N == 0:
			w.fail("slot %d is told to be empty", s.Slot)
		}
		slots = append(slots, s)
	}
	return slots
}

// name is a process's name in quotes, what is not plain in it as octal escapes.
func (w *words) name() string {
	word := w.next("name")
	if w.err != nil {
		return ""
	}
	text, opened := strings.CutPrefix(word, `"`)
	text, closed := strings.CutSuffix(text, `"`)
	if !opened || !closed {
		w.fail("name %q is not in quotes", word)
		return ""
	}
	var name []byte
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '\\' && i+4 <= len(text):
			n, err := strconv.ParseUint(text[i+1:i+4], 8, 8)
			if err != nil || n == 0 || plain(byte(n)) {
				w.fail("name %q has an escape that is none", word)
				return ""
			}
			name = append(name, byte(n))
			i += 4
		case !plain(b):
			w.fail("name %q has a byte that is not plain", word)
			return ""
		default:
			name = append(name, b)
			i++
		}
	}
	if len(name) > commBytes {
		w.fail("name %q is too long", word)
	}
	return string(name)
}

// plain is whether the module writes a byte of a name as it is.
func plain(b byte) bool { return b > ' ' && b < 0x7f && b != '"' && b != '\\' }
