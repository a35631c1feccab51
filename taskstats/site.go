// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bytes"
	"strings"

	"github.com/iowitness/iowitness/event"
)

// findSite tells where a thread sleeps and for what, as far as we may know: root
// reads the whole stack of kernel functions, the owner of a process the
// innermost one that is not the scheduler's, and others nothing.
func (p *Poller) findSite(t *thread, w *Wait) {
	w.Site.Syscall = event.SyscallUnknown
	if !p.config.Detail {
		return
	}
	w.Site.Names = p.functions(t)
	w.Hidden = len(w.Site.Names) == 0
	w.place = strings.Join(w.Site.Names, " ")
	if t.kernel {
		return // its file says that it reads
	}
	text, err := p.proc.text(p.proc.thread(t.process.pid, t.tid, "syscall"))
	if err != nil {
		return
	}
	c, ok := parseCall(text)
	if !ok {
		return
	}
	w.Site.Syscall = c.number
	if c.number < 0 || int(c.number) >= len(p.config.FDArguments) {
		return
	}
	if argument := p.config.FDArguments[c.number]; argument >= 1 && int(argument) <= len(c.args) {
		w.Site.File, _ = p.files.find(t.process.pid, uint32(c.args[argument-1]))
	}
}

// functions are the names of those that a thread sleeps in, innermost first; nil
// if they are hidden from us.
func (p *Poller) functions(t *thread) []string {
	if !p.noStacks {
		text, err := p.proc.text(p.proc.thread(t.process.pid, t.tid, "stack"))
		if err == nil {
			if frames := parseStack(string(text)); len(frames) > 0 {
				return frames
			}
		}
		p.noStacks = err != nil && !isGone(err)
	}
	text, err := p.proc.text(p.proc.thread(t.process.pid, t.tid, "wchan"))
	if name := string(bytes.TrimSpace(text)); err == nil && name != "0" && name != "" {
		return []string{name}
	}
	return nil
}
