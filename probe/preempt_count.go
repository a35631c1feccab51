// SPDX-License-Identifier: Apache-2.0

package probe

// preemptCount is a CPU's count of what it must not be preempted in.
type preemptCount struct {
	fromRunQueue  int64  // how far it lies from the CPU's run queue; 0: not known
	interruptBits uint32 // set while an interrupt is served
}

// Bits of the count. Of softirqs the lowest says that one is served, the others that they are held
// off. Those of hard interrupts and of NMIs have moved by eight, to make room for
// how often interrupts are disabled, which is no interrupt; an NMI sets both.
const (
	servesSoftirq    = 0x100
	servesHard       = 0x1f << 16
	servesHardBehind = 0x1f << 24 // behind the count of disabled interrupts
)

// Variables of each CPU that tell.
const (
	preemptCountVar    = "__preempt_count"
	preemptCountStruct = "pcpu_hot"                      // which held it from 6.2 to 6.14
	disabledCountVar   = "local_interrupt_disable_state" // there is a count of disabled interrupts
)

func (v *cpuVars) preemptCount() (c preemptCount) {
	c.interruptBits = servesSoftirq | servesHard
	if _, moved := v.at[disabledCountVar]; moved {
		c.interruptBits = servesSoftirq | servesHardBehind
	}
	if c.fromRunQueue = v.fromRunQueue(preemptCountVar, 0); c.fromRunQueue != 0 {
		return c
	}
	if within, ok := memberOffset(v.types, preemptCountStruct, "preempt_count"); ok {
		c.fromRunQueue = v.fromRunQueue(preemptCountStruct, int64(within))
	}
	return c
}
