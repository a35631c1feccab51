// SPDX-License-Identifier: Apache-2.0

package taskstats

import "slices"

// list finds the processes to visit.
func (p *Poller) list() (err error) {
	if len(p.config.PIDs) > 0 {
		p.pids = append(p.pids[:0], p.config.PIDs...)
		return nil
	}
	p.pids, err = p.proc.processes(p.pids[:0])
	return err
}

// visit looks at the threads of a process. One whose leader is no more the one
// we know is another process by the same id.
func (p *Poller) visit(pid uint32) {
	process := p.processes[pid]
	if process != nil && p.visitProcess(process) {
		return
	}
	if process != nil {
		p.forget(process)
	}
	if process = p.discover(pid); process != nil {
		p.visitProcess(process)
	}
}

// discover makes the acquaintance of a process; nil if it has ended.
func (p *Poller) discover(pid uint32) *process {
	process := &process{pid: pid}
	text, err := p.proc.text(p.proc.process(pid, "stat"))
	if isHidden(err) {
		process.refused = true
		p.counts.Refused++
	} else if err != nil {
		return nil
	} else if stat, err := ParseThreadStat(text); err == nil {
		process.ppid, process.start = stat.PPID, stat.Start
	}
	p.processes[pid] = process
	return process
}

// visitProcess is false if the process has ended.
func (p *Poller) visitProcess(process *process) bool {
	process.round = p.round
	if process.refused || !p.wants(process) {
		return true
	}
	count, complete := p.lookAtAll(process)
	if len(process.threads) > 0 && process.leader() == nil {
		return false // its leader is gone
	}
	if !complete || len(process.threads) == 0 || count != 0 && count != uint32(len(process.threads)) {
		p.findThreads(process)
	}
	return len(process.threads) > 0
}

// lookAtAll gives the process's own number of threads, 0 if none of them has run
// since, and whether all that are known live.
func (p *Poller) lookAtAll(process *process) (count uint32, complete bool) {
	complete = true
	process.threads = slices.DeleteFunc(process.threads, func(t *thread) bool {
		threads, lives := p.look(t)
		if !lives {
			complete = false
			p.bury(t)
			return true
		}
		count = max(count, threads)
		return false
	})
	return count, complete
}

// findThreads looks at those that are not known yet.
func (p *Poller) findThreads(process *process) {
	var err error
	if p.tids, err = p.proc.threads(p.tids[:0], process.pid); err != nil {
		return
	}
	known := map[uint32]bool{}
	for _, t := range process.threads {
		known[t.tid] = true
	}
	for _, tid := range p.tids {
		if known[tid] {
			continue
		}
		t := &thread{tid: tid, process: process, fd: -1}
		if _, lives := p.look(t); !lives {
			p.bury(t)
			continue
		}
		process.threads = append(process.threads, t)
		p.threads[tid] = t
	}
}

// bury takes leave of a thread that has ended.
func (p *Poller) bury(t *thread) {
	if t.wait != nil {
		p.finish(t)
	}
	p.release(t)
	if p.threads[t.tid] == t {
		delete(p.threads, t.tid)
	}
	if t.met {
		p.gone = append(p.gone, t)
	}
}

// forget takes leave of a process that has ended.
func (p *Poller) forget(process *process) {
	for _, t := range process.threads {
		p.bury(t)
	}
	process.threads = nil
	if p.processes[process.pid] == process {
		delete(p.processes, process.pid)
	}
}
