// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"errors"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
)

// noSector is that of requests that have none: flushes, and commands of drivers.
const noSector = ^uint64(0)

// textEvent is how an event is read.
type textEvent struct {
	action Action
	parse  func(*trace, *cursor) error
}

var textEvents = map[string]textEvent{
	"block_bio_queue":      {Queue, parseBio},
	"block_getrq":          {GetRequest, parseBio},
	"block_sleeprq":        {SleepRequest, parseBio},
	"block_bio_backmerge":  {BackMerge, parseBio},
	"block_bio_frontmerge": {FrontMerge, parseBio},
	"block_bio_bounce":     {Bounce, parseBio},
	"block_bio_complete":   {BioComplete, parseBio},
	"block_io_start":       {Start, parseRequest},
	"block_io_done":        {Done, parseRequest},
	"block_rq_insert":      {Insert, parseRequest},
	"block_rq_issue":       {Issue, parseRequest},
	"block_rq_merge":       {RequestMerge, parseRequest},
	"block_rq_complete":    {Complete, parseRequest},
	"block_rq_requeue":     {Requeue, parseRequest},
	"block_rq_abort":       {Abort, parseRequest},
	"block_split":          {Split, parseSplit},
	"block_bio_remap":      {Remap, parseRemap},
	"block_rq_remap":       {RequestRemap, parseRemap},
	"block_plug":           {Plug, parseNothing},
	"block_unplug":         {Unplug, parseNothing},
	"block_unplug_io":      {Unplug, parseNothing},
	"block_unplug_timer":   {UnplugTimer, parseNothing},
}

func parseNothing(*trace, *cursor) error { return nil }

// parseBio reads "8,0 WS 123 + 8 [comm]".
func parseBio(t *trace, c *cursor) error {
	if err := c.start(t); err != nil {
		return err
	}
	if err := c.extent(t); err != nil {
		return err
	}
	return c.end(t)
}

// parseRequest reads "8,0 WS 4096 () 123 + 8 none,0,0 [comm]". Not all have the
// bytes, none of the older kernels the priority.
func parseRequest(t *trace, c *cursor) error {
	if err := c.start(t); err != nil {
		return err
	}
	bytes, counted := uint64(0), false
	if !strings.HasPrefix(c.rest, "(") {
		var err error
		if bytes, err = c.number(); err != nil {
			return err
		}
		counted = true
	}
	if !strings.HasPrefix(c.rest, "(") {
		return errCommand
	}
	_, rest, ok := strings.Cut(c.rest, ") ")
	if !ok {
		return errCommand
	}
	c.rest = rest
	if err := c.extent(t); err != nil {
		return err
	}
	if t.bytes == 0 && counted { // a command of a driver: it has bytes and no sectors
		t.bytes = bytes
	}
	return c.end(t)
}

// parseSplit reads "8,0 WS 123 / 131 [comm]".
func parseSplit(t *trace, c *cursor) (err error) {
	if err = c.start(t); err != nil {
		return err
	}
	if t.sector, err = c.number(); err != nil {
		return err
	}
	if err = c.word("/"); err != nil {
		return err
	}
	if t.boundary, err = c.number(); err != nil {
		return err
	}
	return c.end(t)
}

// parseRemap reads "8,0 WS 123 + 8 <- (253,0) 99", with a count of bios if it is of a request.
func parseRemap(t *trace, c *cursor) (err error) {
	if err = c.start(t); err != nil {
		return err
	}
	if err = c.extent(t); err != nil {
		return err
	}
	if err = c.word("<-"); err != nil {
		return err
	}
	word := c.next()
	inner, opened := strings.CutPrefix(word, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	from, ok := parseDev(inner)
	if !opened || !closed || !ok {
		return errDevice
	}
	t.from, t.to = from, t.dev
	t.fromSector, err = c.number()
	return err
}

var (
	errDevice  = errors.New("no device number, such as 8,0, where one is expected: the line is cut off or damaged")
	errOp      = errors.New("no kind of I/O, such as WS, where one is expected: the line is cut off or damaged")
	errNumber  = errors.New("no number where one is expected: the line is cut off or damaged")
	errCommand = errors.New("no command in brackets where one is expected: the line is cut off or damaged")
	errBracket = errors.New("no [command name] or [error] at its end: the line is cut off or damaged")
	errWord    = errors.New("not of the form that the kernel prints: the line is cut off or damaged")
)

// cursor goes through the words of an event.
type cursor struct{ rest string }

func (c *cursor) next() string {
	word, rest, _ := strings.Cut(c.rest, " ")
	c.rest = strings.TrimLeft(rest, " ")
	return word
}

func (c *cursor) word(want string) error {
	if c.next() != want {
		return errWord
	}
	return nil
}

func (c *cursor) number() (uint64, error) {
	n, err := strconv.ParseUint(c.next(), 10, 64)
	if err != nil {
		return 0, errNumber
	}
	return n, nil
}

// start reads the device and the kind of I/O.
func (c *cursor) start(t *trace) error {
	dev, ok := parseDev(c.next())
	if !ok {
		return errDevice
	}
	op, ok := parseOp(c.next())
	if !ok {
		return errOp
	}
	t.dev, t.op = dev, op
	return nil
}

// extent reads "123 + 8", of sectors.
func (c *cursor) extent(t *trace) (err error) {
	if t.sector, err = c.number(); err != nil {
		return err
	}
	if err = c.word("+"); err != nil {
		return err
	}
	sectors, err := strconv.ParseUint(c.next(), 10, 32)
	if err != nil {
		return errNumber
	}
	t.bytes = sectors * sectorBytes
	return nil
}

// end reads what is in the last brackets: an error of what has completed, else
// the name of the process at that instant, which perf's own column may not have.
func (c *cursor) end(t *trace) error {
	open := strings.IndexByte(c.rest, '[')
	if open < 0 || !strings.HasSuffix(c.rest, "]") {
		return errBracket
	}
	inner := c.rest[open+1 : len(c.rest)-1]
	switch t.action {
	case Complete, BioComplete, Requeue, Abort:
		n, err := strconv.ParseInt(inner, 10, 32)
		if err != nil {
			return errNumber
		}
		t.err = int32(min(max(n, -n), 1<<31-1))
	default:
		if inner != "" {
			t.task.Comm = inner
		}
	}
	return nil
}

// parseDev reads "8,0".
func parseDev(word string) (event.Dev, bool) {
	first, second, ok := strings.Cut(word, ",")
	major, err1 := strconv.ParseUint(first, 10, 12)
	minor, err2 := strconv.ParseUint(second, 10, 20)
	return event.MakeDev(uint32(major), uint32(minor)), ok && err1 == nil && err2 == nil
}

var opNames = []struct {
	name string
	op   uint32
}{ // longer ones first
	{"ZRA", opZoneResetAll},
	{"ZA", opZoneAppend},
	{"ZR", opZoneReset},
	{"ZF", opZoneFinish},
	{"ZO", opZoneOpen},
	{"ZC", opZoneClose},
	{"WZ", event.OpWriteZeroes},
	{"DE", event.OpSecureErase},
	{"D", event.OpDiscard},
	{"W", event.OpWrite},
	{"R", event.OpRead},
	{"F", event.OpFlush},
	{"N", opUnknown},
}

// parseOp reads the kind of I/O: F for a flush before it, the operation, and
// letters for its flags. "FF" is a flush request.
func parseOp(word string) (uint32, bool) {
	flags := uint32(0)
	if len(word) > 1 && word[0] == 'F' && strings.ContainsRune("WRDFNZ", rune(word[1])) {
		flags = reqPreflush
		word = word[1:]
	}
	for _, o := range opNames {
		if rest, ok := strings.CutPrefix(word, o.name); ok {
			more, ok := parseFlags(rest)
			return o.op | flags | more, ok
		}
	}
	return 0, false
}

func parseFlags(letters string) (flags uint32, ok bool) {
	for _, letter := range letters {
		switch letter {
		case 'F':
			flags |= reqFUA
		case 'A':
			flags |= reqAhead
		case 'S':
			flags |= reqSync
		case 'M':
			flags |= reqMeta
		case 'U', 'a', 'B', 'E': // atomic; a barrier; an erasure: of no account here
		default:
			return 0, false
		}
	}
	return flags, true
}
