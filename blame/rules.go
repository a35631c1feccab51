// SPDX-License-Identifier: Apache-2.0

package blame

import "strings"

// How a stack is read.
//
// The tables are asked in turn, and the first that has an answer decides:
//
//	holds      what keeps a thread back whatever it was doing (no request tag, throttles, a
//	           frozen queue, a server's answer): the true reason, however deep or shallow
//	overrides  an outer frame that makes what lies further in its detail (reclaim, swap-in, FUSE)
//	locks      only for sleeps in a lock: whose lock
//	waits      only for all other sleeps: which operation
//	rests      what those leave: the purpose of the whole call, if not the operation
//	idles      known waits that have no I/O behind them
//
// A table is read frame by frame from the innermost outwards, and the first frame
// that a rule explains decides: the nearest frame with a meaning of its own says
// what a sleep is for, outer ones say only why that was done. Functions that
// everybody sleeps in (io_schedule, folio_wait_bit_common, submit_bio_wait) have
// no rule for that reason. Where two rules name the same frame the earlier wins,
// so exceptions stand above the general case.
type rule struct {
	cause Cause
	at    []string           // the frame is one of these; a name may have one "*"
	in    []string           // and one of these is further in
	under []string           // and one of these is further out
	not   []string           // and none of these is anywhere
	when  func(s *site) bool // and this holds
	bare  bool               // and all that is further in is a way to sleep
}

// table is an ordered list of rules.
type table []rule

// tables are those that apply to a site, in order.
func tables(s *site) []table {
	if s.Proc && len(s.frames) > 0 {
		return loneTables(s)
	}
	if s.sleepsInLock() {
		return []table{holds, overrides, locks, idles}
	}
	return []table{holds, overrides, waits, rests, idles}
}

// allTables is for tests.
func allTables() []table { return []table{holds, overrides, locks, waits, rests, idles} }

func (t table) find(s *site) *rule {
	for i := range s.frames {
		for j := range t {
			if t[j].matches(s, i) {
				return &t[j]
			}
		}
	}
	return nil
}

func (r *rule) matches(s *site, i int) bool {
	return anyMatches(r.at, s.frames[i]) &&
		(r.in == nil || someMatches(r.in, s.frames[:i])) &&
		(r.under == nil || someMatches(r.under, s.frames[i+1:])) &&
		!someMatches(r.not, s.frames) &&
		(!r.bare || allMatch(sleepers, s.frames[:i])) &&
		(r.when == nil || r.when(s))
}

// sleepers are the ways to sleep that say nothing of the reason.
var sleepers = []string{
	"__schedule", "schedule", "schedule_*", "io_schedule", "io_schedule_*", "freezable_schedule*", "__cond_resched",
	"wait_for_completion*", "__wait_for_common", "do_wait_for_common", "wait_for_common*", "msleep*", "usleep_range*",
	"__switch_to", "__switch_to_asm", "__traceiter_sched_switch", "preempt_schedule*",
}

// lockSleepers are those of mutexes and semaphores; the rt ones are of PREEMPT_RT kernels.
var lockSleepers = []string{
	"__mutex_lock*", "mutex_lock*", "__ww_mutex_lock*", "rwsem_down_*", "call_rwsem_down_*", "__rwsem_down_*",
	"down_read*", "down_write*", "__down_read*", "__down_write*", "percpu_rwsem_wait", "__percpu_down_read*",
	"percpu_down_write", "rt_mutex_slowlock*", "__rt_mutex_slowlock*", "rwbase_read_lock", "__rwbase_read_lock", "rwbase_write_lock",
}

// sleepsInLock tells whether the first frame that is not just a way to sleep is a lock's.
func (s *site) sleepsInLock() bool {
	for _, name := range s.frames {
		if !anyMatches(sleepers, name) {
			return anyMatches(lockSleepers, name)
		}
	}
	return false
}

func anyMatches(patterns []string, name string) bool {
	for _, p := range patterns {
		if matchName(p, name) {
			return true
		}
	}
	return false
}

func someMatches(patterns, names []string) bool {
	for _, name := range names {
		if anyMatches(patterns, name) {
			return true
		}
	}
	return false
}

func allMatch(patterns, names []string) bool {
	for _, name := range names {
		if !anyMatches(patterns, name) {
			return false
		}
	}
	return true
}

// matchName compares a name with a pattern of at most one "*".
func matchName(pattern, name string) bool {
	head, tail, glob := strings.Cut(pattern, "*")
	if !glob {
		return pattern == name
	}
	return len(name) >= len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}
