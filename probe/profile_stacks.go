// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/iowitness/iowitness/event"
)

// firstStack is the first number of a stack; those below are event.StackMiss.
const firstStack = 16

// keptStack is a stack as it was read. used is the interval in which it was last asked for.
type keptStack struct {
	frames []uint64
	cut    bool
	used   uint64
}

// stackCache holds the stacks that were read, so that the kernel side's table can be emptied
// while threads still go by the numbers of stacks that were in it.
type stackCache struct {
	kept     map[uint64]*keptStack
	room     int // in the kernel side's table
	inKernel int // about so many are in it
	interval uint64
	gone     uint64
	goneNS   uint64
}

func newStackCache(room int) stackCache { return stackCache{kept: map[uint64]*keptStack{}, room: room} }

// keepIntervals is for how many intervals a stack is kept that nobody asks for.
const keepIntervals = 60

// stack is what the kernel side keeps under a number, with the time that it stands for if it is gone.
func (c *stackCache) stack(table *ebpf.Map, number, ns uint64) (frames []uint64, cut bool, miss event.StackMiss, err error) {
	if number < firstStack {
		return nil, false, event.StackMiss(number), nil
	}
	k, ok := c.kept[number]
	if !ok {
		if k, err = readKept(table, number); errors.Is(err, ebpf.ErrKeyNotExist) {
			c.gone++
			c.goneNS += ns
			return nil, false, event.StackGone, nil
		}
		if err != nil {
			return nil, false, 0, fmt.Errorf("reading a stack: %w", err)
		}
		c.kept[number] = k
		c.inKernel++
	}
	k.used = c.interval
	return k.frames, k.cut, event.StackAbsent, nil
}

func readKept(table *ebpf.Map, number uint64) (*keptStack, error) {
	var s profileProfStack
	if err := table.Lookup(number, &s); err != nil {
		return nil, err
	}
	n := min(int(s.Frames), len(s.Frame))
	return &keptStack{frames: append([]uint64(nil), s.Frame[:n]...), cut: n == len(s.Frame)}, nil
}

// sweep empties the kernel side's table before it is full, having read what is in it, and forgets
// what nobody has asked for in long.
func (c *stackCache) sweep(table *ebpf.Map) error {
	c.interval++
	for number, k := range c.kept {
		if k.used+keepIntervals < c.interval {
			delete(c.kept, number)
		}
	}
	if c.inKernel < c.room/4 {
		return nil
	}
	var number uint64
	var value profileProfStack
	var numbers []uint64
	all := table.Iterate()
	for all.Next(&number, &value) {
		numbers = append(numbers, number)
		if _, ok := c.kept[number]; !ok {
			n := min(int(value.Frames), len(value.Frame))
			c.kept[number] = &keptStack{append([]uint64(nil), value.Frame[:n]...), n == len(value.Frame), c.interval}
		}
	}
	if err := all.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return fmt.Errorf("reading stacks: %w", err)
	}
	c.inKernel = 0
	return empty(table, numbers)
}
