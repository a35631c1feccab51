// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"regexp"
	"testing"
)

var chosenPreemption = regexp.MustCompile(`\((\w+)\)`)

// Preempt lets the kernel preempt as a model of its says ("full"), for the test's
// duration. Kernels that have but one are left as they are.
func Preempt(t testing.TB, model string) {
	t.Helper()
	needGuest(t)
	const file = "/sys/kernel/debug/sched/preempt"
	text, err := os.ReadFile(file)
	was := chosenPreemption.FindSubmatch(text)
	if err != nil || was == nil {
		return
	}
	if err := os.WriteFile(file, []byte(model), 0); err != nil {
		t.Logf("%s > %s: %v", model, file, err)
		return
	}
	t.Cleanup(func() { os.WriteFile(file, was[1], 0) })
}
