// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// errMessage is wrapped by errors of messages that break netlink's own rules.
var errMessage = errors.New("netlink message not understood")

// Sizes of struct nlmsghdr, struct genlmsghdr and struct nlattr.
const (
	headerBytes  = unix.NLMSG_HDRLEN
	genericBytes = unix.GENL_HDRLEN
	attrBytes    = unix.NLA_HDRLEN
)

const attrKinds = 0x3fff // NLA_TYPE_MASK: the bits above it are flags

// message is a netlink message: its header's fields, and what follows it.
type message struct {
	kind uint16
	seq  uint32
	body []byte
}

// nextMessage cuts one message off what a socket gave.
func nextMessage(b []byte) (m message, rest []byte, err error) {
	if len(b) < headerBytes {
		return m, nil, fmt.Errorf("%w: %d bytes", errMessage, len(b))
	}
	size := uint64(binary.NativeEndian.Uint32(b))
	if size < headerBytes || size > uint64(len(b)) {
		return m, nil, fmt.Errorf("%w: its length is %d of %d", errMessage, size, len(b))
	}
	m = message{kind: binary.NativeEndian.Uint16(b[4:]), seq: binary.NativeEndian.Uint32(b[8:]), body: b[headerBytes:size]}
	return m, b[min(aligned(size), uint64(len(b))):], nil
}

// errno is the error that a message of kind NLMSG_ERROR tells; 0 is an acknowledgement.
func (m *message) errno() (unix.Errno, error) {
	if len(m.body) < 4 {
		return 0, fmt.Errorf("%w: an error of %d bytes", errMessage, len(m.body))
	}
	code := int32(binary.NativeEndian.Uint32(m.body))
	if code > 0 || code < -4095 {
		return 0, fmt.Errorf("%w: error %d", errMessage, code)
	}
	return unix.Errno(-code), nil
}

// attributes are those of a generic message, behind its own header.
func (m *message) attributes() ([]byte, error) {
	if len(m.body) < genericBytes {
		return nil, fmt.Errorf("%w: %d bytes", errMessage, len(m.body))
	}
	return m.body[genericBytes:], nil
}

// findAttribute gives the data of the first attribute of a kind; nil if there is none.
func findAttribute(b []byte, kind uint16) ([]byte, error) {
	for len(b) > 0 {
		if len(b) < attrBytes {
			return nil, fmt.Errorf("%w: %d bytes behind its attributes", errMessage, len(b))
		}
		size, is := uint64(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])&attrKinds
		if size < attrBytes || size > uint64(len(b)) {
			return nil, fmt.Errorf("%w: an attribute's length is %d of %d", errMessage, size, len(b))
		}
		if is == kind {
			return b[attrBytes:size], nil
		}
		b = b[min(aligned(size), uint64(len(b))):]
	}
	return nil, nil
}

func aligned(size uint64) uint64 { return (size + 3) &^ 3 }

// parseStats finds the statistics of a thread in the attributes of a message;
// ok is false where there are none, as in the sums of a process that ends.
func parseStats(attributes []byte) (s Stats, ok bool, err error) {
	thread, err := findAttribute(attributes, unix.TASKSTATS_TYPE_AGGR_PID)
	if err != nil || thread == nil {
		return s, false, err
	}
	id, err := findAttribute(thread, unix.TASKSTATS_TYPE_PID)
	if err != nil {
		return s, false, err
	}
	stats, err := findAttribute(thread, unix.TASKSTATS_TYPE_STATS)
	if err != nil {
		return s, false, err
	}
	if s, err = Decode(stats); err != nil {
		return s, false, err
	}
	if len(id) >= 4 {
		s.TID = binary.NativeEndian.Uint32(id) // as the asker's pid namespace numbers it
	}
	return s, true, nil
}

// appendRequest writes a request with one attribute.
func appendRequest(b []byte, family uint16, flags uint16, seq uint32, command, version uint8, attr uint16, value []byte) []byte {
	attrSize := attrBytes + len(value)
	size := headerBytes + genericBytes + int(aligned(uint64(attrSize)))
	b = binary.NativeEndian.AppendUint32(b, uint32(size))
	b = binary.NativeEndian.AppendUint16(b, family)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|flags)
	b = binary.NativeEndian.AppendUint32(b, seq)
	b = binary.NativeEndian.AppendUint32(b, 0) // the kernel knows who asks
	b = append(b, command, version, 0, 0)
	b = binary.NativeEndian.AppendUint16(b, uint16(attrSize))
	b = binary.NativeEndian.AppendUint16(b, attr)
	b = append(b, value...)
	for range int(aligned(uint64(attrSize))) - attrSize {
		b = append(b, 0)
	}
	return b
}
