// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

func TestRecordsOfProfilesAreReadAsTheKernelSideLaysThemOut(t *testing.T) {
	p := newRecord(t, "process_record", event.KindProcess)
	for i, field := range []string{"head.tgid", "at", "event", "parent"} {
		p.set(field, uint64(1+i))
	}
	same(t, map[string][2]any{"process": {*p.decode().(*event.Process), event.Process{PID: 1, At: 2, Event: 3, Parent: 4}}})

	r := newRecord(t, "runq_record", event.KindRunQ)
	for i, field := range []string{
		"head.tid", "head.tgid", "since", "runs", "cpu", "waker_is", "waker.tid", "waker.tgid",
		"run.31.task.tid", "run.31.task.tgid", "run.31.from", "run.31.to", "stack.0", "stack.1",
	} {
		r.set(field, uint64(1+i))
	}
	r.set("kind", 1)
	r.set("waker_is", 2)
	r.set("frames", 2)
	want := event.RunQWait{
		TID: 1, PID: 2, Since: 3, Runs: 4, CPU: 5, Kind: event.RunQPreempted, WakerIs: event.WakerInterrupt,
		Waker: event.Task{TID: 7, PID: 8}, Stack: []uint64{13, 14},
	}
	want.Ran[31] = event.Run{Task: event.Task{TID: 9, PID: 10}, From: 11, To: 12}
	same(t, map[string][2]any{"wait": {*r.decode().(*event.RunQWait), want}})
}
