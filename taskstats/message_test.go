// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func attribute(kind uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(attrBytes+len(data)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), data...)
	return append(b, make([]byte, int(aligned(uint64(len(b))))-len(b))...)
}

// reply is a message as the kernel sends it.
func reply(kind uint16, seq uint32, attributes []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(headerBytes+genericBytes+len(attributes)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, 0)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = append(b, unix.TASKSTATS_CMD_NEW, 1, 0, 0)
	return append(b, attributes...)
}

func threadAttributes(tid uint32, stats []byte) []byte {
	id := attribute(unix.TASKSTATS_TYPE_PID, binary.NativeEndian.AppendUint32(nil, tid))
	// Some architectures have an empty attribute before the struct, to align it.
	pad := attribute(unix.TASKSTATS_TYPE_NULL, nil)
	return attribute(unix.TASKSTATS_TYPE_AGGR_PID, append(append(id, pad...), attribute(unix.TASKSTATS_TYPE_STATS, stats)...))
}

const family = 27

func TestMessagesAreReadOneAfterTheOther(t *testing.T) {
	b := reply(family, 0, threadAttributes(7, filled(13, 416)))
	b = append(b, reply(99, 0, nil)...) // of another family
	process := attribute(unix.TASKSTATS_TYPE_AGGR_TGID, attribute(unix.TASKSTATS_TYPE_STATS, filled(13, 416)))
	b = append(b, reply(family, 0, append(threadAttributes(8, filled(16, 560)), process...))...)
	b = append(b, reply(family, 0, process)...)
	var tids []uint32
	if err := eachExit(b, family, func(s Stats) { tids = append(tids, s.TID) }); err != nil {
		t.Fatal(err)
	}
	if len(tids) != 2 || tids[0] != 7 || tids[1] != 8 {
		t.Errorf("threads %v", tids)
	}
}

func TestBrokenMessagesAreRefused(t *testing.T) {
	whole := reply(family, 0, threadAttributes(7, filled(13, 416)))
	for cut := 1; cut < len(whole); cut++ {
		if err := eachExit(whole[:cut], family, func(Stats) { t.Errorf("cut to %d bytes it is understood", cut) }); err == nil {
			t.Errorf("cut to %d bytes it is no error", cut)
		}
	}
	short := reply(family, 0, threadAttributes(7, []byte{13, 0, 0, 0}))
	if err := eachExit(short, family, func(Stats) {}); !errors.Is(err, ErrStats) {
		t.Errorf("a struct of 4 bytes: %v", err)
	}
}

func TestErrorsAreToldAsWhatTheyAre(t *testing.T) {
	number := func(code int32) *message {
		return &message{kind: unix.NLMSG_ERROR, body: binary.NativeEndian.AppendUint32(nil, uint32(code))}
	}
	for code, want := range map[int32]error{0: nil, -3: nil, -1: ErrPermission, -13: ErrPermission, -22: unix.EINVAL, 5: errMessage, -100000: errMessage} {
		if got := refusal(number(code)); !errors.Is(got, want) || want == nil && got != nil {
			t.Errorf("%d: %v, want %v", code, got, want)
		}
	}
	if err := refusal(&message{kind: unix.NLMSG_ERROR, body: []byte{1}}); !errors.Is(err, errMessage) {
		t.Errorf("an error of one byte: %v", err)
	}
}

func TestRequestsAreMessages(t *testing.T) {
	for _, value := range [][]byte{nil, {1}, []byte("TASKSTATS\x00"), {1, 2, 3, 4}} {
		b := appendRequest([]byte("xx"), family, unix.NLM_F_ACK, 5, 1, 1, 2, value)[2:]
		m, rest, err := nextMessage(b)
		if err != nil || len(rest) != 0 || m.kind != family || m.seq != 5 {
			t.Fatalf("%v: %+v, %v", value, m, err)
		}
		attributes, err := m.attributes()
		if err != nil {
			t.Fatal(err)
		}
		got, err := findAttribute(attributes, 2)
		if err != nil || string(got) != string(value) {
			t.Errorf("%v: %v, %v", value, got, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(reply(family, 0, threadAttributes(7, filled(13, 416))))
	f.Add(append(reply(family, 3, threadAttributes(7, filled(15, 560))), reply(99, 1, nil)...))
	f.Add([]byte{4, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = eachExit(b, family, func(s Stats) {
			if len(s.Comm) > commBytes {
				t.Errorf("%q", s.Comm)
			}
		})
		for len(b) > 0 {
			m, rest, err := nextMessage(b)
			if err != nil {
				return
			}
			_ = refusal(&m)
			b = rest
		}
	})
}
