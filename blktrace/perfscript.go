// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
)

// maxLine bounds a line: no event of the block layer is that long.
const maxLine = 1 << 20

// textReader reads the text of perf script, or of the tracing file system.
type textReader struct {
	name    string
	in      *bufio.Scanner
	line    uint64
	skipped uint64 // events of others, and lines that are none
	lost    uint64 // events, as the text says
	found   bool
}

func newTextReader(name string, in *bufio.Reader) *textReader {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	return &textReader{name: name, in: s}
}

// next reads lines up to an event of the block layer; io.EOF at the end of the text.
func (r *textReader) next(t *trace) error {
	for r.in.Scan() {
		r.line++
		ok, err := r.parse(t, r.in.Text())
		if err != nil {
			return fmt.Errorf("%s: %w", r.where(), err)
		}
		if ok {
			r.found = true
			t.missing, r.lost = r.lost, 0
			return nil
		}
	}
	if err := r.in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s: line %d: longer than %d bytes", r.name, r.line+1, maxLine)
	} else if err != nil {
		return fmt.Errorf("%s: line %d: %w", r.name, r.line+1, err)
	}
	if !r.found {
		return fmt.Errorf("%s: none of its %d lines is an event of the block layer as perf script prints it", r.name, r.line)
	}
	return io.EOF
}

func (r *textReader) where() string { return fmt.Sprintf("%s: line %d", r.name, r.line) }

// parse says whether a line is an event of the block layer, and reads it.
func (r *textReader) parse(t *trace, line string) (bool, error) {
	if text := strings.TrimSpace(line); text == "" || text[0] == '#' {
		return false, nil
	}
	head, name, payload, ok := findEvent(line)
	if !ok {
		if isCutOff(line) {
			return false, errCutOff
		}
		r.other(line)
		return false, nil
	}
	event := textEvents[name]
	*t = trace{action: event.action}
	if err := parseHead(t, head); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	if err := event.parse(t, &cursor{strings.TrimSpace(payload)}); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	if t.sector == noSector {
		t.sector = 0
	}
	return true, nil
}

var errCutOff = errors.New("the line ends before its event: it is cut off")

// isCutOff says whether a line ends behind its time of day, or within the name of an event of ours.
func isCutOff(line string) bool {
	fields := strings.Fields(line)
	at := len(fields) - 1
	for ; at >= max(0, len(fields)-3); at-- {
		if _, ok := parseTime(fields[at]); ok {
			break
		}
	}
	if at < max(0, len(fields)-3) {
		return false
	}
	rest := fields[at+1:]
	if len(rest) > 0 { // perf can print the event's period before its name
		if _, err := strconv.ParseUint(rest[0], 10, 64); err == nil {
			rest = rest[1:]
		}
	}
	return len(rest) == 0 || len(rest) == 1 && beginsEvent(rest[0])
}

// beginsEvent says whether a word is the beginning of an event's name, with its group or without.
func beginsEvent(word string) bool {
	for name := range textEvents {
		if strings.HasPrefix("block:"+name+":", word) || strings.HasPrefix(name+":", word) {
			return true
		}
	}
	return false
}

// other is for lines that are no event of ours: lost events are counted, and a stack's entries are nothing.
func (r *textReader) other(line string) {
	if n, ok := lostEvents(line); ok {
		r.lost += n
		return
	}
	fields := strings.Fields(line)
	if _, err := strconv.ParseUint(fields[0], 16, 64); err == nil && len(fields[0]) >= 8 && (line[0] == ' ' || line[0] == '\t') {
		return
	}
	r.skipped++
}

// lostEvents reads "PERF_RECORD_LOST lost 12" of perf and "[LOST 12 EVENTS]" of the tracing file system.
func lostEvents(line string) (uint64, bool) {
	for _, mark := range []string{"PERF_RECORD_LOST lost ", "[LOST "} {
		if _, rest, ok := strings.Cut(line, mark); ok {
			number, _, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseUint(number, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// findEvent finds the name of an event of the block layer. A process may have
// one as its own name: that of the event is behind the time of day.
func findEvent(line string) (head, name, payload string, ok bool) {
	for from := 0; ; {
		at := strings.Index(line[from:], "block_")
		if at < 0 {
			return head, name, payload, ok
		}
		at += from
		from = at + 1
		begin := at
		if strings.HasSuffix(line[:at], "block:") {
			begin -= len("block:")
		}
		if begin > 0 && line[begin-1] != ' ' && line[begin-1] != '\t' {
			continue
		}
		word, rest, colon := strings.Cut(line[at:], ":")
		if _, known := textEvents[word]; !known || !colon {
			continue
		}
		if timed := hasTime(line[:begin]); timed || !ok {
			head, name, payload, ok = line[:begin], word, rest, true
			if timed {
				return head, name, payload, ok
			}
		}
	}
}

func hasTime(head string) bool {
	fields := strings.Fields(head)
	for i := len(fields) - 1; i >= 0 && i >= len(fields)-2; i-- {
		if _, ok := parseTime(fields[i]); ok {
			return true
		}
	}
	return false
}

var (
	errNoTime = errors.New("no time stamp before the event's name: let perf script print it, by -F +time")
	errHead   = errors.New("what precedes the event's name is not understood: let perf script print comm,tid,cpu,time,event,trace")
)

// lastWord cuts the last word off a text.
func lastWord(text string) (before, word string) {
	text = strings.TrimRight(text, " \t")
	at := strings.LastIndexAny(text, " \t") + 1
	return strings.TrimRight(text[:at], " \t"), text[at:]
}

// parseHead reads what precedes an event's name: the process, its ids, the CPU
// and the time of day. The process's name may have spaces, so it is read from its end.
func parseHead(t *trace, head string) error {
	rest, word := lastWord(head)
	if _, err := strconv.ParseUint(word, 10, 64); err == nil { // perf can print the event's period between time and name
		rest, word = lastWord(rest)
	}
	at, ok := parseTime(word)
	if !ok {
		return errNoTime
	}
	t.at = at
	return parseTask(t, parseCPU(t, rest))
}

// parseCPU takes "[001]" off the end, and the flags that the tracing file system prints behind it.
func parseCPU(t *trace, head string) string {
	rest := head
	for range 2 {
		var word string
		rest, word = lastWord(rest)
		if len(word) < 3 || word[0] != '[' || word[len(word)-1] != ']' {
			continue
		}
		if cpu, err := strconv.ParseUint(word[1:len(word)-1], 10, 32); err == nil {
			t.cpu = uint32(cpu)
			return rest
		}
	}
	return head
}

// parseTask reads "comm 123", "comm 123/125", "comm-123" or "comm"; nothing if only the time was printed.
func parseTask(t *trace, head string) error {
	head = strings.TrimSpace(head)
	before, last := lastWord(head)
	if pid, tid, ok := parseIDs(last); ok {
		t.task = event.Task{PID: pid, TID: tid, Comm: before}
		return nil
	}
	if dash := strings.LastIndexByte(head, '-'); dash > 0 {
		if pid, tid, ok := parseIDs(head[dash+1:]); ok {
			t.task = event.Task{PID: pid, TID: tid, Comm: head[:dash]}
			return nil
		}
	}
	if _, ok := parseTime(last); ok {
		return errHead
	}
	t.task.Comm = head
	return nil
}

// parseIDs reads "tid" or "pid/tid". An id of -1 is of a process that had ended: it is not known.
func parseIDs(word string) (pid, tid uint32, ok bool) {
	first, second, both := strings.Cut(word, "/")
	p, ok := parseID(first)
	if !ok || !both {
		return p, p, ok
	}
	q, ok := parseID(second)
	return p, q, ok
}

func parseID(word string) (uint32, bool) {
	if word == "-1" {
		return 0, true
	}
	n, err := strconv.ParseUint(word, 10, 31)
	return uint32(n), err == nil
}

// parseTime reads "123.456789:", of up to 9 digits behind the point, which is a comma in some languages.
func parseTime(word string) (uint64, bool) {
	word, ok := strings.CutSuffix(word, ":")
	if !ok {
		return 0, false
	}
	point := strings.IndexAny(word, ".,")
	if point < 1 || len(word)-point-1 < 3 || len(word)-point-1 > 9 {
		return 0, false
	}
	seconds, err := strconv.ParseUint(word[:point], 10, 33)
	if err != nil {
		return 0, false
	}
	digits := word[point+1:]
	rest, err := strconv.ParseUint(digits+strings.Repeat("0", 9-len(digits)), 10, 64)
	return seconds*1e9 + rest, err == nil
}
