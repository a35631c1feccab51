// SPDX-License-Identifier: Apache-2.0

package kernel

import "testing"

func TestPreemption(t *testing.T) {
	const dynamic = "Linux version 6.12.0 (builder) #1 SMP PREEMPT_DYNAMIC Debian 6.12\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  Setting
	}{
		"nothing known":      {nil, Unknown},
		"debugfs, full":      {map[string]string{"sys/kernel/debug/sched/preempt": "none voluntary (full) lazy\n", "proc/version": dynamic}, On},
		"debugfs, voluntary": {map[string]string{"sys/kernel/debug/sched/preempt": "none (voluntary) full\n", "proc/version": dynamic}, Off},
		"dynamic":            {map[string]string{"proc/version": dynamic, "proc/cmdline": "quiet\n"}, Unknown},
		"dynamic, chosen":    {map[string]string{"proc/version": dynamic, "proc/cmdline": "quiet preempt=none\n"}, Off},
		"fixed":              {map[string]string{"proc/version": "Linux version 5.10.0 #1 SMP PREEMPT x\n"}, On},
		"real time":          {map[string]string{"proc/version": "Linux version 6.1.0 #1 SMP PREEMPT_RT x\n"}, On},
		"not":                {map[string]string{"proc/version": "Linux version 5.10.0 #1 SMP Debian\n"}, Off},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Preemption(tree(t, c.files)); got != c.want {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}
