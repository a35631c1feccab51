// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
)

// Switch makes one body of those of several functions: it is that of the function whose
// number the call's input has. A nil body wants every call. Bodies that are alike are
// there once, as are those of all functions with as many arguments of which nothing else is asked.
func Switch(bodies []asm.Instructions) (asm.Instructions, error) {
	s := &switcher{places: map[string]int{}}
	var cases []switchCase
	for number, body := range bodies {
		if body == nil {
			body = asm.Instructions{asm.Mov.Imm(asm.R0, Wanted), asm.Return()}
		}
		place := s.keep(body)
		if len(cases) == 0 || cases[len(cases)-1].place != place {
			cases = append(cases, switchCase{number, place})
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no function, no body")
	}
	s.head = asm.Instructions{asm.LoadMem(asm.R0, asm.R1, inputFunction, asm.Half)}
	s.choose(cases)
	for at, place := range s.jumps {
		offset := len(s.head) - at - 1 + place
		if offset > math.MaxInt16 {
			return nil, errTooLong
		}
		s.head[at].Offset = int16(offset)
	}
	return append(s.head, s.bodies...), nil
}

// switchCase is the body, by its place, of the functions from a number on.
type switchCase struct{ from, place int }

// switcher has a tree of comparisons, and behind it the bodies.
type switcher struct {
	head   asm.Instructions
	jumps  map[int]int // by index in head: the place of the body to jump to
	bodies asm.Instructions
	width  int            // of the bodies, as the kernel counts instructions
	places map[string]int // of bodies, by what they are
}

// keep gives a body's place.
func (s *switcher) keep(body asm.Instructions) int {
	text := fmt.Sprint(body)
	place, ok := s.places[text]
	if !ok {
		place = s.width
		s.places[text] = place
		s.bodies = append(s.bodies, body...)
		for _, ins := range body {
			s.width += int(ins.Width())
		}
	}
	return place
}

// choose emits the tree that finds a case by the number in R0.
func (s *switcher) choose(cases []switchCase) {
	if len(cases) == 1 {
		s.jump(asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)}, cases[0].place)
		return
	}
	middle := len(cases) / 2
	branch := len(s.head)
	s.head = append(s.head, asm.JGE.Imm(asm.R0, int32(cases[middle].from), ""))
	s.choose(cases[:middle])
	s.head[branch].Offset = int16(len(s.head) - branch - 1)
	s.choose(cases[middle:])
}

func (s *switcher) jump(ins asm.Instruction, place int) {
	if s.jumps == nil {
		s.jumps = map[int]int{}
	}
	s.jumps[len(s.head)] = place
	s.head = append(s.head, ins)
}
