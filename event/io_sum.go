// SPDX-License-Identifier: Apache-2.0

package event

// Since is what a sum has grown by. Maxima are those since the start: the kernel side
// keeps no others.
func (s *IOSum) Since(before *IOSum) IOSum {
	grown := *s
	for _, f := range []struct{ now, then *uint64 }{
		{&grown.Count, &before.Count},
		{&grown.Bytes, &before.Bytes},
		{&grown.Errors, &before.Errors},
		{&grown.Merged, &before.Merged},
		{&grown.Requeues, &before.Requeues},
		{&grown.Split, &before.Split},
		{&grown.Sequential, &before.Sequential},
		{&grown.Sequenced, &before.Sequenced},
		{&grown.Depths, &before.Depths},
		{&grown.DepthCount, &before.DepthCount},
		{&grown.Carried, &before.Carried},
	} {
		*f.now -= *f.then
	}
	for i := range grown.Phases {
		grown.Phases[i].Count -= before.Phases[i].Count
		grown.Phases[i].NS -= before.Phases[i].NS
	}
	for i := range grown.Sizes {
		grown.Sizes[i] -= before.Sizes[i]
	}
	grown.DeviceHist, grown.TotalHist = s.DeviceHist.Since(before.DeviceHist), s.TotalHist.Since(before.TotalHist)
	return grown
}
