// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

// lossesTold are a witness's counts of losses as they were last told, by their ids.
type lossesTold map[string]probe.Loss

// since is what went missing since the last call, given all counts since the start.
func (t lossesTold) since(now []probe.Loss) []snapshot.Loss {
	var lost []snapshot.Loss
	for _, l := range now {
		before := t[l.ID]
		t[l.ID] = l
		lost = append(lost, snapshot.Loss{ID: l.ID, Title: l.Title, Count: l.Count - before.Count, NS: l.NS - before.NS, AtMost: l.AtMost, Harmless: l.Harmless})
	}
	return lost
}
