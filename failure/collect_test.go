// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

func TestArgumentsAreReadable(t *testing.T) {
	minus := func(n uint64) uint64 { return -n }
	for _, c := range []struct {
		name  string
		value uint64
		want  string
	}{
		{"fd", 3, "3"},
		{"fd", minus(1), "-1"},
		{"fd", 0xffffffff, "-1"}, // of 32 bits
		{"dirfd", 0xffffff9c, "AT_FDCWD"},
		{"dirfd", minus(100), "AT_FDCWD"},
		{"flags", 0x80000, "0x80000"},
		{"mode", 0o644, "0644"},
		{"addr", 0x7ffc00001000, "0x7ffc00001000"},
		{"count", 0x12345678, "0x12345678"},
	} {
		if got := value(c.name, c.value); got != c.want {
			t.Errorf("%s %#x: %s, not %s", c.name, c.value, got, c.want)
		}
	}
}

func TestErrorsAndSignalsHaveNames(t *testing.T) {
	for errno, want := range map[unix.Errno]string{unix.EINVAL: "EINVAL", 512: "ERESTARTSYS", 515: "ENOIOCTLCMD", 4000: "error 4000"} {
		if got := ErrnoName(errno); got != want {
			t.Errorf("%d: %s", errno, got)
		}
	}
	for errno, want := range map[unix.Errno]bool{unix.EINTR: false, 512: true, 515: false, 516: true, 524: false} {
		if Restarts(errno) != want {
			t.Errorf("%s: %v", ErrnoName(errno), !want)
		}
	}
	for _, c := range []struct {
		number uint32
		code   int32
		name   string
		fault  bool
	}{
		{11, 1, "SEGV_MAPERR", true},
		{11, 0x80, "SI_KERNEL", false},
		{9, 0, "SI_USER", false},
		{7, 3, "BUS_OBJERR", true},
		{6, -6, "SI_TKILL", false},
		{11, 99, "code 99", false},
		{17, 1, "code 1", false},
	} {
		if name, fault := codeOf(c.number, c.code); name != c.name || fault != c.fault {
			t.Errorf("%s, code %d: %s %v", SignalName(c.number), c.code, name, fault)
		}
	}
	if SignalName(11) != "SIGSEGV" || SignalName(200) != "signal 200" {
		t.Error(SignalName(11), SignalName(200))
	}
}

// plain names everything by its number.
type plain struct{}

// probesCode is where plain has the code of a probe.
const probesCode = 9

func (plain) Function(n uint32) string                  { return fmt.Sprintf("f%d", n) }
func (plain) Syscall(n uint32, _ bool) string           { return fmt.Sprintf("call%d", n) }
func (plain) Arguments(uint32, bool) ([]string, [2]int) { return []string{"path"}, [2]int{1} }
func (plain) Frames(uint64) []Frame                     { return nil }
func (plain) Begins(address uint64) string              { return fmt.Sprintf("f%d", address) }
func (plain) OfProbe(address uint64) bool               { return address == probesCode }

func failed(errno unix.Errno, pid uint32, at uint64) *event.Failure {
	return &event.Failure{Task: event.Task{TID: pid, PID: pid}, Start: at, End: at + 10, Ret: -uint64(errno), Number: 1}
}

// TestCountsAreExact: of what was not told one by one too, and what is kept is bounded.
func TestCountsAreExact(t *testing.T) {
	c := &Collector{Names: plain{}}
	const told = 500
	for i := range told {
		f := failed(unix.ENOENT, 7, uint64(i))
		f.Paths[0] = event.Path{Text: fmt.Sprintf("/%d", i), Read: true}
		f.Inner = []event.ErrorReturn{{Place: 1, Ret: f.Ret, Function: uint32(i % 100), Failed: true}}
		f.Returns = 1
		c.Add(f)
	}
	r := c.Report(map[event.FailureKey]event.FailureSum{
		{Number: 1, Errno: uint32(unix.ENOENT)}: {Count: 900, NS: 9000}, {Number: 2, Errno: uint32(unix.EIO)}: {Count: 3},
	})
	if len(r.Rows) != 2 || r.Failed() != 903 || r.Rows[0].Count != 900 || r.Rows[0].Told != told || r.Rows[1].Told != 0 {
		t.Fatalf("%+v", r)
	}
	var sum uint64
	for _, o := range r.Rows[0].Origins {
		sum += o.Count
		var paths uint64
		for _, p := range o.Paths {
			paths += p.Count
		}
		if paths+o.Others != o.Count || len(o.Paths) > mostPaths {
			t.Errorf("%+v", o)
		}
	}
	if sum != told || len(r.Rows[0].Origins) != mostOrigins+1 {
		t.Errorf("%d of %d calls, from %d functions", sum, told, len(r.Rows[0].Origins))
	}
}

// TestAJumpIsKnownByWhomTheCallerCalled: f2 was called and jumped to f1; or each was called.
func TestAJumpIsKnownByWhomTheCallerCalled(t *testing.T) {
	for first, want := range map[uint64][]Step{
		2: steps(unix.EINVAL, "f1", "f2"), // f2 was called both times
		1: steps(unix.EINVAL, "f2"),
		3: steps(unix.EINVAL, "f2"), // by another one that is not witnessed
		0: steps(unix.EINVAL, "f2"), // by a pointer

		probesCode: steps(unix.EINVAL, "f1", "f2"), // it returned to where f2's probe waited
	} {
		c := &Collector{Names: plain{}}
		f := failed(unix.EINVAL, 7, 1)
		f.Inner = []event.ErrorReturn{
			{Place: 8, Ret: f.Ret, Function: 1, Failed: true, Called: first}, {Place: 8, Ret: f.Ret, Function: 2, Failed: true, Called: 2},
		}
		f.Returns = 2
		c.Add(f)
		if got := c.Report(nil).Rows[0].Origins[0].Example.Chain.Steps; !slices.Equal(got, want) {
			t.Errorf("f%d called: %v, not %v", first, got, want)
		}
	}
}

// TestASignalIsJoinedToTheCallInWhichItWasSent, and to no other.
func TestASignalIsJoinedToTheCallInWhichItWasSent(t *testing.T) {
	for name, c := range map[string]struct {
		signal, call uint64
		by           uint32
		joined       bool
	}{
		"within":            {signal: 105, call: 100, by: 7, joined: true},
		"before":            {signal: 99, call: 100, by: 7},
		"after":             {signal: 111, call: 100, by: 7},
		"by another thread": {signal: 105, call: 100, by: 8},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Collector{Names: plain{}}
			k.Add(&event.Signal{Task: event.Task{TID: c.by, PID: 7}, Time: c.signal, Number: 11, Code: 0x80, TargetTID: 7, TargetPID: 7})
			k.Add(failed(unix.EINVAL, 7, c.call))
			k.Add(&event.Death{Task: event.Task{TID: 7, PID: 7}, Signal: 11})
			k.Add(&event.Death{Task: event.Task{TID: 9, PID: 7}, Signal: 11})
			r := k.Report(nil)
			if len(r.Deaths) != 1 || r.Deaths[0].Sender == nil || (r.Deaths[0].During != nil) != c.joined {
				t.Errorf("%+v", r.Deaths)
			}
		})
	}
	k := &Collector{Names: plain{}}
	k.Add(&event.Signal{Number: 15, TargetPID: 7})
	k.Add(&event.Death{Task: event.Task{TID: 7, PID: 7}, Signal: 11})
	if r := k.Report(nil); len(r.Deaths) != 1 || r.Deaths[0].Sender != nil {
		t.Errorf("another signal's sender: %+v", r.Deaths)
	}
	for pid := range uint32(mostDeaths + 5) {
		k.Add(&event.Death{Task: event.Task{TID: pid + 100, PID: pid + 100}, Signal: 9})
	}
	if r := k.Report(nil); len(r.Deaths) != mostDeaths || r.MoreDeaths != 6 {
		t.Errorf("%d listed, %d more", len(r.Deaths), r.MoreDeaths)
	}
}
