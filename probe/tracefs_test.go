// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"maps"
	"testing"
)

// The format file of sched_process_fork of 6.12 and, with names of variable length, of a later kernel.
const forkFormats = `name: sched_process_fork
ID: 315
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char parent_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t parent_pid;	offset:24;	size:4;	signed:1;
	field:char child_comm[16];	offset:28;	size:16;	signed:0;
	field:pid_t child_pid;	offset:44;	size:4;	signed:1;
`

const laterForkFormat = `	field:__data_loc char[] parent_comm;	offset:8;	size:4;	signed:0;
	field:pid_t parent_pid;	offset:12;	size:4;	signed:1;
	field:__data_loc char[] child_comm;	offset:16;	size:4;	signed:0;
	field:pid_t child_pid;	offset:20;	size:4;	signed:1;
`

func TestParseFormat(t *testing.T) {
	for text, want := range map[string]uint32{forkFormats: 44, laterForkFormat: 20} {
		offsets, err := parseFormat(text)
		if err != nil || offsets["child_pid"] != want {
			t.Errorf("child_pid at %d, not %d: %v, %v", offsets["child_pid"], want, maps.Collect(maps.All(offsets)), err)
		}
	}
	if _, err := parseFormat("nothing"); err == nil {
		t.Error("a format without fields was taken")
	}
}

func FuzzParseFormat(f *testing.F) {
	f.Add(forkFormats)
	f.Add(laterForkFormat)
	f.Fuzz(func(_ *testing.T, text string) { parseFormat(text) })
}
