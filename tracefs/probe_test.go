// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

// needProbes skips where the kernel has no kprobe_events; in the lab it must have them.
func needProbes(t *testing.T) *FS {
	t.Helper()
	f := open(t)
	if _, err := f.Probes(); err != nil {
		if lab.Guest() {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return f
}

// pair makes an entry and a return probe of a function and gives the formats of their events.
func pair(t *testing.T, f *FS, o Owner, function string, active int) (in, out *Format) {
	t.Helper()
	for _, p := range []Probe{
		{Group: o.String(), Event: EventName(o, function, "out"), Symbol: function, Return: true, MaxActive: active},
		{Group: o.String(), Event: EventName(o, function, "in"), Symbol: function, Fetch: "sp=$stack comm=$comm"},
	} {
		made, err := f.AddProbe(p)
		if err != nil {
			t.Fatal(err)
		}
		if made.MaxActive != p.MaxActive {
			t.Errorf("maxactive %d instead of %d", made.MaxActive, p.MaxActive)
		}
		format, err := f.Format(p.Group, p.Event)
		if err != nil {
			t.Fatal(err)
		}
		in, out = format, in
	}
	return in, out
}

func owner(t *testing.T, f *FS) Owner {
	t.Helper()
	o, err := f.NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.RemoveProbes(o); err != nil {
			t.Error(err)
		}
	})
	return o
}

const getppid = "__x64_sys_getppid"

// TestEachCallIsAnEntryAndAReturn: so many system calls of one thread, with its
// name, its stack and its stack pointer.
func TestEachCallIsAnEntryAndAReturn(t *testing.T) {
	f := needProbes(t)
	o := owner(t, f)
	i := newInstance(t, f, 4096)
	in, out := pair(t, f, o, getppid, MaxActive)
	r := newReader(t, f, i)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := uint32(unix.Gettid())
	if err := errors.Join(
		i.Stacks(true), i.OnlyThreads([]uint32{tid}, false),
		i.Enable(o.String(), out.Name, true), i.Enable(o.String(), in.Name, true), i.Trace(true),
	); err != nil {
		t.Fatal(err)
	}
	const calls = 1000
	for range calls {
		syscall.Syscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	sp, _ := in.Field("sp")
	comm, _ := in.Field("comm")
	pid, _ := in.Field("common_pid")
	name, err := os.ReadFile("/proc/thread-self/comm")
	if err != nil {
		t.Fatal(err)
	}
	entries, returns, stacks := 0, 0, 0
	var pointers []uint64
	readNow(t, r, func(record *Record) {
		if got, _ := pid.Uint(record.Data); uint32(got) != tid {
			t.Fatalf("an event of thread %d", got)
		}
		if record.Stack != nil {
			stacks++
		}
		switch record.ID {
		case in.ID:
			if entries != returns {
				t.Fatalf("entry %d after return %d", entries, returns)
			}
			entries++
			p, _ := sp.Uint(record.Data)
			pointers = append(pointers, p)
			if got, _ := comm.Text(record.Data); string(got) != strings.TrimSpace(string(name)) {
				t.Fatalf("comm %q, not %q", got, name)
			}
		case out.ID:
			returns++
		default:
			t.Fatalf("event %d", record.ID)
		}
	})
	if entries != calls || returns != calls || stacks < calls {
		t.Errorf("%d calls, %d entries, %d returns, %d stacks: %+v", calls, entries, returns, stacks, r.Counts())
	}
	// The kernel may begin each system call at another place of the stack, but not far away.
	if deepest, highest := slices.Min(pointers), slices.Max(pointers); deepest == 0 || highest-deepest > 16<<10 {
		t.Errorf("stack pointers from %#x to %#x", deepest, highest)
	}
	profiles, err := f.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{in.Name, out.Name} {
		if p := profiles[event]; p.Hits < calls || p.Misses != 0 {
			t.Errorf("%s: %+v", event, p)
		}
	}
}

func TestWhatCannotBeProbedIsToldAndLeavesNothing(t *testing.T) {
	f := needProbes(t)
	o := owner(t, f)
	before, _ := f.read(probesFile)
	for _, symbol := range []string{"no_such_function_here", "int3_magic", "cleanup_module"} {
		_, err := f.AddProbe(Probe{Group: o.String(), Event: EventName(o, symbol, "out"), Symbol: symbol, Return: true, MaxActive: MaxActive})
		if pe := new(ProbeError); !errors.As(err, &pe) {
			t.Errorf("%s: %v", symbol, err)
		}
		t.Log(err)
	}
	if after, _ := f.read(probesFile); after != before {
		t.Errorf("left: %q", after)
	}
}

// TestOthersTracingDoesNotMatter: the global switch off, another's instance and
// probes there; and cleaning leaves all of it alone.
func TestOthersTracingDoesNotMatter(t *testing.T) {
	f := needProbes(t)
	for _, set := range []struct{ file, value, after string }{{"tracing_on", "0", "1"}, {"set_event_pid", "1", ""}} {
		if err := f.write(set.file, set.value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if g, err := f.root.OpenFile(set.file, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
				_, _ = g.WriteString(set.after)
				g.Close()
			}
		})
	}
	if err := f.root.Mkdir("instances/another", 0o750); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.root.Remove("instances/another") })
	if err := f.write(probesFile, "r4:another/x "+getppid+"\n"); err != nil {
		t.Fatal(err)
	}
	enable := "instances/another/events/another/x/enable"
	t.Cleanup(func() { f.write(enable, "0"); f.RemoveProbe("another", "x") })
	if err := f.write(enable, "1"); err != nil {
		t.Fatal(err)
	}
	t.Run("calls", TestEachCallIsAnEntryAndAReturn)
	if found, err := f.Cleanup(); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	on, err := f.read(enable)
	if err != nil || strings.TrimSpace(on) != "1" {
		t.Errorf("another's probe: %q, %v", on, err)
	}
	if global, _ := f.read("tracing_on"); strings.TrimSpace(global) != "0" {
		t.Errorf("the global switch was touched: %q", global)
	}
}

const leaveVariable = "IOWITNESS_LEAVE"

// TestLeaveBehind is no test but the process that others kill: it makes probes and
// an instance, says so, and waits.
func TestLeaveBehind(t *testing.T) {
	if os.Getenv(leaveVariable) == "" {
		t.Skip("run by another test")
	}
	f := needProbes(t)
	o, err := f.NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.NewInstance(o.String()+"_in", 1024)
	if err != nil {
		t.Fatal(err)
	}
	in, out := pair(t, f, o, getppid, 64)
	if err := errors.Join(i.Stacks(true), i.Enable(o.String(), out.Name, true), i.Enable(o.String(), in.Name, true), i.Trace(true)); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("\nname " + o.String() + "\n")
	time.Sleep(time.Minute)
}

func leaveBehind(t *testing.T) (cmd *exec.Cmd, name string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^TestLeaveBehind$", "-test.v")
	cmd.Env = append(os.Environ(), leaveVariable+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	text, b := "", make([]byte, 256)
	for {
		n, err := stdout.Read(b)
		text += string(b[:n])
		if _, rest, ok := strings.Cut(text, "\nname "); ok && strings.Contains(rest, "\n") {
			name, _, _ = strings.Cut(rest, "\n")
			return cmd, name
		}
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
}

// TestAKilledRunTracesNoMoreAndIsCleanedUp: the kernel itself ends the tracing when
// the process dies; what is left is removed by the next one, a living run's is not.
func TestAKilledRunTracesNoMoreAndIsCleanedUp(t *testing.T) {
	f := needProbes(t)
	living, livingName := leaveBehind(t)
	killed, name := leaveBehind(t)
	dir := path.Join(instancesDir, name+"_in")
	if on, err := f.read(path.Join(dir, "tracing_on")); err != nil || strings.TrimSpace(on) != "1" {
		t.Fatalf("tracing_on %q, %v", on, err)
	}
	killed.Process.Kill()
	killed.Wait()
	on, err := f.read(path.Join(dir, "tracing_on"))
	if err != nil || strings.TrimSpace(on) != "0" {
		t.Errorf("tracing_on %q after the death, %v", on, err)
	}
	size, err := f.read(path.Join(dir, "buffer_size_kb"))
	if err != nil || len(strings.TrimSpace(size)) > 2 {
		t.Errorf("buffers of %s KiB after the death, %v", size, err)
	}
	found, err := f.Cleanup()
	if err != nil {
		t.Fatal(err)
	}
	removed, kept := 0, 0
	for _, l := range found {
		t.Log(l)
		switch {
		case l.Owner.String() == name && l.Removed():
			removed++
		case l.Owner.String() == livingName && l.InUse:
			kept++
		default:
			t.Errorf("unexpected: %v", l)
		}
	}
	if removed != 3 || kept != 3 {
		t.Errorf("%d removed, %d kept: an instance and two probes each", removed, kept)
	}
	living.Process.Kill()
	living.Wait()
	if found, err := f.Cleanup(); err != nil || len(found) != 3 || !found[0].Removed() || !found[2].Removed() {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := f.Cleanup(); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestWhatNobodyReadsCostsLess: a probe whose buffer is full, or whose owner has
// died, is still hit, but neither unwinds nor writes; one that is disabled costs nothing.
func TestWhatNobodyReadsCostsLess(t *testing.T) {
	f := needProbes(t)
	o := owner(t, f)
	i := newInstance(t, f, 16<<10)
	in, out := pair(t, f, o, getppid, 64)
	r := newReader(t, f, i)
	enable := func(on bool) {
		t.Helper()
		if err := errors.Join(i.Enable(o.String(), out.Name, on), i.Enable(o.String(), in.Name, on)); err != nil {
			t.Fatal(err)
		}
	}
	const calls = 5000
	cost := func() time.Duration {
		best := time.Hour
		for range 5 {
			begun := time.Now()
			for range calls {
				syscall.Syscall(unix.SYS_GETPPID, 0, 0, 0)
			}
			best = min(best, time.Since(begun)/calls)
			readNow(t, r, func(*Record) {})
		}
		return best
	}
	none := cost()
	enable(true)
	if err := errors.Join(i.Stacks(true), i.Trace(true)); err != nil {
		t.Fatal(err)
	}
	full := cost()
	if err := i.Stacks(false); err != nil {
		t.Fatal(err)
	}
	plain := cost()
	if err := errors.Join(i.Stacks(true), i.Trace(false)); err != nil {
		t.Fatal(err)
	}
	dead := cost()
	enable(false)
	disabled := cost()
	t.Logf("a call: %v; with stacks %v, without %v more; after its owner's death %v more; disabled %v more",
		none, full-none, plain-none, dead-none, disabled-none)
	if dead >= full || plain >= full {
		t.Errorf("%v while nobody listens, %v without stacks, %v otherwise", dead, plain, full)
	}
}
