// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"sync"
	"unique"

	"github.com/iowitness/iowitness/event"
)

// DefaultProcesses is how many processes are remembered at most.
const DefaultProcesses = 20_000

// Intervals between looks at whether a remembered pid is still the same
// process, and for which a pid is taken for that of the process that ended, that
// of its end included.
const (
	verifyEvery = 30
	keepEnded   = 2
)

// initialPIDNamespace is the link of the kernel's first pid namespace, in
// which /proc has the pids that the kernel side tells.
const initialPIDNamespace = "pid:[4026531836]"

// Processes remembers who processes are: what the kernel side told (Learn), or
// else what /proc says of the living. Callers call Age once an interval. Safe
// for concurrent use.
type Processes struct {
	root       string
	views      *MountViews
	users      *Users
	limit      int
	samePIDs   bool // /proc shows the kernel's own pids
	mu         sync.Mutex
	entries    map[uint32]*entry
	containers map[string]Container
	interval   uint64
	mentions   uint64
	evicted    uint64
}

// entry is one remembered process. Its names, which take most of the memory,
// are only made when they are asked for.
type entry struct {
	who    event.Identity
	names  *Process
	known  Source
	ended  bool
	seen   uint64 // interval of last mention; of the end for an ended one
	turn   uint64 // of that mention among all
	verify uint64 // interval from which to look whether the pid was reused
}

// NewProcesses reads proc below root when asked. limit bounds how many
// processes are remembered; 0 takes DefaultProcesses.
func NewProcesses(root string, views *MountViews, users *Users, limit int) *Processes {
	if limit <= 0 {
		limit = DefaultProcesses
	}
	namespace, _ := os.Readlink(filepath.Join(root, "proc/self/ns/pid"))
	return &Processes{
		root: root, views: views, users: users, limit: limit, samePIDs: namespace == initialPIDNamespace,
		entries: map[uint32]*entry{}, containers: map[string]Container{},
	}
}

// TrustPIDs says that pids are those that /proc shows, whatever the namespace.
func (p *Processes) TrustPIDs() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.samePIDs = true
}

// Learn takes what the kernel side tells. It replaces all that was known of
// the pid: the process may have called exec, or be another one.
func (p *Processes) Learn(who event.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who.Comm = "" // a thread's
	who.LeaderComm = unique.Make(who.LeaderComm).Value()
	who.Exe.Path = unique.Make(who.Exe.Path).Value()
	who.CgroupPath = unique.Make(who.CgroupPath).Value()
	p.put(who.PID, &entry{who: who, known: FromKernel})
}

// Process tells who a process is; Known is FromNowhere if that is not known.
func (p *Processes) Process(pid uint32) Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entries[pid]
	switch {
	case e == nil || p.worthRetry(e):
		e = p.put(pid, p.fromProc(pid))
	case e.names == nil:
		p.name(e)
	case e.verify <= p.interval && !e.ended:
		e = p.verified(e)
	case e.ended && e.seen+keepEnded <= p.interval:
		e = p.successor(e)
	}
	if !e.ended { // the ended are the first to be forgotten, asked for or not
		p.mention(e)
	}
	e.names.Ended = e.ended
	return *e.names
}

// Executed tells that a process has begun another program: what was known of it is out of date.
func (p *Processes) Executed(pid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, pid)
}

// Ended tells that a process's last thread has ended: its pid may be reused,
// so it is the first to be forgotten.
func (p *Processes) Ended(pid uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.entries[pid]; e != nil {
		p.end(e)
	}
}

func (p *Processes) end(e *entry) {
	if !e.ended {
		e.ended = true
		p.mention(e)
	}
}

func (p *Processes) mention(e *entry) {
	p.mentions++
	e.seen, e.turn = p.interval, p.mentions
}

// Age is called once an interval: it moves the clock by which evict and the
// looks for reused pids go. Nothing is forgotten before room is needed, so that
// a final report can name what ended long before.
func (p *Processes) Age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interval++
}

// Cwd is a living process's working directory as iowitness sees it; ok is
// false if it has ended or may not be read.
func (p *Processes) Cwd(pid uint32) (path string, ok bool) {
	dir := p.open(pid)
	if dir == nil {
		return "", false
	}
	defer dir.close()
	return dir.cwd()
}

// Cmdline is a living process's arguments, its own name first; ok is false if
// it has ended, may not be read or is a kernel thread.
func (p *Processes) Cmdline(pid uint32) (args []string, ok bool) {
	dir := p.open(pid)
	if dir == nil {
		return nil, false
	}
	defer dir.close()
	return dir.cmdline()
}

// Evicted counts the processes forgotten because there were too many.
func (p *Processes) Evicted() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.evicted
}

// Len is how many processes are remembered.
func (p *Processes) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

func (p *Processes) put(pid uint32, e *entry) *entry {
	if _, known := p.entries[pid]; !known && len(p.entries) >= p.limit {
		p.evict()
	}
	p.mention(e)
	e.who.PID = pid
	p.entries[pid] = e
	return e
}

// worthRetry: a process that could not be read may be readable an interval later.
func (p *Processes) worthRetry(e *entry) bool {
	return e.known == FromNowhere && e.seen < p.interval
}

// open opens /proc of a process that lives and is the one that is remembered.
func (p *Processes) open(pid uint32) *procDir {
	p.mu.Lock()
	e := p.entries[pid]
	known := e != nil && e.known != FromNowhere
	start := uint64(0)
	if known {
		start = e.who.StartTime
	}
	p.mu.Unlock()
	if !known && !p.samePIDs {
		return nil
	}
	dir, err := openProc(p.root, pid)
	if err != nil {
		return nil
	}
	if known && !sameStart(dir.stat.StartTime, start) {
		dir.close()
		return nil
	}
	return dir
}
