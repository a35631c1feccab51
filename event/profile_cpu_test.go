// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

// TestBusy: a CPU that is sampled only while it runs something is busy by its time, not by its samples.
func TestBusy(t *testing.T) {
	const ms = 1_000_000
	for name, c := range map[string]struct {
		event.CPUSamples
		part, of uint64
	}{
		"by the account":                   {event.CPUSamples{Samples: 2, PassedNS: 1000 * ms, IdleNS: 980 * ms}, 20 * ms, 1000 * ms},
		"the account is ahead of the time": {event.CPUSamples{PassedNS: 1000 * ms, IdleNS: 1010 * ms}, 0, 1000 * ms},
		"too short for the account":        {event.CPUSamples{Samples: 3, Idle: 1, Rested: 1, PassedNS: 40 * ms}, 2, 4},
		"no account":                       {event.CPUSamples{Samples: 99, Idle: 90}, 9, 99},
		"nothing":                          {},
	} {
		if part, of := c.Busy(); part != c.part || of != c.of {
			t.Errorf("%s: %d of %d, not %d of %d", name, part, of, c.part, c.of)
		}
	}
}
