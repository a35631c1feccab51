// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestBrokenFiles: a file with any bytes wrong is read or refused, soon and without a panic.
func TestBrokenFiles(t *testing.T) {
	seed := elfSeed(t)
	rng := rand.New(rand.NewPCG(3, 4))
	values := []byte{0, 1, 0x7f, 0x80, 0xff}
	headers := append(span16(0, 64+56*12), span16(len(seed)-64*24, len(seed))...)
	begin := time.Now()
	const rounds = 3000
	for range rounds {
		content := slices.Clone(seed)
		for range 1 + rng.IntN(6) {
			content[headers[rng.IntN(len(headers))]] = values[rng.IntN(len(values))]
		}
		m := &module{content: bytes.NewReader(content), key: fileKey{size: int64(len(content))}}
		for _, offset := range []uint64{0, 0x1000, uint64(rng.IntN(len(content)))} {
			var f Frame
			m.frame(&f, offset, false, nil)
		}
	}
	if took := time.Since(begin); took > rounds*20*time.Millisecond {
		t.Errorf("%v for each", took/rounds)
	}
}

func span16(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}
