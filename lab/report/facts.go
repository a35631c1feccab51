// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/iowitness/iowitness/lab/fact"
)

// kernel is what was measured on one kernel, by kind, in an order that does not
// depend on the run.
type kernel struct {
	fact.Kernel
	means      []fact.Means // in the order in which they are tried
	programs   []fact.Program
	agreements []fact.Agreement
	missed     []fact.Missed
	floors     []fact.Floor
	functions  fact.Functions
	formats    []fact.Format
	callCosts  []fact.CallCost
}

func sorted(kernels []fact.Kernel) ([]kernel, error) {
	var all []kernel
	for _, k := range kernels {
		one := kernel{Kernel: k}
		for _, f := range k.Facts {
			if err := one.take(f); err != nil {
				return nil, fmt.Errorf("%s: a fact of kind %q: %w", k.Release, f.Kind, err)
			}
		}
		order := one.order()
		slices.SortStableFunc(one.programs, func(a, b fact.Program) int {
			return cmp.Or(order(a.Via)-order(b.Via), cmp.Compare(a.Name, b.Name))
		})
		slices.SortStableFunc(one.agreements, func(a, b fact.Agreement) int {
			return cmp.Or(a.Order-b.Order, order(a.Via)-order(b.Via))
		})
		slices.SortStableFunc(one.callCosts, func(a, b fact.CallCost) int { return a.Order - b.Order })
		all = append(all, one)
	}
	return all, nil
}

// order gives a means' place among those that are tried.
func (k *kernel) order() func(via string) int {
	return func(via string) int {
		return slices.IndexFunc(k.means, func(m fact.Means) bool { return m.Via == via })
	}
}

func (k *kernel) take(f fact.Fact) error {
	switch f.Kind {
	case fact.KindMeans:
		return appended(&k.means, f.Value)
	case fact.KindAgreement:
		return appended(&k.agreements, f.Value)
	case fact.KindMissed:
		return appended(&k.missed, f.Value)
	case fact.KindFloor:
		return appended(&k.floors, f.Value)
	case fact.KindFormat:
		return appended(&k.formats, f.Value)
	case fact.KindCallCost:
		return appended(&k.callCosts, f.Value)
	case fact.KindFunctions:
		return json.Unmarshal(f.Value, &k.functions)
	case fact.KindProgram:
		var p fact.Program
		if err := json.Unmarshal(f.Value, &p); err != nil {
			return err
		}
		k.addProgram(p)
	}
	return nil
}

func appended[T any](to *[]T, value json.RawMessage) error {
	var one T
	err := json.Unmarshal(value, &one)
	*to = append(*to, one)
	return err
}

// addProgram adds up a program's runs under all workloads.
func (k *kernel) addProgram(p fact.Program) {
	for i := range k.programs {
		if have := &k.programs[i]; have.Via == p.Via && have.Name == p.Name {
			have.Runs += p.Runs
			have.NS += p.NS
			have.Verified = max(have.Verified, p.Verified)
			return
		}
	}
	k.programs = append(k.programs, p)
}

// meansOf are the means of all kernels, in the order in which they are tried.
func meansOf(kernels []kernel) (all []string) {
	for _, k := range kernels {
		for _, m := range k.means {
			if !slices.Contains(all, m.Via) {
				all = append(all, m.Via)
			}
		}
	}
	return all
}
