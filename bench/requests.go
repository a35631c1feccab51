// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

const requestBar = 900 // ns per request, without the meter's share

// measureRequests is measureCost for the witness of requests.
func measureRequests(ctx context.Context, b *bench) (*section, error) {
	const summary = nameOurs + " block --summary"
	var all []costReadings
	for _, c := range []contender{
		{name: summary, argv: []string{b.iowitness, "block", "--summary"}},
		{name: nameOurs + " block --json", argv: []string{b.iowitness, "block", "--json", "-o", "/dev/null", "--max-rate", "1000000", "--buffer", "65536"}},
		{name: nameBiolatency, argv: []string{"biolatency"}},
		{name: "biosnoop", argv: []string{"biosnoop"}},
		{name: "biotop", argv: []string{"biotop"}},
		{name: nameFloor},
	} {
		all = append(all, costReadings{contender: c, time: measure{Unit: "ns"}, runs: measure{Digits: 2}})
	}
	return measureCostOf(ctx, b, all, summary, func(_, own measure, _ map[string]costReadings) *bar {
		return &bar{fmt.Sprintf("≤ %d ns without the meter's share", requestBar), own.median() <= requestBar}
	})
}
