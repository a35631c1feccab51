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
		got := readBroken(content)
		if got.table != nil {
			got.table.find(uint64(rng.IntN(1 << 16)))
		}
		address(got.segments, uint64(rng.IntN(len(content))))
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

// readBroken reads what may be an ELF file.
func readBroken(content []byte) symbols {
	got, _ := source{module: &module{content: bytes.NewReader(content), key: fileKey{size: int64(len(content))}}}.read(nil)
	return got
}
