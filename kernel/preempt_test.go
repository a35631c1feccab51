// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"testing"

	"github.com/iowitness/iowitness/kernel"
)

func TestPreemption(t *testing.T) {
	const dynamic = "Linux version 6.12.0 (builder) #1 SMP PREEMPT_DYNAMIC Debian 6.12\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  kernel.Setting
	}{
		"nothing known":      {nil, kernel.Unknown},
		"debugfs, full":      {map[string]string{"sys/kernel/debug/sched/preempt": "none voluntary (full) lazy\n", "proc/version": dynamic}, kernel.On},
		"debugfs, voluntary": {map[string]string{"sys/kernel/debug/sched/preempt": "none (voluntary) full\n", "proc/version": dynamic}, kernel.Off},
		"dynamic":            {map[string]string{"proc/version": dynamic, "proc/cmdline": "quiet\n"}, kernel.Unknown},
		"dynamic, chosen":    {map[string]string{"proc/version": dynamic, "proc/cmdline": "quiet preempt=none\n"}, kernel.Off},
		"fixed":              {map[string]string{"proc/version": "Linux version 5.10.0 #1 SMP PREEMPT x\n"}, kernel.On},
		"real time":          {map[string]string{"proc/version": "Linux version 6.1.0 #1 SMP PREEMPT_RT x\n"}, kernel.On},
		"not":                {map[string]string{"proc/version": "Linux version 5.10.0 #1 SMP Debian\n"}, kernel.Off},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kernel.Preemption(tree(t, c.files)); got != c.want {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}
