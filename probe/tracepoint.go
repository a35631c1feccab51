// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"

	"github.com/iowitness/iowitness/tracefs"
)

// eventField is a field of a tracepoint's event that the programs of plain tracepoints read: at a
// fixed place, or at one that is told them.
type eventField struct {
	group, name, field string
	offset             int    // the fixed place
	setting            string // of the kernel side, the place that is told
}

var eventFields = []eventField{
	{"sched", "sched_switch", "prev_state", 32, ""},
	{"sched", "sched_switch", "next_pid", 56, ""},
	{"sched", "sched_waking", "pid", 24, ""},
	{"sched", "sched_wakeup_new", "pid", 24, ""},
	{"sched", "sched_process_exec", "old_pid", 0, "exec_old_pid_at"},
	{"sched", "sched_process_free", "pid", 0, "free_pid_at"},
	{"task", "task_newtask", "pid", 0, "newtask_pid_at"},
	{"task", "task_newtask", "clone_flags", 0, "newtask_flags_at"},
	{"raw_syscalls", "sys_enter", "id", 8, ""},
	{"raw_syscalls", "sys_enter", "args", 16, ""},
	{"raw_syscalls", "sys_exit", "id", 8, ""},
	{"raw_syscalls", "sys_exit", "ret", 16, ""},
	{"block", "block_rq_complete", "dev", 8, ""},
	{"block", "block_rq_complete", "sector", 16, ""},
	{"block", "block_rq_complete", "nr_sector", 24, ""},
}

// placeFields compares the fields of a table's plain tracepoints with where they are read, and adds
// the places of the others to the settings.
func placeFields(at *tracefs.FS, table []Probe, settings map[string]any) error {
	for _, p := range table {
		if p.Programs[TP] == "" {
			continue
		}
		format, err := at.Format(p.Group, p.Point)
		if err != nil {
			return err
		}
		for _, want := range eventFields {
			if want.group != p.Group || want.name != p.Point {
				continue
			}
			if err := want.place(format, settings); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *eventField) place(format *tracefs.Format, settings map[string]any) error {
	got, found := format.Field(f.field)
	switch {
	case !found:
		return fmt.Errorf("tracepoint %s:%s has no field %s", f.group, f.name, f.field)
	case f.setting != "":
		settings[f.setting] = uint32(got.Offset)
	case got.Offset != f.offset:
		return fmt.Errorf("tracepoint %s:%s has its field %s elsewhere than iowitness reads it", f.group, f.name, f.field)
	}
	return nil
}
