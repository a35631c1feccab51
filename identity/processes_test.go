// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
)

const (
	tick  = 10_000_000
	shell = "usr/bin/sh"
)

// living makes /proc of process 100, "db", started at tick 500.
func living(t *testing.T) string {
	t.Helper()
	root := tree(t, map[string]string{
		"proc/self/ns/pid": "-> pid:[4026531836]", "proc/self/ns/mnt": "-> mnt:[1]", "proc/self/root": "-> /",
		"proc/self/mountinfo": fixture(t, "mountinfo"),
		"etc/passwd":          fixture(t, "passwd"),
	})
	run(t, root, 100, "db", 500)
	return root
}

func run(t *testing.T, root string, pid uint32, comm string, ticks int) {
	t.Helper()
	dir := fmt.Sprintf("proc/%d/", pid)
	put(t, root, dir+"stat", fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 1 1\n", pid, comm, ticks))
	put(t, root, dir+"status", "Uid:\t999\t999\t999\t999\nNSpid:\t100\t3\n")
	put(t, root, dir+"cgroup", "0::/docker/"+id1+"\n")
	put(t, root, dir+"exe", "-> /usr/bin/"+comm+" (deleted)")
	put(t, root, dir+"cwd", "-> /srv")
	put(t, root, dir+"cmdline", comm+"\x00-x\x00")
	put(t, root, dir+"ns/mnt", "-> mnt:[1]")
	put(t, root, dir+"root", "-> /")
}

func remember(root string, limit int) *identity.Processes {
	return identity.NewProcesses(root, identity.NewMountViews(root), identity.NewUsers(root), limit)
}

func told(pid uint32, comm string, ticks uint64) event.Identity {
	return event.Identity{
		TID: pid, PID: pid, Comm: comm, LeaderComm: comm, StartTime: ticks*tick + 12345, UID: 999, PPID: 1, NSPID: 3,
		Exe:        event.File{Dev: event.MakeDev(254, 1), Source: event.ByFD, Path: "/usr/bin/" + comm},
		CgroupPath: "/docker/" + id1,
	}
}

func TestProcessFromProc(t *testing.T) {
	p := remember(living(t), 0)
	want := identity.Process{
		PID: 100, Comm: "db", Exe: "/usr/bin/db", ExeDeleted: true, Cgroup: "/docker/" + id1,
		Container: identity.Container{ID: id1, Runtime: "docker"}, UID: 999, User: "postgres", PPID: 1, NSPID: 3,
		StartTime: 500 * tick, Known: identity.FromProc,
	}
	if diff := cmp.Diff(want, p.Process(100)); diff != "" {
		t.Error(diff)
	}
	if cwd, ok := p.Cwd(100); cwd != "/srv" || !ok {
		t.Errorf("works in %q, %v", cwd, ok)
	}
	if args, ok := p.Cmdline(100); !cmp.Equal(args, []string{"db", "-x"}) || !ok {
		t.Errorf("arguments %q, %v", args, ok)
	}
	if diff := cmp.Diff(identity.Process{PID: 7}, p.Process(7)); diff != "" {
		t.Error(diff)
	}
}

func TestProcessFromKernel(t *testing.T) {
	p := remember(living(t), 0)
	p.Learn(told(100, "db", 500))
	p.Learn(told(200, "ended", 600))
	living, ended := p.Process(100), p.Process(200)
	if living.Exe != "/usr/bin/db" || !living.ExeDeleted || living.Ended || living.Known != identity.FromKernel {
		t.Errorf("%+v", living)
	}
	want := identity.Process{
		PID: 200, Comm: "ended", Exe: "/usr/bin/ended", Cgroup: "/docker/" + id1,
		Container: identity.Container{ID: id1, Runtime: "docker"}, UID: 999, User: "postgres", PPID: 1, NSPID: 3,
		StartTime: 600*tick + 12345, Ended: true, Known: identity.FromKernel,
	}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Error(diff)
	}
}

func TestExecSinceTheWaitIsNotMixedIn(t *testing.T) {
	p := remember(living(t), 0)
	p.Learn(told(100, "sh", 500)) // it waited as sh and is db by now
	if got := p.Process(100); got.Comm != "sh" || got.Exe != "/usr/bin/sh" {
		t.Errorf("%+v", got)
	}
}

func TestUnresolvedExecutableIsPartial(t *testing.T) {
	p := remember(living(t), 0)
	who := told(200, "tool", 600)
	who.Exe.Dev = event.MakeDev(9, 9)
	p.Learn(who)
	if got := p.Process(200); got.Exe != "/usr/bin/tool" || !got.ExePartial {
		t.Errorf("%+v", got)
	}
}

func TestReusedPIDInheritsNothing(t *testing.T) {
	root := living(t)
	p := remember(root, 0)
	p.Learn(told(100, "old", 400))
	if got := p.Process(100); got.Comm != "old" || got.Exe != "/usr/bin/old" || !got.Ended {
		t.Errorf("the ended one: %+v", got)
	}
	if _, ok := p.Cwd(100); ok {
		t.Error("the ended process has the working directory of its successor")
	}
	p.Learn(told(100, "db", 500))
	if got := p.Process(100); got.Comm != "db" || got.Ended {
		t.Errorf("its successor: %+v", got)
	}
}

func TestReusedPIDIsFoundWithoutBeingTold(t *testing.T) {
	root := living(t)
	p := remember(root, 0)
	p.Learn(told(100, "db", 500))
	p.Process(100)
	run(t, root, 100, "next", 900)
	for range 60 {
		p.Age()
		p.Process(100)
	}
	if got := p.Process(100); got.Comm != "next" || got.StartTime != 900*tick {
		t.Errorf("%+v", got)
	}
}

func TestEndedProcessKeepsItsNameUntilItsPIDIsReused(t *testing.T) {
	root := living(t)
	p := remember(root, 0)
	p.Learn(told(200, "short", 600))
	p.Ended(200)
	for range 3 {
		p.Age()
		if got := p.Process(200); got.Comm != "short" || !got.Ended {
			t.Errorf("%+v", got)
		}
	}
	run(t, root, 200, "next", 900)
	if got := p.Process(200); got.Comm != "next" || got.Ended {
		t.Errorf("its successor: %+v", got)
	}
}

func TestEndedProcessIsNotItsSuccessorInTheSameInterval(t *testing.T) {
	root := living(t)
	p := remember(root, 0)
	p.Learn(told(200, "short", 600))
	p.Ended(200)
	run(t, root, 200, "next", 900)
	p.Age()
	if got := p.Process(200); got.Comm != "short" || !got.Ended || got.Exe != "/usr/bin/short" {
		t.Errorf("%+v", got)
	}
}

func TestEndedProcessesAreForgottenFirst(t *testing.T) {
	p := remember(t.TempDir(), 10)
	for pid := uint32(1); pid <= 10; pid++ {
		p.Learn(told(pid, "some", 1))
	}
	p.Ended(7)
	p.Learn(told(11, "more", 1))
	for pid := uint32(1); pid <= 11; pid++ {
		if got := p.Process(pid); (got.Known == identity.FromKernel) != (pid != 7) {
			t.Errorf("%+v", got)
		}
		if pid == 7 {
			break // what is unknown takes room too
		}
	}
}

func TestNumberOfProcessesIsBounded(t *testing.T) {
	p := remember(t.TempDir(), 100)
	p.Learn(told(1, "kept", 1))
	for pid := uint32(2); pid < 5000; pid++ {
		p.Learn(told(pid, "many", 1))
		if pid%50 == 0 {
			p.Learn(told(1, "kept", 1))
			p.Age()
		}
	}
	if p.Len() > 100 || p.Evicted() == 0 {
		t.Errorf("%d remembered, %d evicted", p.Len(), p.Evicted())
	}
	if got := p.Process(1); got.Comm != "kept" {
		t.Errorf("the one that was seen often: %+v", got)
	}
}

func TestForeignPIDNamespaceIsNotTrusted(t *testing.T) {
	root := living(t)
	put(t, root, "proc/self/ns/pid", "-> pid:[4026532500]")
	p := remember(root, 0)
	if got := p.Process(100); got.Known != identity.FromNowhere {
		t.Errorf("someone else's pid: %+v", got)
	}
	p.Learn(told(300, "elsewhere", 600))
	if got := p.Process(300); got.Comm != "elsewhere" || got.Ended {
		t.Errorf("not seen here, but not ended for that: %+v", got)
	}
}

func TestDisplay(t *testing.T) {
	for want, p := range map[string]identity.Process{
		"db":                             {Comm: "db", Exe: "/" + shell},
		"a-binary-with-a-thirty-char-nm": {Comm: "a-binary-with-a", Exe: "/opt/a-binary-with-a-thirty-char-nm"},
		"exactly-15-byte":                {Comm: "exactly-15-byte", Exe: "/usr/bin/other"},
		"[kworker/0:1]":                  {Comm: "kworker/0:1", Kernel: true},
		"":                               {},
		"cut-no-exe-here":                {Comm: "cut-no-exe-here"},
	} {
		if got := p.Display(); got != want {
			t.Errorf("%+v is shown as %q, want %q", p, got, want)
		}
	}
}

func TestAProcessThatHasCalledExecIsReadAnew(t *testing.T) {
	root := living(t)
	p := remember(root, 0)
	if got := p.Process(100).Comm; got != "db" {
		t.Fatalf("%q", got)
	}
	put(t, root, "proc/100/stat", "100 (tool) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 1 1\n")
	p.Executed(100)
	if got := p.Process(100).Comm; got != "tool" {
		t.Errorf("%q", got)
	}
}
