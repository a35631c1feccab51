// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Layout is how a buffer's pages begin, as events/header_page says.
type Layout struct {
	commitAt, commitSize int
	dataAt, dataSize     int
}

// PageBytes is the length of a page as one read gives it.
func (l Layout) PageBytes() int { return l.dataAt + l.dataSize }

// ParseLayout reads events/header_page.
func ParseLayout(text string) (Layout, error) {
	f, err := ParseFormat(text)
	if err != nil {
		return Layout{}, fmt.Errorf("events/header_page: %w", err)
	}
	stamp, hasStamp := f.Field("timestamp")
	commit, hasCommit := f.Field("commit")
	data, hasData := f.Field("data")
	l := Layout{commitAt: commit.Offset, commitSize: commit.Size, dataAt: data.Offset, dataSize: data.Size}
	switch {
	case !hasStamp || !hasCommit || !hasData:
		err = errors.New("a field is missing")
	case stamp.Offset != 0 || stamp.Size != 8:
		err = errors.New("the time stamp is not the first field of 8 bytes")
	case l.commitSize != 4 && l.commitSize != 8 || l.commitAt+l.commitSize > l.dataAt || l.commitAt < 8:
		err = errors.New("the commit field is out of place")
	case l.dataSize < 16:
		err = errors.New("there is no room for data")
	}
	if err != nil {
		return Layout{}, fmt.Errorf("events/header_page: pages begin otherwise than iowitness reads them: %w", err)
	}
	return l, nil
}

// Kinds of entries in a page: the low 5 bits of an entry's head.
const (
	kindLong    = 0  // data whose length is in the word after the head
	kindMax     = 28 // up to here: data of so many words
	kindPadding = 29
	kindExtend  = 30 // the time that has passed, too long for a head
	kindStamp   = 31 // a time of its own

	kindBits  = 5
	deltaBits = 27
	stampBits = 59 // of an absolute stamp: the rest is that of the time before
)

// CheckEntryHead compares events/header_event with the kinds that Page reads.
func CheckEntryHead(text string) error {
	has := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"type_len : 5 bits", "time_delta : 27 bits", "array : 32 bits",
		"padding : type == 29", "time_extend : type == 30", "data max type_len == 28",
	} {
		if !strings.Contains(has, want) {
			return fmt.Errorf("events/header_event: entries begin otherwise than iowitness reads them: no %q", want)
		}
	}
	return nil
}

// Flags in a page's commit field; the bits below are the length of the data.
const (
	missedEvents = 1 << 31 // events before this page were overwritten
	missedStored = 1 << 30 // their number follows the data
	commitMask   = 1<<27 - 1
)

// ErrPage tells that a page is not as pages are: the rest of it is not read.
var ErrPage = errors.New("a page of the trace buffer cannot be read")

// Page goes through the entries of a page.
type Page struct {
	Missed        uint64 // events overwritten before this page, if counted
	MissedUnknown bool   // some were, and the kernel did not say how many

	data []byte
	time uint64
	err  error
}

// Page begins to read a page, which may be longer than what is in use of it.
// The page's memory is shared.
func (l Layout) Page(b []byte) (Page, error) {
	if len(b) < l.dataAt {
		return Page{}, fmt.Errorf("%w: %d bytes", ErrPage, len(b))
	}
	p := Page{time: binary.LittleEndian.Uint64(b)}
	commit := uint64(binary.LittleEndian.Uint32(b[l.commitAt:]))
	length := int(commit & commitMask)
	if length > len(b)-l.dataAt {
		return Page{}, fmt.Errorf("%w: %d bytes of data in a page of %d", ErrPage, length, len(b))
	}
	p.data = b[l.dataAt : l.dataAt+length]
	if commit&missedEvents != 0 {
		stored := b[l.dataAt+length:]
		if commit&missedStored != 0 && len(stored) >= 8 {
			p.Missed = binary.LittleEndian.Uint64(stored)
		} else {
			p.MissedUnknown = true
		}
	}
	return p, nil
}

// Next gives the next event's time in ns and its record; false at the page's
// end, or where it cannot be read: Err tells.
func (p *Page) Next() (time uint64, record []byte, ok bool) {
	for len(p.data) >= 4 && p.err == nil {
		head := binary.LittleEndian.Uint32(p.data)
		kind, delta := head&(1<<kindBits-1), uint64(head>>kindBits)
		switch {
		case kind == kindPadding && delta == 0: // the rest of the page is unused
			p.data = nil
		case kind == kindPadding: // a discarded event: time has passed for it too
			p.time += delta
			p.skip(p.word())
		case kind == kindExtend:
			p.time += p.word()<<deltaBits | delta
			p.skip(4)
		case kind == kindStamp:
			p.time = p.time>>stampBits<<stampBits | (p.word()<<deltaBits|delta)&(1<<stampBits-1)
			p.skip(4)
		case kind == kindLong:
			p.time += delta
			length := p.word()
			if record = p.skip(length); len(record) >= 4 {
				return p.time, record[4:], true
			}
			p.fail()
		default:
			p.time += delta
			if record = p.skip(uint64(kind) * 4); record != nil {
				return p.time, record, true
			}
		}
	}
	return 0, nil, false
}

// word is the one after the head; what is missing is found by skip.
func (p *Page) word() uint64 {
	if len(p.data) < 8 {
		return 0
	}
	return uint64(binary.LittleEndian.Uint32(p.data[4:]))
}

// skip goes behind the head and so many bytes, which it returns.
func (p *Page) skip(length uint64) []byte {
	end := 4 + (length+3)&^3
	if end > uint64(len(p.data)) {
		p.fail()
		return nil
	}
	body := p.data[4 : 4+length]
	p.data = p.data[end:]
	return body
}

func (p *Page) fail() {
	if p.err == nil {
		p.err = fmt.Errorf("%w: an entry is longer than the rest of its page", ErrPage)
	}
	p.data = nil
}

// Err is why Next ended before the page's end, or nil.
func (p *Page) Err() error { return p.err }
