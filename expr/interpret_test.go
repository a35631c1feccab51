// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"bytes"
	"encoding/binary"
)

// interpreter is what expressions mean, told in Go: compiled code is held to it.
type interpreter struct {
	call   *call
	memory func(address uint64, size int) ([]byte, bool)
}

func (in *interpreter) value(n *node) (uint64, bool) {
	switch n.op {
	case opConst:
		return n.value, true
	case opInput:
		return number64(in.call.bytes()[n.offset:][:n.size]), true
	case opLoad:
		address, ok := in.value(n.x)
		if !ok {
			return 0, false
		}
		raw, ok := in.memory(address+uint64(n.offset), n.size)
		return number64(raw), ok
	case opText:
		return in.text(n)
	case opBoth, opEither: // the second side is not read if the first decides
		x, ok := in.value(n.x)
		if !ok || (x != 0) == (n.op == opEither) {
			return x, ok
		}
		return in.value(n.y)
	}
	x, ok := in.value(n.x)
	y := uint64(0)
	if n.y != nil && ok {
		y, ok = in.value(n.y)
	}
	return n.compute(x, y), ok
}

func number64(raw []byte) uint64 {
	var word [8]byte
	copy(word[:], raw)
	return binary.LittleEndian.Uint64(word[:])
}

func (in *interpreter) text(n *node) (uint64, bool) {
	raw, ok := in.call.Comm[:], true
	if !n.text.comm {
		address, known := in.value(n.x)
		if !known {
			return 0, false
		}
		raw, ok = in.str(address+uint64(n.offset), n.text)
	}
	got := cut(raw)
	same := string(got) == n.text.want
	if n.text.prefix {
		same = bytes.HasPrefix(got, []byte(n.text.want))
	}
	return truthValue(same != n.text.negated), ok
}

// str reads as far as is needed: a string may end just before what is not mapped.
func (in *interpreter) str(address uint64, want *text) ([]byte, bool) {
	if want.limit > 0 {
		size := min(want.limit, len(want.want)+1)
		if want.prefix {
			size = len(want.want)
		}
		return in.memory(address, size)
	}
	size := len(want.want) + 2
	if want.prefix {
		size--
	}
	var out []byte
	for i := range size {
		c, ok := in.memory(address+uint64(i), 1)
		if !ok {
			return nil, false
		}
		if out = append(out, c[0]); c[0] == 0 {
			break
		}
	}
	return out, true
}

// certainty is a condition's outcome where memory may be unreadable.
type certainty int

const (
	isFalse certainty = iota
	isUnknown
	isTrue
)

func (in *interpreter) certain(n *node) certainty {
	switch n.op {
	case opNot:
		return isTrue - in.certain(n.x)
	case opBoth:
		return min(in.certain(n.x), in.certain(n.y))
	case opEither:
		return max(in.certain(n.x), in.certain(n.y))
	}
	value, ok := in.value(n)
	switch {
	case !ok:
		return isUnknown
	case value != 0:
		return isTrue
	}
	return isFalse
}

// unreadable tells whether any condition of a filter is unknown.
func (in *interpreter) unreadable(n *node) bool {
	switch n.op {
	case opNot:
		return in.unreadable(n.x)
	case opBoth, opEither:
		return in.unreadable(n.x) || in.unreadable(n.y)
	}
	return in.certain(n) == isUnknown
}
