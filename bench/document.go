// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// document is what we read of iowitness's JSON.
type document struct {
	Start time.Time       `json:"start"`
	End   time.Time       `json:"end"`
	Waits []wait          `json:"waits"`
	Lost  map[string]loss `json:"lost"`
}

type wait struct {
	PID    int    `json:"pid"`
	Comm   string `json:"comm"`
	Count  uint64 `json:"count"`
	Causes []struct {
		Cause string `json:"cause"`
		Count uint64 `json:"count"`
	} `json:"causes"`
}

type loss struct {
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

// readDocuments reads a file with one document a line.
func readDocuments(file string) ([]document, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseDocuments(b)
}

func parseDocuments(b []byte) (docs []document, err error) {
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var doc document
		if err := d.Decode(&doc); err != nil {
			return docs, fmt.Errorf("iowitness's JSON, document %d: %w", len(docs)+1, err)
		}
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("iowitness wrote no JSON document")
	}
	return docs, nil
}

// tally is the sum over documents.
type tally struct {
	waits  uint64
	causes map[string]uint64
	lost   map[string]loss
}

// tallyOf sums the waits of some processes, and all losses.
func tallyOf(docs []document, ours func(pid int) bool) tally {
	t := tally{causes: map[string]uint64{}, lost: map[string]loss{}}
	for _, d := range docs {
		for _, w := range d.Waits {
			if !ours(w.PID) {
				continue
			}
			t.waits += w.Count
			for _, c := range w.Causes {
				t.causes[c.Cause] += c.Count
			}
		}
		for id, l := range d.Lost {
			sum := t.lost[id]
			t.lost[id] = loss{sum.Count + l.Count, sum.NS + l.NS}
		}
	}
	return t
}
