// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// pages is a buffer whose reads give one page each; nil stands for "empty now".
type pages struct{ left [][]byte }

func (p *pages) Read(b []byte) (int, error) {
	if len(p.left) == 0 || p.left[0] == nil {
		p.left = p.left[min(1, len(p.left)):]
		return 0, unix.EAGAIN
	}
	n := copy(b, p.left[0])
	p.left = p.left[1:]
	return n, nil
}

func (p *pages) Close() error { return nil }

const (
	testEvent = 300
	testStack = 4
)

var testStacks = stackFormat{
	id: testStack, pid: Field{Offset: 4, Size: 4, Signed: true}, size: Field{Offset: 8, Size: 4, Signed: true}, callers: 16,
}

func eventRecord(id uint16, pid uint32) []byte {
	b := make([]byte, 8)
	binary.NativeEndian.PutUint16(b, id)
	binary.NativeEndian.PutUint32(b[4:], pid)
	return b
}

func stackRecord(pid uint32, addresses ...uint64) []byte {
	b := append(eventRecord(testStack, pid), make([]byte, 8)...)
	binary.NativeEndian.PutUint32(b[8:], uint32(len(addresses)))
	for _, a := range addresses {
		b = binary.NativeEndian.AppendUint64(b, a)
	}
	return b
}

func readerOf(t testing.TB, buffers ...[][]byte) *Reader {
	r := &Reader{capacity: 100}
	for cpu, p := range buffers {
		r.streams = append(r.streams, newStream(cpu, io.ReadCloser(&pages{p}), layout(t), testStacks, &r.counts))
	}
	return r
}

type seen struct {
	time  uint64
	cpu   int
	pid   uint32
	stack []uint64
}

func read(t *testing.T, r *Reader, until uint64) (all []seen) {
	t.Helper()
	if _, err := r.Collect(); err != nil {
		t.Fatal(err)
	}
	r.Read(until, func(rec *Record) {
		all = append(all, seen{rec.Time, rec.CPU, binary.NativeEndian.Uint32(rec.Data[4:]), slices.Clone(rec.Stack)})
	})
	return all
}

// TestStacksGoToTheEventBefore also where a page ends between the two, where the
// stack of an event was lost, and where it is another thread's.
func TestStacksGoToTheEventBefore(t *testing.T) {
	r := readerOf(t, [][]byte{
		(&pageBuilder{time: 10}).long(0, stackRecord(9, 0x99)).short(0, eventRecord(testEvent, 1)...).
			long(1, stackRecord(1, 0xa1, trampoline, 0xa2)).short(9, eventRecord(testEvent, 2)...).page(0),
		(&pageBuilder{time: 21}).long(0, stackRecord(2, 0xb1)).short(9, eventRecord(testEvent, 3)...).
			short(10, eventRecord(testEvent, 4)...).long(1, stackRecord(77, 0xc1)).short(9, eventRecord(testEvent, 5)...).page(0),
	})
	got := read(t, r, 100)
	want := []seen{{10, 0, 1, []uint64{0xa1, 0xa2}}, {20, 0, 2, []uint64{0xb1}}, {30, 0, 3, nil}, {40, 0, 4, nil}, {50, 0, 5, nil}}
	if !slices.EqualFunc(got, want, equalSeen) {
		t.Errorf("%v; want %v", got, want)
	}
	if c := r.Counts(); c.Records != 5 || c.Stacks != 2 || c.StrayStacks != 2 || c.BrokenPages != 0 {
		t.Errorf("%+v", c)
	}
}

func equalSeen(a, b seen) bool {
	return a.time == b.time && a.cpu == b.cpu && a.pid == b.pid && slices.Equal(a.stack, b.stack)
}

// TestWhatIsTooYoungIsKept: with the stack that comes only at the next reading.
func TestWhatIsTooYoungIsKept(t *testing.T) {
	r := readerOf(t,
		[][]byte{
			(&pageBuilder{time: 10}).short(0, eventRecord(testEvent, 1)...).short(30, eventRecord(testEvent, 2)...).page(0),
			nil, nil, // two collectings find no more
			(&pageBuilder{time: 41}).long(0, stackRecord(2, 0xa1)).page(0),
		},
		[][]byte{(&pageBuilder{time: 35}).short(0, eventRecord(testEvent, 3)...).page(0)},
	)
	if got := read(t, r, 30); len(got) != 1 || got[0].pid != 1 {
		t.Errorf("up to 30: %v", got)
	}
	if got := read(t, r, 30); len(got) != 0 {
		t.Errorf("up to 30 again: %v", got)
	}
	got := read(t, r, 50)
	want := []seen{{35, 1, 3, nil}, {40, 0, 2, []uint64{0xa1}}}
	if !slices.EqualFunc(got, want, equalSeen) {
		t.Errorf("%v; want %v", got, want)
	}
}

// TestCPUsAreMergedInTheOrderOfTime: random buffers of five CPUs, read at random instants.
func TestCPUsAreMergedInTheOrderOfTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const cpus, each = 5, 2000
	var buffers [][][]byte
	var all []uint64
	for range cpus {
		var buffer [][]byte
		time := uint64(rnd.IntN(100))
		b := &pageBuilder{time: time}
		for i := range each {
			delta := uint32(rnd.IntN(200))
			if i == 0 {
				delta = 0
			}
			time += uint64(delta)
			b.short(delta, eventRecord(testEvent, uint32(time))...)
			all = append(all, time)
			if len(b.data) > 4000 {
				buffer = append(buffer, b.page(0))
				b = &pageBuilder{time: time}
			}
		}
		buffers = append(buffers, append(buffer, b.page(0)))
	}
	slices.Sort(all)
	r := readerOf(t, buffers...)
	var got []uint64
	for until := uint64(0); len(got) < len(all); until += uint64(rnd.IntN(5000)) {
		for _, s := range read(t, r, until) {
			if s.time > until || uint32(s.time) != s.pid {
				t.Fatalf("event %v read up to %d", s, until)
			}
			got = append(got, s.time)
		}
	}
	if !slices.Equal(got, all) || r.Counts().OutOfOrder != 0 {
		t.Errorf("%d events of %d, %d out of order", len(got), len(all), r.Counts().OutOfOrder)
	}
}

func FuzzStream(f *testing.F) {
	f.Add((&pageBuilder{time: 10}).short(0, eventRecord(testEvent, 1)...).long(1, stackRecord(1, 0xa1, 0xa2)).page(0),
		(&pageBuilder{time: 21}).long(0, stackRecord(2, 0xb1)).page(missedEvents))
	l := layout(f)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		r := &Reader{capacity: 10}
		for cpu, p := range [][][]byte{{first, second}, {second, nil, first}} {
			s := newStream(cpu, &pages{p}, l, testStacks, &r.counts)
			s.stats = func() (CPUStats, error) { return CPUStats{}, nil }
			r.streams = append(r.streams, s)
		}
		for _, until := range []uint64{15, 1 << 40} {
			if _, err := r.Collect(); err != nil {
				t.Fatal(err)
			}
			r.Read(until, func(rec *Record) {
				if rec.Time > until || len(rec.Stack) > 1<<12 {
					t.Fatalf("%+v", rec)
				}
			})
		}
		if _, _, err := r.Restart(); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.streams {
			if s.peek() {
				t.Fatal("something is left")
			}
		}
	})
}

// BenchmarkRead is an entry with a stack of 20 frames, and a return.
func BenchmarkRead(b *testing.B) {
	stack := make([]uint64, 20)
	for i := range stack {
		stack[i] = 1<<63 + uint64(i)
	}
	var built pageBuilder
	pairs := 0
	for ; len(built.data) < 3800; pairs++ {
		built.long(100, append(eventRecord(testEvent, 1), make([]byte, 32)...)).
			long(900, stackRecord(1, stack...)).
			long(5000, append(eventRecord(testEvent, 1), make([]byte, 16)...))
	}
	page := built.page(0)
	r := &Reader{}
	s := newStream(0, nil, layout(b), testStacks, &r.counts)
	r.streams = []*stream{s}
	b.ReportAllocs()
	for n := 0; n < b.N; n += pairs {
		s.queue = append(s.queue, append(s.blank()[:0], page...))
		r.Read(math.MaxUint64, func(*Record) {})
	}
}

func TestBrokenPagesAreCountedAndTheNextOnesRead(t *testing.T) {
	r := readerOf(t, [][]byte{
		(&pageBuilder{time: 1}).short(0, eventRecord(testEvent, 1)...).page(0),
		{1, 2, 3},
		(&pageBuilder{time: 2, data: []byte{0, 0, 0, 0, 255, 255, 255, 255}}).page(missedEvents|missedStored, 5),
		(&pageBuilder{time: 3}).short(0, eventRecord(testEvent, 2)...).page(missedEvents|missedStored, 7),
	})
	if got := read(t, r, 10); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if c := r.Counts(); c.BrokenPages != 2 || c.Missed != 12 {
		t.Errorf("%+v", c)
	}
}

// TestUpToWhereNothingIsMissing: a full buffer holds what came before the loss;
// what came while it was being read is from after it.
func TestUpToWhereNothingIsMissing(t *testing.T) {
	full := func(n int) (buffer [][]byte) {
		for i := range n {
			buffer = append(buffer, (&pageBuilder{time: uint64(100 + 10*i)}).short(0, eventRecord(testEvent, 1)...).short(5, eventRecord(testEvent, 2)...).page(0))
		}
		return buffer
	}
	r := readerOf(t, full(9), full(4), full(8))
	r.capacity = 10
	lost := []uint64{3, 1000, 4}
	for i, s := range r.streams {
		s.stats = func() (CPUStats, error) { return CPUStats{Dropped: lost[i]}, nil }
	}
	got := read(t, r, 120) // 100, 105, 110, 115, 120 of three CPUs each
	n, whole, err := r.Lost(171)
	if len(got) != 15 || n != 7 || whole != 170 || err != nil {
		t.Errorf("%d told, %d lost, whole up to %d, %v; the second buffer was not full", len(got), n, whole, err)
	}
	if n, whole, _ := r.Lost(171); n != 0 || whole != math.MaxUint64 {
		t.Errorf("told twice: %d, %d", n, whole)
	}
	lost[1] += 5
	if dropped, n, err := r.Restart(); dropped != 42-15 || n != 1005 || err != nil {
		t.Errorf("%d dropped, %d lost, %v", dropped, n, err)
	}
	if got := read(t, r, 1000); len(got) != 0 || r.Counts().Records != 15 {
		t.Errorf("%v, %+v", got, r.Counts())
	}
}
