// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"

	"github.com/iowitness/iowitness/symbol"
)

// key is the same for samples that are merged: of one thread, with the same frames.
func (s *Sample) key() string {
	b := binary.LittleEndian.AppendUint32(nil, s.PID)
	b = binary.LittleEndian.AppendUint32(b, s.TID)
	b = appendText(b, s.Process, s.Thread, s.Cgroup)
	for _, part := range [...][]symbol.Frame{s.Kernel, s.User} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(part)))
		for i := range part {
			f := &part[i]
			b = binary.LittleEndian.AppendUint64(b, f.Address)
			b = append(b, byte(f.Kind))
			b = appendText(b, f.Name, f.Module, f.BuildID)
		}
	}
	if s.Truncated {
		b = append(b, 1)
	}
	return string(b)
}

func appendText(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(t))), t...)
	}
	return b
}
