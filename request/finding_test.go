// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

const (
	us = 1e3
	ms = 1e6
)

// regime is how a disk does for a while.
type regime struct {
	seconds   float64
	each      float64 // ns in the device
	jitter    float64 // of it, as the sigma of a lognormal
	perSecond float64
	depth     uint32
	bytes     uint32
	random    bool
	op        uint32
	noDepth   bool
}

// play gives a collector the requests of a disk under one regime after another.
func play(seed uint64, regimes ...regime) *Collector {
	r := rand.New(rand.NewPCG(seed, 3))
	c := NewCollector(0, 0)
	at := 1e12
	for _, x := range regimes {
		end := at + x.seconds*1e9
		for at < end {
			o := event.IO{Disk: event.MakeDev(8, 0), Bytes: x.bytes, Op: x.op, Depth: x.depth, Queued: uint64(at), Issued: uint64(at) + 1000}
			if x.noDepth {
				o.Depth = 0
			}
			if !x.random {
				o.Flags = event.IOSequential
			}
			o.Completed = o.Issued + uint64(x.each*math.Exp(x.jitter*r.NormFloat64()))
			c.Add(&o)
			at += 1e9 / x.perSecond
		}
	}
	return c
}

func found(c *Collector) *Finding {
	if f := c.findings(); len(f) == 1 {
		return &f[0]
	}
	return nil
}

var (
	quick = regime{seconds: 30, each: 1 * ms, jitter: .3, perSecond: 800, depth: 1, bytes: 4096, op: event.OpRead}
	slow  = regime{seconds: 30, each: 20 * ms, jitter: .02, perSecond: 50, depth: 1, bytes: 4096, op: event.OpRead}
)

func with(x regime, change func(*regime)) regime {
	change(&x)
	return x
}

// Credits are spent (case H13): the device itself is slow, at a constant low rate.
func TestADeviceBecomesSlow(t *testing.T) {
	for seed := range uint64(20) {
		f := found(play(seed, quick, slow))
		if f == nil || f.ID != DeviceSlower || f.Op != event.KindRead || f.Device != event.MakeDev(8, 0) || !f.Even {
			t.Fatalf("%+v", f)
		}
		if f.Before.MeanNS > 2*ms || f.Now.MeanNS < 18*ms || f.Now.PerSecond < 45 || f.Now.PerSecond > 55 || f.Before.PerSecond < 700 {
			t.Errorf("%+v, before %+v", f.Now, f.Before)
		}
		if f.Now.NS < 28e9 || f.Now.NS > 32e9 || f.Before.NS < 28e9 || f.Before.NS > 32e9 {
			t.Errorf("it is said to be slow for %d ns, after %d", f.Now.NS, f.Before.NS)
		}
	}
}

// What fails slowly does so unevenly, and is found all the same.
func TestASlowDeviceNeedNotBeEven(t *testing.T) {
	uneven := []regime{quick}
	for i := range 10 {
		uneven = append(uneven, with(slow, func(x *regime) { x.seconds, x.perSecond = 3, float64(20+60*(i%2)) }))
	}
	if f := found(play(1, uneven...)); f == nil || f.ID != DeviceSlower || f.Even {
		t.Errorf("%+v", f)
	}
}

func TestADeviceIsSlowThroughout(t *testing.T) {
	if f := found(play(1, slow)); f == nil || f.ID != DeviceSlow || f.Before != nil || !f.Even {
		t.Errorf("%+v", f)
	}
	two := with(slow, func(x *regime) { x.depth, x.each = 2, 40*ms })
	if f := found(play(1, two)); f == nil || f.ID != DeviceSlow {
		t.Errorf("with two in flight: %+v", f)
	}
}

// Each of these has an explanation above the device, or is not certain.
func TestNothingIsFound(t *testing.T) {
	for name, regimes := range map[string][]regime{
		"steady":                  {quick, quick},
		"a little slower":         {quick, with(quick, func(x *regime) { x.each = 3 * ms })},
		"slower by microseconds":  {with(quick, func(x *regime) { x.each = 20 * us }), with(quick, func(x *regime) { x.each = 200 * us })},
		"more in flight":          {quick, with(slow, func(x *regime) { x.depth = 20 })},
		"larger requests":         {with(quick, func(x *regime) { x.perSecond = 40 }), with(slow, func(x *regime) { x.bytes = 1 << 20 })},
		"scattered now":           {quick, with(slow, func(x *regime) { x.random = true; x.each = 9 * ms; x.perSecond = 100 })},
		"more asked of it":        {with(quick, func(x *regime) { x.perSecond = 20 }), with(slow, func(x *regime) { x.perSecond = 200; x.depth = 4 })},
		"depth not known":         {with(quick, func(x *regime) { x.noDepth = true }), with(slow, func(x *regime) { x.noDepth = true })},
		"a hiccup":                {quick, with(slow, func(x *regime) { x.seconds = 1 }), quick},
		"a hiccup at the end":     {quick, with(slow, func(x *regime) { x.seconds = .4 })},
		"many requests in one":    {quick, with(slow, func(x *regime) { x.seconds, x.each, x.perSecond = .7, 10*ms, 100 })},
		"it recovered":            {quick, with(slow, func(x *regime) { x.seconds = 10 }), with(quick, func(x *regime) { x.seconds = 1.6 })},
		"behind others' requests": {with(slow, func(x *regime) { x.each, x.depth = 640*ms, 32 })},
		"slow only at first":      {slow, with(quick, func(x *regime) { x.seconds = 60 })},
		"a turning disk":          {with(slow, func(x *regime) { x.each, x.jitter, x.perSecond, x.random = 9*ms, .4, 100, true })},
		"a turning disk, deep":    {with(slow, func(x *regime) { x.each, x.perSecond, x.random, x.depth = 80*ms, 120, true, 32 })},
		"large requests":          {with(slow, func(x *regime) { x.bytes = 4 << 20 })},
		"mostly idle":             {with(slow, func(x *regime) { x.perSecond = 5 })},
		"short":                   {with(slow, func(x *regime) { x.seconds = 3 })},
		"flushes":                 {with(slow, func(x *regime) { x.op, x.bytes = event.OpWrite|event.OpPreflush, 0 })},
		"few":                     {with(quick, func(x *regime) { x.perSecond = .5 }), with(slow, func(x *regime) { x.perSecond = .5 })},
		"nothing":                 {},
	} {
		for seed := range uint64(5) {
			if f := play(seed, regimes...).findings(); f != nil {
				t.Errorf("%s: %+v", name, f[0])
				break
			}
		}
	}
}

// The same by sums of an interval as by requests.
func TestFindingsOfSums(t *testing.T) {
	c := NewCollector(0, 1e9)
	for second := range uint64(60) {
		x := quick
		if second >= 30 {
			x = slow
		}
		var s Sum
		for range int(x.perSecond) {
			s.Add(&event.IO{Bytes: 4096, Depth: 1, Issued: 1, Completed: 1 + uint64(x.each), Flags: event.IOSequential})
		}
		c.Merge(1e12+second*1e9, Key{Disk: event.MakeDev(8, 0)}, event.File{}, &s)
	}
	if f := found(c); f == nil || f.ID != DeviceSlower || f.Now.NS != 30e9 || f.Before.NS != 30e9 || !f.Even {
		t.Errorf("%+v", f)
	}
}

func TestTracksAreBounded(t *testing.T) {
	c := NewCollector(0, 0)
	for i := range uint32(1000) {
		c.Add(&event.IO{Disk: event.MakeDev(8, i), Bytes: 512, Queued: 1, Issued: 2, Completed: 3 + uint64(i)})
	}
	if len(c.tracks) > maxTracks {
		t.Errorf("the past of %d disks is kept", len(c.tracks))
	}
}
