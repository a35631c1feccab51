// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"testing"

	"github.com/iowitness/iowitness/lab/fact"
)

// Fact tells what was measured: to the documents where a test runs on one of the
// lab's kernels, else to the test's log.
func Fact(t testing.TB, kind string, value any) {
	t.Helper()
	if Guest() {
		fmt.Println(fact.Line(kind, value))
		return
	}
	t.Logf("%s: %+v", kind, value)
}
