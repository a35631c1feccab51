// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"slices"
	"sync"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// enumerator is the value of a constant of an enum, sign-extended.
type enumerator struct {
	value  uint64
	signed bool
}

// constantsOf has the constants of each *btf.Spec. All types are looked through
// for them, which takes a second: once, when first needed, and for all functions.
var constantsOf sync.Map

// constants are those of all enums by name, with each value that it has.
func (s *Scope) constants() map[string][]enumerator {
	if s.Types == nil {
		return nil
	}
	list, _ := constantsOf.LoadOrStore(s.Types, sync.OnceValue(func() map[string][]enumerator { return listConstants(s.Types) }))
	return list.(func() map[string][]enumerator)()
}

func listConstants(types *btf.Spec) map[string][]enumerator {
	out := map[string][]enumerator{}
	// A copy, so that the spec does not keep all types that were looked at.
	types = types.Copy()
	for id := btf.TypeID(1); ; id++ {
		t, err := types.TypeByID(id)
		if errors.Is(err, btf.ErrNotFound) || err != nil {
			return out
		}
		enum, ok := t.(*btf.Enum)
		if !ok {
			continue
		}
		for _, each := range enum.Values {
			found := enumerator{each.Value, enum.Signed}
			if enum.Size < 8 && !enum.Signed {
				found.value &= 1<<(8*enum.Size) - 1
			}
			same := func(e enumerator) bool { return e.value == found.value }
			if !slices.ContainsFunc(out[each.Name], same) {
				out[each.Name] = append(out[each.Name], found)
			}
		}
	}
}

// kernelErrnos are those that user space never sees, but functions return.
var kernelErrnos = map[string]uint64{
	"ERESTARTSYS": 512, "ERESTARTNOINTR": 513, "ERESTARTNOHAND": 514, "ENOIOCTLCMD": 515,
	"ERESTART_RESTARTBLOCK": 516, "EPROBE_DEFER": 517, "EOPENSTALE": 518, "ENOPARAM": 519,
	"EBADHANDLE": 521, "ENOTSYNC": 522, "EBADCOOKIE": 523, "ENOTSUPP": 524, "ETOOSMALL": 525,
	"ESERVERFAULT": 526, "EBADTYPE": 527, "EJUKEBOX": 528, "EIOCBQUEUED": 529,
	"ERECALLCONFLICT": 530, "ENOGRACE": 531,
	"EWOULDBLOCK": uint64(unix.EWOULDBLOCK), "EDEADLOCK": uint64(unix.EDEADLOCK), "ENOTSUP": uint64(unix.ENOTSUP),
}

var errnos = sync.OnceValue(func() map[string]uint64 {
	out := map[string]uint64{}
	for value := range unix.Errno(256) {
		if name := unix.ErrnoName(value); name != "" {
			out[name] = uint64(value)
		}
	}
	for name, value := range kernelErrnos {
		out[name] = value
	}
	return out
})

func errnoNumber(name string) (uint64, bool) {
	value, ok := errnos()[name]
	return value, ok
}

// ErrnoName is the name of an error as functions return it, negative: -EIO for
// -5. Numbers that are no error have none.
func ErrnoName(value int64) string {
	if value >= 0 || value < -maxErrno {
		return ""
	}
	if name := unix.ErrnoName(unix.Errno(-value)); name != "" {
		return "-" + name
	}
	for name, number := range kernelErrnos {
		if int64(number) == -value {
			return "-" + name
		}
	}
	return ""
}
