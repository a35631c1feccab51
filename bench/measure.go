// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// measure is what was read of one thing, once or more often.
type measure struct {
	Readings []float64
	Unit     string
	Digits   int // after the point
}

// one is a single reading; what is not a number was not measured.
func one(v float64, unit string, digits int) measure {
	if math.IsNaN(v) {
		return measure{}
	}
	return measure{Readings: []float64{v}, Unit: unit, Digits: digits}
}

func count(n uint64) measure { return one(float64(n), "", 0) }

func (m *measure) add(v float64) { m.Readings = append(m.Readings, v) }

// median of an even number of readings lies between the middle two.
func (m measure) median() float64 {
	n := len(m.Readings)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(m.Readings))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// String is the median with its unit and, of several readings, the smallest and the largest.
func (m measure) String() string {
	if len(m.Readings) == 0 {
		return "–"
	}
	text := grouped(m.median(), m.Digits)
	if m.Unit != "" {
		text += " " + m.Unit
	}
	if len(m.Readings) > 1 {
		text += fmt.Sprintf(" (%s…%s)", grouped(slices.Min(m.Readings), m.Digits), grouped(slices.Max(m.Readings), m.Digits))
	}
	return text
}

// MarshalJSON keeps each reading.
func (m measure) MarshalJSON() ([]byte, error) {
	if len(m.Readings) == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		Unit     string    `json:"unit,omitempty"`
		Median   float64   `json:"median"`
		Min      float64   `json:"min"`
		Max      float64   `json:"max"`
		Readings []float64 `json:"readings"`
	}{m.Unit, m.median(), slices.Min(m.Readings), slices.Max(m.Readings), m.Readings})
}

// grouped writes a number with commas between thousands.
func grouped(v float64, digits int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', digits, 64)
	whole := len(text)
	if digits > 0 {
		whole -= digits + 1
	}
	for i := whole - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if v < 0 && text != strconv.FormatFloat(0, 'f', digits, 64) {
		text = "−" + text
	}
	return text
}
