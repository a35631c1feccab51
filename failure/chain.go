// SPDX-License-Identifier: Apache-2.0

// Package failure tells of system calls that failed which function first returned the
// error and how it travelled up, and of processes that a signal ended who sent it.
// Values in, values out.
package failure

import (
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// Frame is a caller on a stack.
type Frame struct {
	Address  uint64 // to which is returned; 0: to none in it, it jumped
	Function string
}

// Return is a function that has returned within a system call.
type Return struct {
	Function string
	Place    uint64     // of its call on the stack: a higher one is further out
	Errno    unix.Errno // 0: it succeeded
	Callers  []Frame    // innermost first; nil: not known
	Called   uint64     // address of the function that its caller called; 0: not known
	Jumped   bool       // that was another one, which jumped to it at its end
	// ToProbe says that it returned into a probe's code: as it began, that of the function that
	// jumped to it stood for the place of return already.
	ToProbe bool
}

// Step is a function and the error that it returned.
type Step struct {
	Function string
	Errno    unix.Errno
}

// Chain is how an error came about. Steps are the functions that were seen to return it, each
// called by the next one, the innermost first: that is where it began, as far as functions are
// witnessed. There are none if it arose where none is.
type Chain struct {
	Steps   []Step
	Callers []Frame // of the innermost step, up to the system call; nil: not known
	// Before is another error, which functions within the innermost step returned last before it
	// returned its own: it may have been changed into that. Innermost first.
	Before []Step
	// Others were returned too, but went no further: each once, the last first.
	Others []Step
	Cut    uint32 // returns that were not kept: the chain may begin further in
}

// mostOthers bounds the errors that are listed beside.
const mostOthers = 8

// stackDepth is how many callers are told at most: STACK_DEPTH of bpf/abi.h.
const stackDepth = 48

// ChainOf finds how a system call came to fail with an error. Returns are in their order.
func ChainOf(returns []Return, errno unix.Errno) Chain {
	accepted := climb(returns, errno, nil)
	var c Chain
	taken := make(map[int]bool, len(accepted))
	end := len(returns)
	var innermost *Return
	for _, i := range accepted {
		taken[i], end, innermost = true, i, &returns[i]
		c.Steps = append(c.Steps, Step{returns[i].Function, errno})
	}
	slices.Reverse(c.Steps)
	if innermost != nil {
		c.Callers = callersOf(returns, accepted)
	}
	if end > 0 && changed(&returns[end-1], errno, innermost) {
		last := &returns[end-1]
		for _, i := range climb(returns[:end], last.Errno, innermost) {
			taken[i] = true
			c.Before = append(c.Before, Step{returns[i].Function, last.Errno})
		}
		slices.Reverse(c.Before)
	}
	for i := len(returns) - 1; i >= 0 && len(c.Others) < mostOthers; i-- {
		step := Step{returns[i].Function, returns[i].Errno}
		if step.Errno != 0 && !taken[i] && !slices.Contains(c.Others, step) {
			c.Others = append(c.Others, step)
		}
	}
	return c
}

// callersOf are those of the innermost return, with the functions that jumped, which are no longer
// on the stack, where they had been.
func callersOf(returns []Return, accepted []int) []Frame {
	stack := callersAt(returns, accepted, len(accepted)-1)
	callers := slices.Clone(stack)
	for n, i := range accepted[:len(accepted)-1] {
		own := callersAt(returns, accepted, n)
		at := len(stack) - len(own)
		if returns[accepted[n+1]].Place == returns[i].Place && len(own) > 0 && at >= 0 && sameFrames(stack[at:], own) {
			callers = slices.Insert(callers, at, Frame{Function: returns[i].Function})
		}
	}
	return callers
}

// callersAt are those of a return. What was reached by jumps has those of the function that was
// called: a probe's code, to which it returns, may hide them.
func callersAt(returns []Return, accepted []int, n int) []Frame {
	r := &returns[accepted[n]]
	if len(r.Callers) == 0 && n > 0 && returns[accepted[n-1]].Place == r.Place {
		return callersAt(returns, accepted, n-1)
	}
	return r.Callers
}

// changed says whether a return is that of another error, directly before that of its caller.
func changed(last *Return, errno unix.Errno, outer *Return) bool {
	return last.Errno != 0 && last.Errno != errno && (outer == nil || last.Place < outer.Place && nested(last, outer))
}

// climb walks from the outermost return of an error to the innermost within it, and gives their
// indices. Only what lies within outer counts, unless that is nil.
func climb(returns []Return, errno unix.Errno, outer *Return) (accepted []int) {
	limit := uint64(math.MaxUint64)
	if outer != nil {
		limit = outer.Place
	}
	var called *Return   // the outermost that was accepted at the place of the last
	var closed []*Return // since the last that was accepted: what lies in them went no further
	for i := len(returns) - 1; i >= 0; i-- {
		r := &returns[i]
		if called != nil && r.Place == limit && accepted[len(accepted)-1] == i+1 && r.Errno == errno && reached(r, called) {
			accepted = append(accepted, i)
			continue
		}
		if r.Place >= limit {
			break // returned before the call that we are in began, and so did all before
		}
		if r.Errno != errno || swallowed(r, closed) || outer != nil && !nested(r, outer) {
			closed = append(closed, r)
			continue
		}
		accepted = append(accepted, i)
		limit, outer, called, closed = r.Place, r, r, nil
	}
	return accepted
}

// reached says whether a function was reached by jumps from one that was called, at whose place it
// returns directly before. Calls of the same caller, one after the other, return there too, but
// each of their functions was called itself.
func reached(r, called *Return) bool {
	if called.Jumped || called.ToProbe || !nested(r, called) {
		return false
	}
	return r.ToProbe || r.Jumped && r.Called != 0 && r.Called == called.Called
}

// swallowed says whether a function that returned something else had called this one.
func swallowed(r *Return, closed []*Return) bool {
	return slices.ContainsFunc(closed, func(c *Return) bool {
		return c.Place > r.Place && (r.Callers == nil || slices.ContainsFunc(r.Callers, func(f Frame) bool { return f.Function == c.Function }))
	})
}

// nested says whether a call was made within another one that returned later, for all that is
// known: then its callers end with those of the other.
func nested(r, outer *Return) bool {
	n := len(r.Callers) - len(outer.Callers)
	if len(r.Callers) == 0 || len(outer.Callers) == 0 || len(r.Callers) >= stackDepth {
		return true
	}
	if r.Callers[len(r.Callers)-1].Address != outer.Callers[len(outer.Callers)-1].Address {
		return true // one of them was not unwound to its end
	}
	return n >= 0 && sameFrames(r.Callers[n:], outer.Callers)
}

func sameFrames(a, b []Frame) bool {
	return slices.EqualFunc(a, b, func(a, b Frame) bool { return a.Address == b.Address })
}
