// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
)

// TestWhatCannotBeMeantIsRefused, before anything is witnessed.
func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none", "x.html")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--comm", ""}, exitUsage, "--comm: its value is empty"},
		{[]string{"block", "--op="}, exitUsage, "--op: its value is empty"},
		{[]string{"--user", "no_such_user_here"}, exitUsage, "there is no user"},
		{[]string{"--max-cost", "NaN"}, exitUsage, "a cost is a number"},
		{[]string{"cpu", "--max-cost", "inf"}, exitUsage, "a cost is a number"},
		{[]string{"cpu", "--pprof", "-"}, exitUsage, "name a file"},
		{[]string{"cpu", "--flame", nowhere, "--for", "10m"}, exitError, "no such file"},
		{[]string{"--", ""}, exitNotFound, "command not found"},
	} {
		runIt(t, c.args...).expect(t, c.status, c.want)
	}
	if r := runIt(t, "block", "-V"); r.status != exitOK || r.out == "" {
		t.Errorf("%+v", r)
	}
}
