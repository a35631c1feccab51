// SPDX-License-Identifier: Apache-2.0

package profile

// Total is the weight of all samples.
func (p *Profile) Total() Weight { return Weight{} }

// Top are the functions, most self weight first; at most n of them, all if n is 0.
func (p *Profile) Top(n int) []Row { return nil }

// Callers are the functions that called f directly, Total being the weight of stacks in which
// they did. Callees are those that f called; f's own weight is its row's in Top.
func (p *Profile) Callers(f Function) []Row { return nil }

// Callees are the functions that f called directly.
func (p *Profile) Callees(f Function) []Row { return nil }

// ByProcess are the processes, most weight first, each with its n top functions.
func (p *Profile) ByProcess(n int) []ProcessRow { return nil }

// ByThread are the threads, most weight first, each with its n top functions.
func (p *Profile) ByThread(n int) []ProcessRow { return nil }

// Merge adds up profiles of one kind: equal stacks become one sample.
func Merge(profiles ...*Profile) *Profile { return nil }
