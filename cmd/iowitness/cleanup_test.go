// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/tracefs"
)

func TestCleanupTellsWhatBecameOfEach(t *testing.T) {
	for _, c := range []struct {
		found []tracefs.Leftover
		want  string
		fails bool
	}{
		{nil, "nothing was left behind\n", false},
		{[]tracefs.Leftover{
			{Instance: "iowitness_7_0a1b2c3d_in"},
			{Probe: tracefs.Probe{Group: "iowitness_8_0a1b2c3d_in", Event: "e", Symbol: "io_schedule"}, InUse: true},
		}, "instance iowitness_7_0a1b2c3d_in: removed\nprobe iowitness_8_0a1b2c3d_in/e on io_schedule: in use, left alone\n", false},
		{[]tracefs.Leftover{{Instance: "x", Err: errors.New("not permitted")}}, "instance x: not removed: not permitted\n", true},
	} {
		var out strings.Builder
		err := tellLeftovers(&out, c.found)
		if out.String() != c.want || (err != nil) != c.fails {
			t.Errorf("%q, %v; want %q", out.String(), err, c.want)
		}
	}
}
