// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

func TestParseDuty(t *testing.T) {
	for text, want := range map[string]duty{
		"1s/5s": {time.Second, 5 * time.Second}, "100ms/1s": {100 * time.Millisecond, time.Second}, "1s/1s": {time.Second, time.Second},
	} {
		if got, err := parseDuty(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1s", "5s/1s", "1s/", "/1s", "a/b", "1s/5s/9s", "0s/1s", "-1s/1s"} {
		if got, err := parseDuty(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// TestADutyCycleSaysHowMuchItSaw: on for a fifth of the time, in every document.
func TestADutyCycleSaysHowMuchItSaw(t *testing.T) {
	lab.NeedRoot(t)
	r := runIt(t, "--for", "2500ms", "--duty", "100ms/500ms", "--json")
	r.expect(t, 0, "")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	var d struct {
		Coverage struct {
			Measured int64 `json:"measured_ns"`
			Elapsed  int64 `json:"elapsed_ns"`
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &d); err != nil {
		t.Fatal(err)
	}
	share := float64(d.Coverage.Measured) / float64(d.Coverage.Elapsed)
	if d.Coverage.Elapsed < int64(1500*time.Millisecond) || share < 0.1 || share > 0.5 {
		t.Errorf("measured %v of %v", time.Duration(d.Coverage.Measured), time.Duration(d.Coverage.Elapsed))
	}
}

// TestTheBreakerDetachesAndSaysSo (case F8): a budget that nothing can keep.
func TestTheBreakerDetachesAndSaysSo(t *testing.T) {
	lab.NeedRoot(t)
	r := runIt(t, "--for", "60s", "--max-cost", "0.000001")
	r.expect(t, exitError, "detached")
	for _, words := range []string{"no causes", "1 in 16", "detached"} {
		if !strings.Contains(r.out, words) {
			t.Errorf("the report does not say %q: %s", words, r.out)
		}
	}
}
