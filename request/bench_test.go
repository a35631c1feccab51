// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

func BenchmarkCollector(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]*event.IO, 4096)
	for i := range list {
		list[i] = random(r)
	}
	c := NewCollector(0, 0)
	b.ReportAllocs()
	for i := range b.N {
		c.Add(list[i%len(list)])
	}
}

func BenchmarkSummary(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	c := NewCollector(0, 0)
	for range 200_000 {
		c.Add(random(r))
	}
	b.ReportAllocs()
	for range b.N {
		c.Summary(Options{Top: 10})
	}
}
