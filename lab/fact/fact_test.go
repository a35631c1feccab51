// SPDX-License-Identifier: Apache-2.0

package fact

import (
	"encoding/json"
	"testing"
)

func TestAFactSurvivesItsLine(t *testing.T) {
	want := Missed{Via: "kretprobe", MaxActive: 4, Threads: 64, Switches: 100, Waits: 10, Shown: 90, Kernel: -1}
	f, found, err := Parse("    " + Line(KindMissed, want))
	if err != nil || !found || f.Kind != KindMissed {
		t.Fatalf("%+v, %v, %v", f, found, err)
	}
	var got Missed
	if err := json.Unmarshal(f.Value, &got); err != nil || got != want || got.Real() != 90 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOtherLinesTellNoFact(t *testing.T) {
	for line, broken := range map[string]bool{"--- PASS: TestX (0.00s)": false, "": false, mark + "{": true} {
		_, found, err := Parse(line)
		if found != broken || (err != nil) != broken {
			t.Errorf("%q: %v, %v", line, found, err)
		}
	}
}
