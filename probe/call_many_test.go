// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/lab"
)

// withArguments finds functions and has all their arguments told, as a tree of calls does.
func withArguments(t *testing.T, patterns ...string) (*CallTargets, []*CallTarget) {
	t.Helper()
	find, targets := findCalls(t, patterns...)
	var err error
	for _, target := range targets {
		var fields []*expr.Field
		for _, name := range target.Arguments() {
			if field, err := target.Scope().Field(name); err == nil {
				fields = append(fields, field)
			}
		}
		if target.Program, err = expr.Compile(nil, fields); err != nil {
			t.Fatal(err)
		}
	}
	return find, targets
}

// attachedAndDetached opens a witness of functions and takes it away again. It tells how long that took
// for each function.
func attachedAndDetached(t *testing.T, find *CallTargets, targets []*CallTarget, o CallOptions) (w *Calls, each time.Duration) {
	t.Helper()
	began := time.Now()
	w = openTargets(t, find, targets, o)
	opened := time.Since(began)
	startCalls(t, w)
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	if err := w.Detach(); err != nil {
		t.Fatal(err)
	}
	detached, n := time.Since(began), len(targets)-w.unprobed()
	t.Logf("%s: %d functions, %d not witnessed; attached in %v, detached in %v", w.Means(), n, w.unprobed(), opened, detached)
	if n == 0 {
		t.Fatal("no function is witnessed")
	}
	return w, (opened + detached) / time.Duration(n)
}

// TestManyFunctionsAreAttachedToAtOnce (case F6): of many with arguments of their own one program serves all, where the
// kernel can have that. By kprobe.multi all are attached to by one link, which is many times quicker.
func TestManyFunctionsAreAttachedToAtOnce(t *testing.T) {
	if !lab.Guest() {
		t.Skip("functions are probed in the lab's guests: hosts may forbid it")
	}
	find, targets := withArguments(t, "tcp_*")
	if len(targets) < 100 {
		t.Fatalf("%d functions are no test", len(targets))
	}
	slowest := map[Means]time.Duration{}
	for _, via := range []Means{Fexit, Kretprobe} { // each by programs of its own
		_, slowest[via] = attachedAndDetached(t, find, targets[:oneByOne], CallOptions{Via: via, Records: true})
	}
	times, many := time.Duration(5), targets
	if !hasMulti(t) {
		times, many = 1, targets[:2*oneByOne]
	}
	w, each := attachedAndDetached(t, find, many, CallOptions{Records: true})
	if w.Means() == Fexit || !w.servesAll() && hasCookies() {
		t.Errorf("by %s", w.Means())
	}
	if !w.servesAll() {
		t.Skip("this kernel's probes have no cookies: each function has programs of its own")
	}
	for via, one := range slowest {
		t.Logf("%v a function, by %s %v: %.1f times", each, via, one, float64(one)/float64(each))
		if one < times*each {
			t.Errorf("%v a function, by %s %v", each, via, one)
		}
	}
}

// TestOneProgramServesManyFunctions: each with its own arguments, filter and result.
func TestOneProgramServesManyFunctions(t *testing.T) {
	if !lab.Guest() {
		t.Skip("functions are probed in the lab's guests: hosts may forbid it")
	}
	const calls = 50
	find, targets := withArguments(t, "vfs_*")
	for _, target := range targets {
		if target.Name != "vfs_write" {
			continue
		}
		filter, err := target.Scope().Filter("count == 778 && ret == 778")
		if err != nil {
			t.Fatal(err)
		}
		count, err := target.Scope().Field("count")
		if err != nil {
			t.Fatal(err)
		}
		if target.Program, err = expr.Compile(filter, []*expr.Field{count}); err != nil {
			t.Fatal(err)
		}
	}
	w := openTargets(t, find, targets, CallOptions{Records: true, Sums: true, Budget: 1 << 20})
	t.Logf("%d functions by %s", len(targets), w.Means())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	to, err := unix.Open("/dev/null", unix.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(to)
	startCalls(t, w)
	for range calls {
		if n, err := unix.Read(from, make([]byte, 777)); err != nil || n != 777 {
			t.Fatal(n, err)
		}
		for _, bytes := range []int{778, 779} { // the filter wants the first
			if n, err := unix.Write(to, make([]byte, bytes)); err != nil || n != bytes {
				t.Fatal(n, err)
			}
		}
	}
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	if err := w.Drain(time.Unix(1, 0), func(r any) {
		c, ok := r.(*event.Call)
		if !ok || c.TID != uint32(unix.Gettid()) {
			return
		}
		target := w.targets[c.Function]
		for _, slot := range target.Program.Slots {
			raw, read := slot.Raw(c.Out)
			if slot.Field.Text != "count" {
				continue
			}
			if !read {
				t.Errorf("%s: its count could not be read", target.Name)
				continue
			}
			counted[fmt.Sprintf("%s %s %d", target.Name, slot.Field.Render(raw), c.Ret)]++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if counted["vfs_read 777 777"] != calls || counted["vfs_write 778 778"] != calls || counted["vfs_write 779 779"] != 0 {
		t.Errorf("%v", counted)
	}
	callLosses(t, w)
}

// TestTheVerifierTakesOneProgramForAll, with the filters and fields of hundreds of functions in it.
func TestTheVerifierTakesOneProgramForAll(t *testing.T) {
	find, targets := withArguments(t, "tcp_*", "vfs_*")
	if len(targets) < 2*oneByOne {
		t.Fatalf("%d functions are no test", len(targets))
	}
	filter, err := targets[0].Scope().Filter("arg1 != 0 && comm == \"nobody\"")
	if err != nil {
		t.Fatal(err)
	}
	if targets[0].Program, err = expr.Compile(filter, nil); err != nil {
		t.Fatal(err)
	}
	w := &Calls{via: KprobeMulti, options: CallOptions{Records: true, Stacks: true, Inside: true, UsesComm: true}, targets: targets, gen: 1}
	if w.spec, err = loadCall(); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.configure(find.types); err != nil {
		t.Fatal(err)
	}
	if err := w.loadBase(find); err != nil {
		refused := new(ebpf.VerifierError)
		if errors.As(err, &refused) {
			t.Log(strings.Join(refused.Log[max(len(refused.Log)-60, 0):], "\n"))
		}
		t.Fatal(err)
	}
	for _, name := range []string{"call_multi", "call_ret_multi"} {
		info, err := w.collection.Programs[name].Info()
		if err != nil {
			t.Fatal(err)
		}
		n, _ := info.VerifiedInstructions()
		t.Logf("%s: %d functions, %d instructions verified", name, len(targets), n)
	}
}
