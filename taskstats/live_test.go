// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// asNobody is what a test does in a process of its own, without any privilege.
const asNobody = "IOWITNESS_AS_NOBODY"

func TestMain(m *testing.M) {
	lab.Main()
	if os.Getenv(asNobody) != "" {
		nobody()
		return
	}
	os.Exit(m.Run())
}

// nobody says what an ordinary user is told.
func nobody() {
	_, err := Dial()
	fmt.Println("permission:", errors.Is(err, ErrPermission))
	p, err := Open(Config{Root: "/", Detail: true})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	defer p.Close()
	err = p.Start()
	fmt.Println("threads:", p.Threads() > 10 || err != nil, err)
	time.Sleep(60 * time.Millisecond)
	err = p.Poll()
	fmt.Println("again:", err == nil && p.Sources().Netlink == false && p.Sources().Exits == false)
}

func needClient(t *testing.T) *Client {
	t.Helper()
	lab.NeedRoot(t)
	c, err := Dial()
	if (errors.Is(err, ErrAbsent) || errors.Is(err, ErrPermission)) && !lab.Guest() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestTheKernelTellsOfThreads(t *testing.T) {
	c := needClient(t)
	self := uint32(os.Getpid())
	tids := []uint32{self, 1 << 29}
	for range 3 * batch {
		tids = append(tids, 1)
	}
	told, gone := map[uint32]Stats{}, 0
	err := c.Ask(tids, func(tid uint32, s Stats, err error) {
		if errors.Is(err, ErrGone) {
			gone++
			return
		}
		told[tid] = s
	})
	if err != nil || gone != 1 || len(told) != 2 {
		t.Fatalf("%d told, %d gone, %v", len(told), gone, err)
	}
	comm, _ := os.ReadFile("/proc/self/comm")
	s := told[self]
	if s.TID != self || s.PPID != uint32(os.Getppid()) || s.UID != uint32(os.Getuid()) || s.Comm != strings.TrimSpace(string(comm)) {
		t.Errorf("of ourselves: %+v", s)
	}
	if s.Version >= 12 && s.PID != self {
		t.Errorf("of our process: %+v", s)
	}
	t.Logf("version %d", s.Version)
}

func TestTheKernelTellsOfEnds(t *testing.T) {
	needClient(t)
	e, err := ListenToExits("/")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const n = 20
	pids := map[uint32]bool{}
	for range n {
		cmd := exec.Command("sh", "-c", "exit 3")
		if err := cmd.Run(); err == nil {
			t.Fatal("sh -c 'exit 3' ends well")
		}
		pids[uint32(cmd.Process.Pid)] = true
	}
	found := 0
	if _, err := e.Next(func(s Stats) {
		if pids[s.TID] && s.PPID == uint32(os.Getpid()) && s.Comm == "sh" {
			found++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if found != n {
		t.Errorf("the ends of %d of %d processes were told", found, n)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestAnOrdinaryUser sees threads' states, and nothing that is privileged.
func TestAnOrdinaryUser(t *testing.T) {
	lab.NeedRoot(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(lab.Dir(t), "test")
	lab.Run(t, "cp", exe, copied)
	lab.Run(t, "chmod", "0755", filepath.Dir(copied), copied)
	cmd := exec.Command(copied)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), asNobody+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	scanner := bufio.NewScanner(strings.NewReader(string(out)))
	for scanner.Scan() {
		if !strings.Contains(scanner.Text(), "true") {
			t.Error(scanner.Text())
		}
	}
	if !strings.Contains(string(out), "again:") {
		t.Errorf("%s", out)
	}
}

// TestAStuckThreadsAgeIsKnown though it fell asleep before the watch began.
func TestAStuckThreadsAgeIsKnown(t *testing.T) {
	lab.NeedRoot(t)
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skip("this kernel does not tell when threads ran last")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	stat := fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)
	cpu := uint32(0)
	for asleep := false; !asleep; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(stat)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseThreadStat(text)
		cpu = s.CPU
		asleep = err == nil && s.State == 'S' && string(s.Comm) == "sleep"
	}
	time.Sleep(500 * time.Millisecond)
	p, err := Open(Config{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	pid := uint32(cmd.Process.Pid)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	age := time.Duration(p.sleepingFor(&thread{tid: pid, cpu: cpu, process: &process{pid: pid}}))
	if age < 450*time.Millisecond || age > 2*time.Second {
		t.Errorf("asleep for half a second, told %v", age)
	}
}

// TestTicksTellTheTime is what an ordinary user is told where the kernel accounts
// for delays: their time, not their number.
func TestTicksTellTheTime(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Disk(t, "throttled").Path
	if _, err := os.Stat("/proc/sys/kernel/task_delayacct"); err == nil {
		lab.Sysctl(t, "kernel/task_delayacct", "1")
	}
	child := lab.Workload{Name: "direct_read", Args: []string{device, "100"}}.Start(t)
	p, err := Open(Config{Root: "/", PIDs: []uint32{child.PID()}, Detail: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Detach()
	if p.client != nil {
		p.client.Close()
		p.client = nil
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	child.Go()
	ended := make(chan lab.Truth, 1)
	go func() { ended <- child.Wait() }()
	var sum Account
	take := func(a Account) {
		if a.Flagged.NS > sum.Flagged.NS {
			sum = a
		}
	}
	var truth lab.Truth
	for truth.Ops == 0 {
		select {
		case truth = <-ended:
		case <-time.After(50 * time.Millisecond):
		}
		if err := errors.Join(p.Poll(), p.Settle(false, take)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("reads took %v: %+v, %+v", truth.Total, sum, p.Counts())
	if got := time.Duration(sum.Flagged.NS); got > truth.Total+100*time.Millisecond || got < truth.Total/2 {
		t.Errorf("%v of iowait in reads of %v", got, truth.Total)
	}
	if !sum.Covered || sum.Flagged.Count == 0 {
		t.Errorf("%+v", sum)
	}
}
