// SPDX-License-Identifier: Apache-2.0

package blame

import "testing"

// leftOut are the scheduler's functions (those of its own section of the kernel's
// text), which /proc does not show.
var leftOut = append([]string{
	"__schedule", "schedule", "schedule_*", "io_schedule*", "__wait_on_bit*", "out_of_line_wait_on_bit*", "bit_wait*", "wait_for_completion*",
	"__wait_for_common", "do_wait_for_common", "wait_for_common*", "do_nanosleep", "down", "__down*", "down_*",
}, lockSleepers...)

// procCases are the test stacks as /proc would show them.
func procCases(t *testing.T) []stackCase {
	t.Helper()
	var cases []stackCase
	for _, c := range stackCases(t) {
		var frames []string
		for _, name := range functions(c.evidence.Stack) {
			if !anyMatches(leftOut, name) {
				frames = append(frames, name)
			}
		}
		if len(frames) > 0 {
			c.evidence.Stack, c.evidence.Proc = frames, true
			cases = append(cases, c)
		}
	}
	return cases
}

// score counts causes that are right, and those that are wrong rather than unknown.
func score(t *testing.T, cases []stackCase) (right, wrong float64) {
	t.Helper()
	for _, c := range cases {
		switch got := Classify(c.evidence); got {
		case c.want:
			right++
		case Unknown:
		default:
			wrong++
			t.Logf("%s told as %s: %v", c.want, got, c.evidence.Stack[0])
		}
	}
	n := float64(len(cases))
	return right / n, wrong / n
}

func TestStacksOfProc(t *testing.T) {
	cases := procCases(t)
	right, wrong := score(t, cases)
	if right < 0.95 || wrong > 0.04 {
		t.Errorf("%.3f of the causes are right, %.3f wrong", right, wrong)
	}
	for i := range cases {
		cases[i].evidence.Flagged, cases[i].evidence.FlagUnknown = false, true
	}
	if right, wrong = score(t, cases); right < 0.9 || wrong > 0.06 {
		t.Errorf("without the flag %.3f of the causes are right, %.3f wrong", right, wrong)
	}
}

func TestSingleFunctionsOfProc(t *testing.T) {
	cases := procCases(t)
	for i := range cases {
		e := &cases[i].evidence
		e.Fault = e.Syscall == "" && !e.Kernel
		e.Stack = e.Stack[:1]
	}
	right, wrong := score(t, cases)
	if right < 0.5 || wrong > 0.08 {
		t.Errorf("%.3f of the causes are right, %.3f wrong", right, wrong)
	}
}

func TestEveryLoneRuleIsHit(t *testing.T) {
	hit := map[*rule]bool{}
	for _, c := range procCases(t) {
		e := c.evidence
		e.Fault = e.Syscall == "" && !e.Kernel
		e.Stack = e.Stack[:1]
		if r := explain(&e); r != nil {
			hit[r] = true
		}
	}
	for i := range lone {
		if !hit[&lone[i]] {
			t.Errorf("no test stack hits rule %d: %s at %v", i, lone[i].cause, lone[i].at)
		}
	}
}

func TestNothingIsGuessedFromAFunctionThatMayTakeALock(t *testing.T) {
	for _, name := range []string{"ext4_file_write_iter", "xfs_file_read_iter", "vfs_fsync_range", "__flush_work", "some_new_function"} {
		if got := Classify(Evidence{Stack: []string{name}, Proc: true, FlagUnknown: true, Syscall: "write"}); got != Unknown {
			t.Errorf("%s alone is told as %s", name, got)
		}
	}
}
