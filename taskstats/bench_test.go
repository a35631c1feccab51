// SPDX-License-Identifier: Apache-2.0

package taskstats

import "testing"

// BenchmarkPoll is the cost of looking at all threads of this machine once.
func BenchmarkPoll(b *testing.B) {
	p, err := Open(Config{Root: "/", Detail: true})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	if err := p.Start(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Poll(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(p.Threads()), "threads")
}

func BenchmarkParseThreadStat(b *testing.B) {
	text := []byte("22034 (sleep) S 22029 22029 14828 0 -1 4194304 129 0 1 0 0 0 0 0 20 0 1 0 1254061 2990080 409 18446744073709551615 94250393006080 94250393024009 140733342841920 0 0 0 0 6 0 1 0 0 17 0 0 0 0 0 0 94250393038096 94250393039360 94250503294976 140733342845641 140733342845651 140733342845651 140733342846953 0\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseThreadStat(text); err != nil {
			b.Fatal(err)
		}
	}
}
