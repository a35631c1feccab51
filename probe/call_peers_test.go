// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf"
)

// peer is a program that a person may run instead.
type peer struct {
	probes  []string // of the tracing file system, that it is given
	command []string
	bpf     bool // it has BPF programs, by whose runs it is known to be at work
}

// peerContenders are other programs that measure the latency of a function, and perf, which counts
// and records its calls.
func peerContenders() []contender {
	times := func(kind, where, by string) string {
		entry, leave := "kprobe", "kretprobe"
		if kind == "fentry" {
			entry, leave = "kfunc", "kretfunc"
		}
		return fmt.Sprintf("%s:vfs_write%s { @s[tid] = nsecs; } %s:vfs_write /@s[tid]/ { @%s = hist(nsecs - @s[tid]); delete(@s[tid]); }", entry, where, leave, by)
	}
	// As perf probe makes them, which first reads all symbols: minutes, where instructions are counted.
	probes := []string{"p:probe/iw_entry vfs_write", "r:probe/iw_leave vfs_write"}
	events := []string{"-e", "probe:iw_entry", "-e", "probe:iw_leave"}
	bpftrace := func(script string) *peer { return &peer{command: []string{"bpftrace", "-e", script}, bpf: true} }
	return []contender{
		{tool: "bpftrace fentry", load: "sums", peer: bpftrace(times("fentry", "", ""))},
		{tool: "bpftrace fentry", load: "sums by comm", peer: bpftrace(times("fentry", "", "[comm]"))},
		{tool: "bpftrace fentry", load: "a filter that rejects", peer: bpftrace(times("fentry", " /args->count > 1024/", ""))},
		{tool: "bpftrace kprobe", load: "sums", peer: bpftrace(times("kprobe", "", ""))},
		{tool: "bpftrace kprobe", load: "sums by comm", peer: bpftrace(times("kprobe", "", "[comm]"))},
		{tool: "bpftrace kprobe", load: "a filter that accepts", peer: bpftrace(times("kprobe", " /arg2 < 1024/", ""))},
		{tool: "bpftrace kprobe", load: "a filter that rejects", peer: bpftrace(times("kprobe", " /arg2 > 1024/", ""))},
		{tool: "funclatency", load: "sums", peer: &peer{command: []string{"funclatency", "vfs_write"}, bpf: true}},
		{tool: "perf stat", load: "entries and returns counted, no times", peer: &peer{probes: probes, command: append(append([]string{"perf", "stat", "-a"}, events...), "sleep", "600")}},
		{tool: "perf record", load: "entries and returns recorded", peer: &peer{probes: probes, command: append(append([]string{"perf", "record", "-q", "-B", "-N", "-a", "-o", "/tmp/perf.data"}, events...), "sleep", "600")}},
		{tool: "perf ftrace latency", load: "sums", peer: &peer{command: []string{"perf", "ftrace", "latency", "-a", "-T", "vfs_write", "sleep", "600"}}},
	}
}

func (p *peer) start(t *testing.T) (*running, error) {
	if _, err := exec.LookPath(p.command[0]); err != nil {
		return nil, fmt.Errorf("%s is not in this guest", p.command[0])
	}
	if err := p.makeProbes(); err != nil {
		return nil, errors.Join(err, p.removeProbes())
	}
	told := &bytes.Buffer{}
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Stdout, cmd.Stderr = told, told
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r := &running{}
	r.stop = func() error {
		for _, one := range r.programs {
			one.Close()
		}
		return errors.Join(interrupt(cmd, ended), p.removeProbes())
	}
	if err := p.await(t, cmd.Process.Pid, ended, r); err != nil {
		_ = r.stop()
		return nil, fmt.Errorf("%w: %s", err, lastLines(told.String()))
	}
	return r, nil
}

func (p *peer) makeProbes() error {
	for _, definition := range p.probes {
		if err := define(definition); err != nil {
			return fmt.Errorf("%s: %w", definition, err)
		}
	}
	return nil
}

func (p *peer) removeProbes() (err error) {
	for _, definition := range p.probes {
		_, name, _ := strings.Cut(definition, ":")
		name, _, _ = strings.Cut(name, " ")
		if gone := define("-:" + name); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func define(probe string) error {
	f, err := os.OpenFile("/sys/kernel/tracing/kprobe_events", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(probe + "\n")
	return errors.Join(err, f.Close())
}

// interrupt ends a program and its command as its user would at a terminal, and waits for it.
func interrupt(cmd *exec.Cmd, ended chan error) error {
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGINT)
	select {
	case <-ended:
		return nil
	case <-time.After(time.Minute):
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		<-ended
		return errors.New("it did not end when it was interrupted")
	}
}

// await waits until a program is at work: its BPF programs run at a call, or it has let the command go that it was given.
func (p *peer) await(t *testing.T, pid int, ended chan error, r *running) error {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("it ended: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
		at, err := p.atWork(t, pid, r)
		if err != nil || at {
			return err
		}
	}
	return errors.New("it did not begin in two minutes")
}

func (p *peer) atWork(t *testing.T, pid int, r *running) (bool, error) {
	if !p.bpf {
		return sleeps(pid), nil
	}
	held, err := heldBy(pid)
	if err != nil {
		return false, err
	}
	stats, err := ebpf.EnableStats(0)
	if err != nil {
		return false, err
	}
	defer stats.Close()
	perCall(t, 100)
	for _, one := range held {
		s, err := one.Stats()
		if err == nil && s.RunCount >= 100 {
			r.programs = append(r.programs, one)
			continue
		}
		one.Close()
	}
	if len(r.programs) >= 2 {
		return true, nil
	}
	for _, one := range r.programs {
		one.Close()
	}
	r.programs = nil
	return false, nil
}

// sleeps says whether a program's child is the command that it was given: perf begins to measure before it
// lets that one go.
func sleeps(pid int) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, rest, found := strings.Cut(string(text), " (sleep) ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); found && err == nil && parent == pid {
			return true
		}
	}
	return false
}

// heldBy are the programs that a process holds, directly or by a link.
func heldBy(pid int) (held []*ebpf.Program, err error) {
	var ids []ebpf.ProgramID
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			var id ebpf.ProgramID
			if _, err := fmt.Sscanf(line, "prog_id: %d", &id); err == nil {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		one, err := ebpf.NewProgramFromID(id)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return held, err
		}
		held = append(held, one)
	}
	return held, nil
}

// lastLines is the end of what a program told, on one line.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-3, 0):], " / ")
}
