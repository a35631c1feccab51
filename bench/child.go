// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process we started. It does not outlive us.
type child struct {
	name    string
	cmd     *exec.Cmd
	started time.Time
	ended   chan struct{}
	err     error // how it ended, once ended is closed
	stderr  tail
}

// newChild prepares a process in a group of its own, so that a Ctrl-C reaches
// only us and we can end everything in order. death is the signal it gets should we be killed.
func newChild(death syscall.Signal, argv ...string) *child {
	c := &child{name: argv[0], cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = 2 * time.Second
	return c
}

func (c *child) start() error {
	c.started = time.Now()
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) signal(s os.Signal) { c.cmd.Process.Signal(s) }

// alive is an error when the process has ended, with its own last words.
func (c *child) alive() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%s ended: %s", c.name, c.lastWords())
	default:
		return nil
	}
}

func (c *child) lastWords() string {
	if words := c.stderr.last(); words != "" {
		return words
	}
	return fmt.Sprint(c.cmd.ProcessState)
}

// interrupt ends the process as a user would, and by force if that does not help.
func (c *child) interrupt(limit time.Duration) error {
	c.signal(os.Interrupt)
	select {
	case <-c.ended:
		return nil
	case <-time.After(limit):
	}
	c.cmd.Process.Kill()
	<-c.ended
	return fmt.Errorf("%s was still running %v after SIGINT and was killed", c.name, limit)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

var _ io.Writer = (*tail)(nil)

const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

// last is the last line that says something.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
