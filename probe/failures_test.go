// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// TestTheVerifierTakesErrors, by each means, also where the kernel lets nobody attach.
func TestTheVerifierTakesErrors(t *testing.T) {
	find, targets := findCalls(t, "vfs_open")
	var err error
	_ = rlimit.RemoveMemlock()
	for _, via := range []Means{Fexit, Kretprobe, KprobeMulti} {
		if via == Fexit && !lab.Guest() {
			continue // hosts may forbid it
		}
		for _, hash := range []bool{false, true} {
			if via == KprobeMulti && !hasMulti(t) {
				continue
			}
			w := &Calls{via: via, options: CallOptions{Errors: true, Follow: hash, Comm: "a", hash: hash}, targets: targets, gen: 1}
			if w.spec, err = loadCall(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.configure(find.types), w.loadBase(find)); err != nil {
				if refused := new(ebpf.VerifierError); errors.As(err, &refused) {
					t.Log(strings.Join(refused.Log[max(len(refused.Log)-60, 0):], "\n"))
				}
				t.Fatalf("%s: %v", via, err)
			}
			if via != KprobeMulti {
				loadOne(t, w, find, targets[0])
			}
			w.Close()
		}
	}
}

func loadOne(t *testing.T, w *Calls, find *CallTargets, target *CallTarget) {
	t.Helper()
	name := w.options.returnProgram(w.via)
	program, err := w.copyFor(name, 0, target)
	if err != nil {
		t.Fatal(err)
	}
	own := &ebpf.CollectionSpec{Maps: w.spec.Maps, Types: w.spec.Types, ByteOrder: w.spec.ByteOrder, Programs: map[string]*ebpf.ProgramSpec{name: program}}
	loaded, err := ebpf.NewCollectionWithOptions(own, find.collectionOptions(w.collection.Maps))
	if refused := new(ebpf.VerifierError); errors.As(err, &refused) {
		t.Log(strings.Join(refused.Log[max(len(refused.Log)-60, 0):], "\n"))
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	loaded.Close()
}

// TestFailedCallsAreCountedWithTheirArguments: of system calls of this process, without
// any function being probed.
func TestFailedCallsAreCountedWithTheirArguments(t *testing.T) {
	const calls = 50
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	w, err := OpenCalls(find, nil, CallOptions{Errors: true, PIDs: []uint32{uint32(os.Getpid())}, IncludeSelf: true, Budget: 10000})
	if refused := new(ebpf.VerifierError); errors.As(err, &refused) || err != nil && lab.Guest() {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	defer w.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	startCalls(t, w)
	tid := uint32(unix.Gettid())
	for range calls {
		if err := unix.Rename("/no such thing\x1b[2J", "/other"); !errors.Is(err, unix.ENOENT) {
			t.Fatal(err)
		}
		if err := unix.Close(-7); !errors.Is(err, unix.EBADF) {
			t.Fatal(err)
		}
	}
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	renames, closes := 0, 0
	if err := w.Drain(time.Unix(1, 0), func(r any) {
		f, ok := r.(*event.Failure)
		switch {
		case !ok || f.TID != tid:
		case f.Number == unix.SYS_RENAMEAT:
			if renames++; f.Paths[0] != (event.Path{Text: "/no such thing\x1b[2J", Read: true}) || f.Paths[1] != (event.Path{Text: "/other", Read: true}) {
				t.Errorf("%+v", f.Paths)
			}
			if -int64(f.Ret) != int64(unix.ENOENT) || f.End < f.Start || f.Start == 0 {
				t.Errorf("%+v", f)
			}
		case f.Number == unix.SYS_CLOSE:
			if closes++; int32(f.Args[0]) != -7 || f.Paths[0].Read {
				t.Errorf("%+v", f)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if renames != calls || closes != calls {
		t.Errorf("%d renames and %d closes of %d", renames, closes, calls)
	}
	sums, err := w.Failures()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[event.FailureKey]uint64{
		{Number: unix.SYS_RENAMEAT, Errno: uint32(unix.ENOENT)}: calls, {Number: unix.SYS_CLOSE, Errno: uint32(unix.EBADF)}: calls,
	} {
		if got := sums[key].Count; got != want {
			t.Errorf("%+v: %d, not %d", key, got, want)
		}
	}
	callLosses(t, w)
}

// TestNoFailedCallIsLeftOut where threads lose their CPUs to each other in the midst of our programs.
func TestNoFailedCallIsLeftOut(t *testing.T) {
	if !lab.Guest() {
		t.Skip("how a kernel is preempted is set in the lab's guests only")
	}
	lab.Preempt(t, "full")
	threads, calls := 4*runtime.NumCPU(), 20000
	if testing.Short() {
		calls = 2000
	}
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	w, err := OpenCalls(find, nil, CallOptions{Errors: true, PIDs: []uint32{uint32(os.Getpid())}, IncludeSelf: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	startCalls(t, w)
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			runtime.LockOSThread() // never unlocked: a thread of its own
			for range calls {
				_ = unix.Close(-7)
			}
		})
	}
	all.Wait()
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	sums, err := w.Failures()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sums[event.FailureKey{Number: unix.SYS_CLOSE, Errno: uint32(unix.EBADF)}].Count, uint64(threads*calls); got != want {
		t.Errorf("%d of %d calls counted", got, want)
	}
	callLosses(t, w, "call_budget", "ring_call")
}

// TestWhereErrorsBeginMayBeMissed: of functions in which too many threads sleep for the pool of
// return probes not all returns are seen. It is told, as an error may have begun there.
func TestWhereErrorsBeginMayBeMissed(t *testing.T) {
	needProbes(t)
	const threads, sleeps = 32, 6
	w := openCalls(t, CallOptions{Errors: true, Via: Kretprobe, MaxActive: 8, PIDs: []uint32{}}, "hrtimer_nanosleep")
	startCalls(t, w)
	sleepTogether(threads, sleeps)
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	if callLosses(t, w, "missed_run")["missed_run"] == 0 {
		t.Error("no return is told as missed")
	}
}

// TestFamiliesNameFunctionsOfThisKernel that may return an error, first those of execve.
func TestFamiliesNameFunctionsOfThisKernel(t *testing.T) {
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	targets, err := find.FindFamilies(Families)
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(targets, func(t *CallTarget) bool { return t.Name == name })
	}
	for _, name := range []string{"load_elf_binary", "begin_new_exec", "do_mmap", "do_filp_open", "vfs_read"} {
		if !has(name) {
			t.Errorf("%s is not among them", name)
		}
	}
	for _, target := range targets {
		if reason, denied := Denied(target.Name); denied {
			t.Errorf("%s: %s", target.Name, reason)
		}
	}
	t.Logf("%d functions in %v", len(targets), time.Since(began))
}

// TestErrorsOfExecveAreSeen: what functions return while the kernel refuses a program.
func TestErrorsOfExecveAreSeen(t *testing.T) {
	needProbes(t)
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := find.FindFamilies(Families[:1])
	if err != nil {
		t.Fatal(err)
	}
	bad := t.TempDir() + "/bad"
	if err := lab.BadELF(bad, lab.Misaligned); err != nil {
		t.Fatal(err)
	}
	for _, via := range []Means{KprobeMulti, Fexit, Kretprobe} {
		t.Run(string(via), func(t *testing.T) {
			if via == KprobeMulti && !hasMulti(t) {
				t.Skip("this kernel has no kprobe.multi")
			}
			began := time.Now()
			w, err := OpenCalls(find, targets, CallOptions{Errors: true, Via: via, Within: 30 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			attached := 0
			for _, target := range w.Targets() {
				if target != nil {
					attached++
				}
			}
			t.Logf("%d of %d functions in %v; %v", attached, len(targets), time.Since(began), w.Notes())
			startCalls(t, w)
			command := exec.Command(bad)
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			pid := uint32(command.Process.Pid)
			if err := command.Wait(); command.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSEGV {
				t.Fatal(err)
			}
			if err := w.Pause(); err != nil {
				t.Fatal(err)
			}
			symbols, err := kernel.LoadSymbols("/")
			if err != nil {
				t.Fatal(err)
			}
			names := func(key uint64) (names []string) {
				for _, address := range w.Stack(key) {
					name, _, _ := symbols.Lookup(address)
					names = append(names, name)
				}
				return names
			}
			var execs, signals, deaths int
			if err := w.Drain(time.Unix(1, 0), func(r any) {
				switch r := r.(type) {
				case *event.Failure:
					if r.PID != pid || r.Number != unix.SYS_EXECVE {
						return
					}
					execs++
					t.Logf("execve(%q) = %d, %d returns", r.Paths[0].Text, int64(r.Ret), r.Returns)
					for _, inner := range r.Inner {
						t.Logf("  %x %s = %d %v", inner.Place, w.Targets()[inner.Function].Name, int64(inner.Ret), names(inner.Stack))
					}
					if r.Paths[0].Text != bad || int64(r.Ret) != -int64(unix.EINVAL) {
						t.Errorf("%+v", r)
					}
				case *event.Signal:
					if r.TargetPID == pid {
						signals++
						t.Logf("signal %d, code %#x, by %d %s in %v", r.Number, r.Code, r.PID, r.Comm, names(r.Stack))
					}
				case *event.Death:
					if r.PID == pid && r.Signal == uint32(syscall.SIGSEGV) {
						deaths++
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			if execs != 1 || signals != 1 || deaths != 1 {
				t.Errorf("%d execves, %d signals, %d deaths", execs, signals, deaths)
			}
			callLosses(t, w)
			began = time.Now()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			t.Logf("closed in %v", time.Since(began))
		})
	}
}
