// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"math"
	"testing"
)

func TestMeasureString(t *testing.T) {
	for _, c := range []struct {
		measure measure
		want    string
	}{
		{measure{Unit: "ns"}, "–"},
		{one(math.NaN(), "ns", 0), "–"},
		{one(1234567, "", 0), "1,234,567"},
		{one(999, "ns", 0), "999 ns"},
		{one(-1234.5, "ns", 1), "−1,234.5 ns"},
		{one(-0.00001, "%", 4), "0.0000 %"},
		{measure{Readings: []float64{3, 1, 2}, Unit: "ms"}, "2 ms (1…3)"},
		{measure{Readings: []float64{4, 1, 2, 3}, Digits: 1}, "2.5 (1.0…4.0)"},
	} {
		if got := c.measure.String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.measure, got, c.want)
		}
	}
}

func TestMeasureJSON(t *testing.T) {
	for _, c := range []struct {
		measure measure
		want    string
	}{
		{measure{Unit: "ns"}, `null`},
		{measure{Readings: []float64{3, 1}, Unit: "ns"}, `{"unit":"ns","median":2,"min":1,"max":3,"readings":[3,1]}`},
	} {
		got, err := json.Marshal(c.measure)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
}
