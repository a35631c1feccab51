// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"
)

// TestSwitchRunsTheBodyOfTheFunction by its number, whatever others there are.
func TestSwitchRunsTheBodyOfTheFunction(t *testing.T) {
	const functions = 100
	value := func(number int) int { // of some that follow each other it is the same
		if number%10 < 3 {
			return number / 10
		}
		return 1000 + number
	}
	for _, n := range []int{1, 2, functions} {
		bodies := make([]asm.Instructions, n)
		for number := range bodies {
			if number%7 != 6 { // those want every call
				bodies[number] = mustCompile(t, &Scope{}, fmt.Sprintf("arg1 == %d", value(number))).Filter
			}
		}
		body, err := Switch(bodies)
		if err != nil {
			t.Fatal(err)
		}
		r := newRunner(t)
		program := r.load(t, body, false)
		defer program.Close()
		for number := range bodies {
			for _, argument := range []int{value(number), value(number) + 1} {
				want := uint32(Wanted)
				if bodies[number] != nil && argument != value(number) {
					want = Unwanted
				}
				c := &call{Pad: uint32(number) << 16}
				c.Args[0] = uint64(argument)
				if got, _ := r.run(t, program, c, nil); got != want {
					t.Errorf("function %d of %d, argument %d: %d, not %d", number, n, argument, got, want)
				}
			}
		}
	}
}

// TestSwitchKeepsEqualBodiesOnce, and refuses what is too long for the kernel's jumps.
func TestSwitchKeepsEqualBodiesOnce(t *testing.T) {
	body := mustCompile(t, &Scope{}, "", "arg1", "arg2").Entry
	joint, err := Switch(make([]asm.Instructions, 2000))
	if err != nil || len(joint) > 5 {
		t.Errorf("%d instructions: %v", len(joint), err)
	}
	all := make([]asm.Instructions, 2000)
	for i := range all {
		if all[i] = body; i%2 == 0 {
			all[i] = nil
		}
	}
	if joint, err = Switch(all); err != nil || len(joint) > 2*len(all)+len(body)+5 {
		t.Errorf("%d instructions, %d of a body: %v", len(joint), len(body), err)
	}
	for i := range all {
		all[i] = mustCompile(t, &Scope{}, "", fmt.Sprintf("arg1 + %d", i), "arg2", "arg3", "arg4", "arg5").Entry
	}
	if _, err = Switch(all); err == nil {
		t.Error("2,000 bodies are not too long")
	}
	if _, err = Switch(nil); err == nil {
		t.Error("no body at all")
	}
}
