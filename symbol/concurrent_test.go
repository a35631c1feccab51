// SPDX-License-Identifier: Apache-2.0

package symbol_test

import (
	"sync"
	"testing"

	"github.com/iowitness/iowitness/symbol"
)

// TestConcurrent: whatever is done at once, a name is the right one or none.
func TestConcurrent(t *testing.T) {
	program := buildC(t, telling)
	p, q := start(t, program, "jit"), start(t, program)
	r := symbol.New("/", symbol.Options{Limits: symbol.Limits{Processes: 2, Tables: 2, Files: 1}})
	learned(t, r, p.pid, 1)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range uint64(300) {
				switch {
				case worker == 0:
					_ = r.Learn(p.pid, 2+i)
					_ = r.Learn(q.pid, 2+i)
				case worker == 1 && i%10 == 0:
					r.Forked(p.pid, 4_000_000_000+uint32(i%3), 2+i)
				default:
					for n, want := range []string{"leaf", "hidden", "puts", "first"} {
						if f := r.Resolve(p.pid, 1+i, p.addresses[n]); f.Name != want && f.Name != "" {
							t.Errorf("%+v is not %s", f, want)
						}
					}
				}
			}
		})
	}
	all.Wait()
	r.Close()
	if f := r.Resolve(p.pid, 1, p.addresses[0]); f.Kind != symbol.Unknown {
		t.Errorf("after Close: %+v", f)
	}
}
