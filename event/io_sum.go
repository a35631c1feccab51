// SPDX-License-Identifier: Apache-2.0

package event

// Since is what a sum has grown by. Maxima are those since the start: the kernel side
// keeps no others.
func (s *IOSum) Since(before *IOSum) IOSum {
	grown := *s
	grown.combine(before, func(now, then uint64) uint64 { return now - then })
	grown.DeviceHist, grown.TotalHist = s.DeviceHist.Since(before.DeviceHist), s.TotalHist.Since(before.TotalHist)
	return grown
}

// Add adds another sum.
func (s *IOSum) Add(other *IOSum) {
	s.combine(other, func(a, b uint64) uint64 { return a + b })
	s.DepthMax = max(s.DepthMax, other.DepthMax)
	for i := range s.Phases {
		s.Phases[i].Max = max(s.Phases[i].Max, other.Phases[i].Max)
	}
	s.DeviceHist.Merge(other.DeviceHist)
	s.TotalHist.Merge(other.TotalHist)
}

// combine does it to all but maxima and histograms.
func (s *IOSum) combine(other *IOSum, do func(a, b uint64) uint64) {
	for _, f := range []struct {
		to *uint64
		by uint64
	}{
		{&s.Count, other.Count},
		{&s.Bytes, other.Bytes},
		{&s.Errors, other.Errors},
		{&s.Merged, other.Merged},
		{&s.Requeues, other.Requeues},
		{&s.Split, other.Split},
		{&s.Sequential, other.Sequential},
		{&s.Sequenced, other.Sequenced},
		{&s.Depths, other.Depths},
		{&s.DepthCount, other.DepthCount},
		{&s.Carried, other.Carried},
	} {
		*f.to = do(*f.to, f.by)
	}
	for i := range s.Phases {
		s.Phases[i].Count = do(s.Phases[i].Count, other.Phases[i].Count)
		s.Phases[i].NS = do(s.Phases[i].NS, other.Phases[i].NS)
	}
	for i := range s.Sizes {
		s.Sizes[i] = uint32(do(uint64(s.Sizes[i]), uint64(other.Sizes[i])))
	}
}
