// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// The limits of compressed symbols.
const (
	maxMini     = 64 << 20 // bytes unpacked
	maxMiniDict = 64 << 20 // xz -9
	maxBlocks   = 16
)

// miniSymbols adds the symbols of section .gnu_debugdata: an ELF file of its own, by xz.
func (o *object) miniSymbols(b *builder) {
	packed, err := o.content(o.find(".gnu_debugdata"), maxMini)
	if err != nil {
		return
	}
	content, err := unpack(packed, maxMini)
	if err != nil {
		return
	}
	if other, err := readObject(bytes.NewReader(content), uint64(len(content))); err == nil && other.machine == o.machine && other.wide == o.wide {
		other.addSymbols(b, symtab)
	}
}

var errXZ = errors.New("not an xz stream that can be read")

// unpack reads the blocks of an xz stream. It is not left to the library's reader of streams,
// since that takes as much memory as a block asks for, up to 4 GiB.
func unpack(packed []byte, limit int64) ([]byte, error) {
	if len(packed) < 24 || string(packed[:6]) != "\xfd7zXZ\x00" {
		return nil, errXZ
	}
	check, known := map[byte]int{0: 0, 1: 4, 4: 8, 10: 32}[packed[7]]
	if !known {
		return nil, errXZ
	}
	var out bytes.Buffer
	at := 12
	for block := 0; at < len(packed) && packed[at] != 0; block++ { // 0: the index, after the last block
		if block == maxBlocks {
			return nil, errXZ
		}
		size := (int(packed[at]) + 1) * 4
		if at+size > len(packed) {
			return nil, errXZ
		}
		dict, err := blockDict(packed[at : at+size])
		if err != nil {
			return nil, err
		}
		dict = max(min(dict, int(limit)), lzma.MinDictCap) // no more than there may be to look back to
		used, err := unpackBlock(&out, packed[at+size:], dict, limit)
		if err != nil {
			return nil, err
		}
		at += size + (used+3)&^3 + check
	}
	return out.Bytes(), nil
}

// blockDict is the size of the dictionary of a block, by its header.
func blockDict(header []byte) (int, error) {
	flags := header[1]
	if flags&0x3f != 0 {
		return 0, errXZ // filters before LZMA2
	}
	at := 2
	for _, present := range [...]byte{0x40, 0x80} { // sizes, which are not needed
		if flags&present != 0 {
			_, n := binary.Uvarint(header[at:])
			if n <= 0 {
				return 0, errXZ
			}
			at += n
		}
	}
	if at+3 > len(header) || header[at] != 0x21 || header[at+1] != 1 {
		return 0, errXZ
	}
	dict, err := lzma.DecodeDictCap(header[at+2])
	if err != nil || dict > maxMiniDict {
		return 0, errXZ
	}
	return int(dict), nil
}

// unpackBlock appends the content of a block, and tells how many bytes it took.
func unpackBlock(out *bytes.Buffer, packed []byte, dict int, limit int64) (used int, err error) {
	in := bytes.NewReader(packed)
	r, err := lzma.Reader2Config{DictCap: dict}.NewReader2(in)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(r, limit-int64(out.Len())+1))
	if err != nil {
		return 0, err
	}
	if n > 0 && int64(out.Len()) > limit {
		return 0, errXZ
	}
	return len(packed) - in.Len(), nil
}
