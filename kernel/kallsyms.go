// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Room for the symbols of a usual kernel, so that loading copies nothing.
// What is not used is never touched, and so takes no memory.
const (
	usualSymbols   = 96 << 10
	usualTextBytes = 5 << 19
)

// LoadSymbols reads proc/kallsyms below root; some 50 ms, so callers do it in
// the background. Errors: ErrRestricted, ErrNoSymbols, or that of the file.
func LoadSymbols(root string) (*Symbols, error) {
	f, err := os.Open(filepath.Join(root, "proc/kallsyms"))
	if err != nil {
		return nil, fmt.Errorf("kernel symbols cannot be read, so causes of waits cannot be told, only totals: %w", err)
	}
	defer f.Close()
	return ParseSymbols(f)
}

// ParseSymbols reads lines such as "ffffffff81000000 T _stext\t[module]" and
// keeps functions (t, T, w, W). Lines of other shapes are passed over.
func ParseSymbols(r io.Reader) (*Symbols, error) {
	l := loader{symbols: &Symbols{
		addresses: make([]uint64, 0, usualSymbols),
		names:     make([]uint32, 0, usualSymbols),
		text:      make([]byte, 0, usualTextBytes),
	}}
	if err := eachLine(r, l.line); err != nil {
		return nil, fmt.Errorf("reading kernel symbols failed, so causes of waits cannot be told, only totals: %w", err)
	}
	return l.done()
}

// eachLine reads without a copy of each line; one longer than the buffer is an error.
func eachLine(r io.Reader, line func([]byte)) error {
	buf := make([]byte, 64<<10)
	held := 0
	for {
		n, err := r.Read(buf[held:])
		rest := buf[:held+n]
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			line(rest[:end])
			rest = rest[end+1:]
		}
		if err != nil {
			line(rest)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		held = copy(buf, rest)
		if held == len(buf) {
			return fmt.Errorf("a line is longer than %d bytes", len(buf))
		}
	}
}

type loader struct {
	symbols *Symbols
	hidden  int // functions whose address was shown as zero
}

func (l *loader) line(line []byte) {
	s, ok := cutSymbol(line)
	switch {
	case !ok:
	case s.address == 0:
		l.hidden++
	default:
		l.add(s.address, s.name)
	}
}

// symbolLine is a function as a line tells it; its bytes are those of the line.
type symbolLine struct {
	address uint64 // 0: hidden
	name    []byte
	module  []byte // empty: the kernel itself
}

func cutSymbol(line []byte) (s symbolLine, ok bool) {
	address, rest, ok := cutAddress(line)
	if !ok || len(rest) < 4 || rest[0] != ' ' || rest[2] != ' ' || !isFunction(rest[1]) {
		return s, false
	}
	name, module, _ := bytes.Cut(rest[3:], []byte{'\t'})
	if len(name) == 0 || isMarker(name) {
		return s, false
	}
	return symbolLine{address, name, bytes.Trim(module, "[]")}, true
}

// add drops what a 32-bit offset cannot reach: no kernel has 2 GB of names.
func (l *loader) add(address uint64, name []byte) {
	s := l.symbols
	if len(s.text)+len(name) >= math.MaxInt32 || bytes.IndexByte(name, 0) >= 0 {
		return
	}
	s.addresses = append(s.addresses, address)
	s.names = append(s.names, uint32(len(s.text)))
	s.text = append(append(s.text, name...), 0)
}

func (l *loader) done() (*Symbols, error) {
	switch {
	case l.symbols.Len() > 0:
		l.symbols.sort()
		return l.symbols, nil
	case l.hidden > 0:
		return nil, ErrRestricted
	}
	return nil, ErrNoSymbols
}

// cutAddress reads a lower-case hexadecimal number of at most 64 bits.
func cutAddress(line []byte) (address uint64, rest []byte, ok bool) {
	for i, c := range line {
		switch {
		case c >= '0' && c <= '9':
			address = address<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			address = address<<4 | uint64(c-'a'+10)
		default:
			return address, line[i:], i > 0 && i <= 16
		}
	}
	return 0, nil, false
}

func isFunction(kind byte) bool {
	return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W'
}

// isMarker: labels before a function that call-depth tracking and control-flow
// integrity put there; no code of the function lies behind them.
func isMarker(name []byte) bool {
	return bytes.HasPrefix(name, []byte("__pfx_")) || bytes.HasPrefix(name, []byte("__cfi_"))
}
