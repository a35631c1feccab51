// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bytes"
	"errors"
	"fmt"
)

// TickNS is the unit of times in /proc: USER_HZ is 100 on all that iowitness runs on.
const TickNS = 10_000_000

// kernelThread is PF_KTHREAD in a task's flags.
const kernelThread = 0x00200000

// ThreadStat is what polling needs of /proc/PID/task/TID/stat (proc_pid_stat(5)).
type ThreadStat struct {
	Comm    []byte // shares the memory of the text that was parsed
	State   byte   // 'D': uninterruptible sleep, killable included; 'S': interruptible
	PPID    uint32
	Kernel  bool   // a kernel thread
	Threads uint32 // of its process
	Start   uint64 // ticks since boot
	CPU     uint32 // on which it ran last
	BlockIO uint64 // delayacct_blkio_ticks: 0 where it is not accounted too
}

// errStat is wrapped by errors of stat files.
var errStat = errors.New("a thread's stat file makes no sense")

// fields of the stat file, counted from the one behind the command.
const (
	stateField   = 0
	ppidField    = 1
	flagsField   = 6
	threadsField = 17
	startField   = 19
	cpuField     = 36
	blockIOField = 39
)

// longestComm is more than a command takes, with its brackets: 15 bytes, or 63 with what a worker does.
const longestComm = 128

// ParseThreadStat reads the text of a stat file. Polling parses thousands a
// second: nothing is allocated. The command may hold anything, brackets and
// newlines too: it ends at the last closing bracket.
func ParseThreadStat(text []byte) (s ThreadStat, err error) {
	open := bytes.IndexByte(text, '(')
	end := bytes.LastIndexByte(text[:min(len(text), open+longestComm)], ')')
	if open < 0 || end < open {
		return s, fmt.Errorf("%w: it names no command", errStat)
	}
	s.Comm = text[open+1 : end]
	rest := bytes.TrimLeft(text[end+1:], " ")
	for field := 0; field <= blockIOField; field++ {
		var word []byte
		if word, rest = nextWord(rest); len(word) == 0 {
			return s, fmt.Errorf("%w: only %d fields behind the command", errStat, field)
		}
		ok := true
		var n uint64
		switch field {
		case stateField:
			s.State = word[0]
		case ppidField:
			n, ok = decimal(word)
			s.PPID = uint32(n)
		case flagsField:
			n, ok = decimal(word)
			s.Kernel = n&kernelThread != 0
		case threadsField:
			n, ok = decimal(word)
			s.Threads = uint32(n)
		case startField:
			s.Start, ok = decimal(word)
		case cpuField:
			n, ok = decimal(word)
			s.CPU = uint32(n)
		case blockIOField:
			s.BlockIO, ok = decimal(word)
		}
		if !ok {
			return s, fmt.Errorf("%w: field %d is no number", errStat, field+3)
		}
	}
	return s, nil
}

func nextWord(text []byte) (word, rest []byte) {
	for end, c := range text {
		if c == ' ' || c == '\n' {
			return text[:end], text[end+1:]
		}
	}
	return text, nil
}

// decimal reads a number that is not negative and fits in 64 bits.
func decimal(word []byte) (n uint64, ok bool) {
	for _, c := range word {
		if c < '0' || c > '9' || n > (1<<64-10)/10 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, len(word) > 0
}

// parseRuns reads the text of /proc/PID/task/TID/schedstat: how often the thread
// was put on a CPU. While that stands still, so does the thread.
func parseRuns(text []byte) (runs uint64, ok bool) {
	for range 2 { // time on a CPU, time waiting for one
		_, text = nextWord(text)
	}
	word, _ := nextWord(text)
	return decimal(word)
}

// parseExecStart finds the instant at which the thread last ran, by the
// scheduler's clock, in ns, in the text of /proc/PID/task/TID/sched.
func parseExecStart(text []byte) (ns uint64, ok bool) {
	_, rest, found := bytes.Cut(text, []byte("se.exec_start"))
	if !found {
		return 0, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	_, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		return 0, false
	}
	whole, fraction, found := bytes.Cut(bytes.TrimSpace(value), []byte("."))
	ms, ok1 := decimal(whole)
	rest6, ok2 := decimal(fraction)
	if !found || !ok1 || !ok2 || len(fraction) != 6 || ms > 1<<43 {
		return 0, false
	}
	return ms*1_000_000 + rest6, true
}

// parseStack reads the text of /proc/PID/task/TID/stack: the names of functions,
// innermost first.
func parseStack(text string) []string {
	var frames []string
	for line := range bytes.Lines([]byte(text)) {
		_, frame, found := bytes.Cut(line, []byte("] "))
		if name, _, _ := bytes.Cut(bytes.TrimSpace(frame), []byte("+")); found && len(name) > 0 {
			frames = append(frames, string(name))
		}
	}
	return frames
}

// call is what a thread is doing by /proc/PID/task/TID/syscall.
type call struct {
	number int32 // -1: no system call, so a fault or another exception
	args   [6]uint64
}

// parseCall reads the text of a syscall file; ok is false for "running", and for what makes no sense.
func parseCall(text []byte) (c call, ok bool) {
	word, rest := nextWord(bytes.TrimSpace(text))
	if string(word) == "-1" {
		return call{number: -1}, true
	}
	n, ok := decimal(word)
	if !ok || n > 1<<16 {
		return c, false
	}
	c.number = int32(n)
	for i := range c.args {
		if word, rest = nextWord(rest); len(word) == 0 {
			return c, false
		}
		if c.args[i], ok = hexadecimal(word); !ok {
			return c, false
		}
	}
	return c, true
}

func hexadecimal(word []byte) (n uint64, ok bool) {
	digits, found := bytes.CutPrefix(word, []byte("0x"))
	if !found || len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
