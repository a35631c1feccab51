// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bytes"
	"os"
)

// births compares how many threads the kernel has made with how many of them a
// poll has met.
type births struct {
	forks uint64 // of the whole machine, since boot, at the last account
	met   uint64 // threads met since then that were born since then
}

// countUnseen is called at each account. Only where all threads are polled, and
// the kernel does not tell of their ends, does the difference mean something.
func (p *Poller) countUnseen() {
	c := &p.config
	if p.exits != nil || len(c.PIDs) > 0 || c.Comm != "" || c.Cgroup.Path != "" || c.Follow || p.counts.Refused > 0 {
		return
	}
	text, err := os.ReadFile(p.proc.root + "stat")
	forks, ok := parseForks(text)
	if err != nil || !ok {
		return
	}
	if p.births.forks != 0 {
		p.counts.Unseen += since(since(forks, p.births.forks), p.births.met)
	}
	p.births = births{forks: forks}
}

// parseForks finds the number of threads made since boot in the text of /proc/stat.
func parseForks(text []byte) (uint64, bool) {
	_, rest, found := bytes.Cut(text, []byte("\nprocesses "))
	word, _ := nextWord(rest)
	n, ok := decimal(word)
	return n, found && ok
}
