// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tickNS is the unit of times in /proc: USER_HZ is 100 on all that iowitness runs on.
const tickNS = 10_000_000

// kernelThread is PF_KTHREAD in a task's flags.
const kernelThread = 0x00200000

// ProcStat is what iowitness needs of /proc/PID/stat (proc_pid_stat(5)).
type ProcStat struct {
	Comm      string // raw bytes; a kworker's may be longer than 15
	PPID      uint32
	Kernel    bool   // a kernel thread
	StartTime uint64 // ns since boot, in steps of 10 ms
}

// ParseProcStat reads the text of a stat file. The command may hold anything,
// brackets and newlines too: it ends at the last closing bracket.
func ParseProcStat(text string) (ProcStat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return ProcStat{}, fmt.Errorf("a process's stat file names no command: %q", text)
	}
	fields := strings.Fields(text[end+1:]) // from the third, the state, on
	if len(fields) < 20 {
		return ProcStat{}, fmt.Errorf("a process's stat file has only %d fields after the command", len(fields))
	}
	ppid, err1 := strconv.ParseUint(fields[1], 10, 32)
	flags, err2 := strconv.ParseUint(fields[6], 10, 64)
	start, err3 := strconv.ParseUint(fields[19], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return ProcStat{}, fmt.Errorf("a process's stat file has a field that is no number: %w", err)
	}
	return ProcStat{
		Comm: text[open+1 : end], PPID: uint32(ppid), Kernel: flags&kernelThread != 0, StartTime: start * tickNS,
	}, nil
}

// ParseProcStatus finds the real user id and the pid in the innermost pid
// namespace (0: not told, before 4.1) in the text of a /proc/PID/status file.
func ParseProcStatus(text string) (uid, nsPID uint32, err error) {
	found := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 || (key != "Uid" && key != "NSpid") {
			continue
		}
		if key == "Uid" {
			n, err := strconv.ParseUint(fields[0], 10, 32)
			if err != nil {
				return 0, 0, fmt.Errorf("a process's status file has a user that is no number: %w", err)
			}
			uid, found = uint32(n), true
		} else if n, err := strconv.ParseUint(fields[len(fields)-1], 10, 32); err == nil {
			nsPID = uint32(n)
		}
	}
	if !found {
		return 0, 0, errors.New("a process's status file tells no user")
	}
	return uid, nsPID, nil
}

// procDir is an open /proc/PID: it stays with its process, so that what is
// read through it is never that of a later one with the same pid.
type procDir struct {
	dir  *os.Root
	stat ProcStat
}

func openProc(root string, pid uint32) (*procDir, error) {
	dir, err := os.OpenRoot(filepath.Join(root, "proc", strconv.FormatUint(uint64(pid), 10)))
	if err != nil {
		return nil, err
	}
	p := &procDir{dir: dir}
	text, err := p.text("stat")
	if err == nil {
		p.stat, err = ParseProcStat(text)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *procDir) close() { _ = p.dir.Close() }

func (p *procDir) text(name string) (string, error) {
	raw, err := p.dir.ReadFile(name)
	return string(raw), err
}

// exe is the executable's path; the kernel appends " (deleted)" to that of an unlinked one.
func (p *procDir) exe() (path string, deleted bool) {
	link, err := p.dir.Readlink("exe")
	if err != nil {
		return "", false
	}
	return strings.CutSuffix(link, " (deleted)")
}

func (p *procDir) cwd() (string, bool) {
	link, err := p.dir.Readlink("cwd")
	return link, err == nil
}

func (p *procDir) cmdline() ([]string, bool) {
	raw, err := p.dir.ReadFile("cmdline")
	if err != nil || len(raw) == 0 {
		return nil, false
	}
	return strings.Split(string(bytes.TrimSuffix(raw, []byte{0})), "\x00"), true
}

// sameStart compares start times as exactly as /proc tells them.
func sameStart(a, b uint64) bool { return a/tickNS == b/tickNS }
