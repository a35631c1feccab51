// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

const headerPage = `	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
`

const headerEvent = `# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
`

func layout(t testing.TB) Layout {
	t.Helper()
	l, err := ParseLayout(headerPage)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pageBuilder writes entries as the kernel does.
type pageBuilder struct {
	time uint64
	data []byte
}

func (b *pageBuilder) word(v uint32) { b.data = binary.LittleEndian.AppendUint32(b.data, v) }

func (b *pageBuilder) head(kind, delta uint32) { b.word(kind | delta<<kindBits) }

// short is data whose length, in words, is in the head.
func (b *pageBuilder) short(delta uint32, data ...byte) *pageBuilder {
	b.head(uint32(len(data)/4), delta)
	b.data = append(b.data, data...)
	return b
}

// long is data whose length is in the word after the head and counts that word too.
func (b *pageBuilder) long(delta uint32, data []byte) *pageBuilder {
	b.head(kindLong, delta)
	b.word(uint32(len(data)) + 4)
	b.data = append(b.data, data...)
	for len(b.data)%4 != 0 {
		b.data = append(b.data, 0)
	}
	return b
}

func (b *pageBuilder) extend(delta uint64) *pageBuilder {
	b.head(kindExtend, uint32(delta&(1<<deltaBits-1)))
	b.word(uint32(delta >> deltaBits))
	return b
}

func (b *pageBuilder) stamp(time uint64) *pageBuilder {
	b.head(kindStamp, uint32(time&(1<<deltaBits-1)))
	b.word(uint32(time >> deltaBits))
	return b
}

// discarded is an event that was taken back after it had got its place.
func (b *pageBuilder) discarded(delta uint32, bytes int) *pageBuilder {
	b.head(kindPadding, delta)
	b.word(uint32(bytes))
	b.data = append(b.data, make([]byte, bytes-4)...)
	return b
}

func (b *pageBuilder) unused() *pageBuilder {
	b.head(kindPadding, 0)
	return b
}

func (b *pageBuilder) page(flags uint64, missed ...uint64) []byte {
	p := make([]byte, 4096)
	binary.LittleEndian.PutUint64(p, b.time)
	binary.LittleEndian.PutUint64(p[8:], uint64(len(b.data))|flags)
	copy(p[16:], b.data)
	for _, n := range missed {
		binary.LittleEndian.PutUint64(p[16+len(b.data):], n)
	}
	return p
}

type told struct {
	time uint64
	data []byte
}

func readAll(p *Page) (all []told) {
	for {
		time, record, ok := p.Next()
		if !ok {
			return all
		}
		all = append(all, told{time, slices.Clone(record)})
	}
}

func words(n int, v byte) []byte { return slices.Repeat([]byte{v}, 4*n) }

func TestPageGivesEachKindOfEntry(t *testing.T) {
	const begin = 1<<60 | 5_000_000_000 // with bits above those of an absolute stamp
	b := &pageBuilder{time: begin}
	b.short(0, words(1, 1)...).
		short(100, words(28, 2)...).
		long(50, words(40, 3)).
		extend(3<<deltaBits|7).short(1, words(2, 4)...).
		discarded(20, 24).short(2, words(2, 5)...).
		stamp(5_000_000_000+1<<32).short(9, words(3, 6)...).
		long(1, append(words(30, 7), 7)). // its length is no multiple of a word
		short(1, words(2, 8)...).
		unused()
	p, err := layout(t).Page(b.page(0))
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(begin)
	want := []told{{at, words(1, 1)}, {at + 100, words(28, 2)}, {at + 150, words(40, 3)}}
	at = begin + 150 + (3<<deltaBits | 7) + 1
	want = append(want, told{at, words(2, 4)}, told{at + 22, words(2, 5)})
	at = 1<<60 | (5_000_000_000 + 1<<32)
	want = append(want, told{at + 9, words(3, 6)}, told{at + 10, append(words(30, 7), 7)}, told{at + 11, words(2, 8)})
	got := readAll(&p)
	if p.Err() != nil || len(got) != len(want) {
		t.Fatalf("%d events, not %d: %v", len(got), len(want), p.Err())
	}
	for i := range want {
		if got[i].time != want[i].time || !slices.Equal(got[i].data, want[i].data) {
			t.Errorf("event %d: at %d: %v; want at %d: %v", i, got[i].time, got[i].data, want[i].time, want[i].data)
		}
	}
	if p.Missed != 0 || p.MissedUnknown {
		t.Errorf("missed %d, %v", p.Missed, p.MissedUnknown)
	}
}

func TestPageTellsMissedEvents(t *testing.T) {
	b := (&pageBuilder{time: 9}).short(1, words(1, 1)...)
	for _, c := range []struct {
		page    []byte
		missed  uint64
		unknown bool
	}{
		{b.page(0), 0, false},
		{b.page(missedEvents|missedStored, 77), 77, false},
		{b.page(missedEvents), 0, true},
		{b.page(missedEvents|missedStored, 77)[:16+len(b.data)], 0, true}, // no room for the number
	} {
		p, err := layout(t).Page(c.page)
		if err != nil {
			t.Fatal(err)
		}
		if p.Missed != c.missed || p.MissedUnknown != c.unknown {
			t.Errorf("missed %d, %v; want %d, %v", p.Missed, p.MissedUnknown, c.missed, c.unknown)
		}
		if events := readAll(&p); len(events) != 1 || events[0].time != 10 {
			t.Errorf("events %v", events)
		}
	}
}

func TestBrokenPagesAreRefused(t *testing.T) {
	l := layout(t)
	for name, data := range map[string]*pageBuilder{
		"short data beyond the page's end": {data: []byte{28, 0, 0, 0, 1, 2, 3, 4}},
		"long data beyond the page's end":  {data: []byte{0, 0, 0, 0, 255, 255, 255, 255}},
		"long data without its own word":   {data: []byte{0, 0, 0, 0, 0, 0, 0, 0}},
		"an extension without its word":    {data: []byte{30, 0, 0, 0}},
		"a discarded event beyond the end": {data: []byte{29 | 1<<5, 0, 0, 0, 200, 0, 0, 0}},
	} {
		p, err := l.Page(data.page(0))
		if err != nil {
			t.Fatal(err)
		}
		if events := readAll(&p); len(events) != 0 || !errors.Is(p.Err(), ErrPage) {
			t.Errorf("%s: %v, %v", name, events, p.Err())
		}
	}
	for _, page := range [][]byte{nil, make([]byte, 15), (&pageBuilder{data: words(20, 1)}).page(0)[:64]} {
		if _, err := l.Page(page); !errors.Is(err, ErrPage) {
			t.Errorf("a page of %d bytes was taken: %v", len(page), err)
		}
	}
}

func TestParseLayout(t *testing.T) {
	if l := layout(t); l.PageBytes() != 4096 || l.commitAt != 8 || l.dataAt != 16 {
		t.Errorf("%+v", l)
	}
	big := "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
		"\tfield: char data;\toffset:16;\tsize:65520;\tsigned:0;\n"
	if l, err := ParseLayout(big); err != nil || l.PageBytes() != 65536 {
		t.Errorf("pages of 64 KiB: %+v, %v", l, err)
	}
	for _, text := range []string{
		"", "field: u64 timestamp; offset:8; size:8; signed:0;\n",
		"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:2;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
		"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:12;\tsize:4080;\tsigned:0;\n",
	} {
		if l, err := ParseLayout(text); err == nil {
			t.Errorf("taken: %q: %+v", text, l)
		}
	}
	if err := CheckEntryHead(headerEvent); err != nil {
		t.Error(err)
	}
	if CheckEntryHead("# compressed entry header\n\ttype_len    :    4 bits\n") == nil {
		t.Error("another entry head was taken")
	}
}

func FuzzPage(f *testing.F) {
	b := &pageBuilder{time: 1}
	f.Add(b.short(1, words(2, 1)...).long(5, words(40, 2)).extend(1<<40).discarded(3, 16).stamp(99).unused().page(missedEvents | missedStored))
	f.Add((&pageBuilder{data: []byte{0, 0, 0, 0, 255, 255, 255, 255}}).page(0))
	l := layout(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := l.Page(raw)
		if err != nil {
			return
		}
		room := len(raw)
		for {
			_, record, ok := p.Next()
			if !ok {
				break
			}
			if room -= 4 + len(record); room < 0 {
				t.Fatal("more data than the page has")
			}
		}
	})
}
