// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/taskstats"
)

// Facts say where figures come from, and what is missing.
func (w *coarse) Facts() Facts {
	s := w.poller.Sources()
	return Facts{
		Means: Taskstats, State: coarseState(&s), Clock: "monotonic", OwnMeter: true, Estimated: true, RunQueueUnknown: true,
		Refused: w.refused, Notes: w.notes(&s),
	}
}

func coarseState(s *taskstats.Sources) string {
	switch {
	case s.Netlink:
		return "delay_accounting"
	case s.Switch == taskstats.On || s.Switch == taskstats.OnAtBoot:
		return "delay_ticks"
	}
	return "sightings"
}

func (w *coarse) notes(s *taskstats.Sources) []string {
	notes := []string{
		fmt.Sprintf("coarse: without a probe, /proc is polled up to %d times a second and every figure (~) is an estimate: waits shorter than %d ms are seen only by chance",
			w.options.Polls, 1000/max(w.options.Polls, 1)),
		accountingNote(s),
	}
	if s.Switch == taskstats.On {
		notes = append(notes, "delay accounting was switched on after the machine was booted: of threads that had begun before only what was seen is told")
	}
	if s.Switch >= taskstats.On && delaysDequeue(release()) {
		notes = append(notes, "from Linux 6.12 on delay accounting may tell too much or too little of threads that share a CPU with others: it is held against what was seen")
	}
	if s.Switch >= taskstats.On && !s.Exits {
		notes = append(notes, "what threads waited between the last poll and their end is not known: as root in the first pid namespace the kernel tells it")
	}
	if !s.Stacks {
		notes = append(notes, "causes come from the innermost kernel function, the system call and its file, of one's own processes only: root sees whole stacks, of all")
	}
	if hidesProcesses() {
		notes = append(notes, "/proc hides the processes of other users (hidepid): run as root to see them")
	}
	if s.RunsUnknown {
		notes = append(notes, "this kernel does not tell how often threads run: their waits may be taken for one long one")
	}
	if w.options.Follow {
		notes = append(notes, "children are found by their parent's id: those of a process that ends at once may be missed")
	}
	return notes
}

func accountingNote(s *taskstats.Sources) string {
	switch {
	case s.Netlink:
		return "counts and times of iowait are the kernel's (delay accounting); waits that are not iowait, such as those for a journal or a lock, are told by what was seen"
	case s.Switch >= taskstats.On:
		note := "times of iowait are the kernel's, in ticks of 10 ms (delay accounting); their number is that of what was seen, a floor"
		if errors.Is(s.Refused, taskstats.ErrPermission) {
			note += ": CAP_NET_ADMIN would tell both"
		}
		return note
	case s.Switch == taskstats.Off:
		return "delay accounting is off, so all is told by what was seen, and the number of waits is a floor; sysctl kernel.task_delayacct=1 counts for threads that start after it, delayacct on the kernel's command line for all"
	}
	return "nothing tells whether the kernel accounts for delays, so all is told by what was seen, and the number of waits is a floor"
}

func release() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}

// delaysDequeue is whether a thread that sleeps may stay on its CPU's queue for a
// while: the start of its wait is then noted late, at another thread, or not at
// all. It goes by the version: what the scheduler does shows nowhere that everybody can read.
func delaysDequeue(release string) bool {
	major, rest, _ := strings.Cut(release, ".")
	minor := rest
	for i, c := range rest {
		if c < '0' || c > '9' {
			minor = rest[:i]
			break
		}
	}
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return errors.Join(err1, err2) == nil && (a > 6 || a == 6 && b >= 12)
}

// hidesProcesses looks for the first process, which every namespace has.
func hidesProcesses() bool {
	_, err := os.ReadFile("/proc/1/stat")
	return err != nil
}

// Losses are what could not be seen.
func (w *coarse) Losses() ([]Loss, error) {
	c := w.poller.Counts()
	return []Loss{
		{ID: "polls", Title: "polls left out to stay within the budget of CPU time", Count: w.pace.Missed() + w.missed},
		{ID: "hidden", Title: "waits of threads whose function is hidden from this user", Count: c.Hidden},
		{ID: "refused", Title: "processes that /proc does not let this user look into", Count: c.Refused},
		{ID: "unseen", Title: "threads that came and went between two polls", Count: c.Unseen},
		{ID: "excess", Title: "times that the delay accounting told more than can be, which is left out", Count: c.Excess, NS: c.ExcessNS},
		{ID: "ends", Title: "times that the ends of threads were lost: the socket was full", Count: c.LostExits},
		{ID: "unanswered", Title: "questions to the delay accounting that were not answered", Count: c.Unanswered},
	}, nil
}
