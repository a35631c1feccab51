// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestLongTexts: the longest texts are done in little time, and fit into a
// program or are refused.
func TestLongTexts(t *testing.T) {
	for _, part := range []string{
		"p->next->n == 5 && ", "p->n == 5 || ", "!p->n || ", "ret == p->n || ", "size + ", "p->n + ", "s == \"0123456789abcdef0123456789\" || ",
		"(ret == 5 || size == 7) && ", "(ret + p->n) * ", "p->n - (5 + ret) - ", "(p->n == 1) + ",
	} {
		text := strings.Repeat(part, (maxText-len("size"))/len(part)) + "size"
		start := time.Now()
		filter, err := made(cInt).Filter(text)
		if err != nil {
			t.Errorf("%s…: %v", part, err)
			continue
		}
		program, err := Compile(filter, nil)
		took := time.Since(start)
		if err == nil {
			t.Logf("%s… %d, %d and %d instructions, %d bytes, %v", part, len(program.Filter), len(program.Entry), len(program.Return), program.Size, took)
		} else if !errors.Is(err, errTooLong) && !strings.Contains(err.Error(), "are the most") {
			t.Errorf("%s…: %v", part, err)
		}
		if took > time.Second {
			t.Errorf("%s… took %v", part, took)
		}
	}
	if _, err := made(cInt).Filter(strings.Repeat("1", maxText+1)); err == nil {
		t.Error("a longer text was taken")
	}
	scope := &Scope{Function: made(cInt).Function, Types: kernelTypes(t)}
	_ = scope.constants()
	for _, name := range []string{strings.Repeat("G", maxText), "p->" + strings.Repeat("n", maxText-3), strings.Repeat("E", longestName)} {
		start := time.Now()
		if _, err := scope.Filter(name); err == nil {
			t.Errorf("%.9s… was taken", name)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%.9s… took %v", name, took)
		}
	}
}
