// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Format is how the records of an event are laid out, as its format file says.
// Layouts change between kernels, stable updates included: nothing is assumed.
type Format struct {
	Name   string
	ID     uint16  // of the event, in the first bytes of its records; 0: the file does not say
	Fields []Field // the common ones first
}

// Field is one field of a record.
type Field struct {
	Name     string
	Type     string // as declared, such as "unsigned short" or "__data_loc char[]"
	Offset   int    // bytes from the begin of the record
	Size     int    // bytes; of an array all of its elements
	Signed   bool
	Array    bool // also those of variable length
	Location Location
}

// Location says where a field's data is.
type Location uint8

// The ways to find a field's data.
const (
	Here     Location = iota // at the field's offset
	DataLoc                  // the field holds length<<16 | offset within the record
	RelLoc                   // the same, but the offset counts from the field's end
	locBytes = 4
)

var errNoFields = errors.New("no fields in the event's format")

// ParseFormat reads a format file. Lines that it does not know are passed over;
// a field whose numbers cannot be read is an error.
func ParseFormat(text string) (*Format, error) {
	f := &Format{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "name":
			f.Name = strings.TrimSpace(value)
		case "ID":
			id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
			if err != nil {
				return nil, fmt.Errorf("the event's ID: %w", err)
			}
			f.ID = uint16(id)
		case "field":
			field, err := parseField(line)
			if err != nil {
				return nil, err
			}
			f.Fields = append(f.Fields, field)
		}
	}
	if len(f.Fields) == 0 {
		return nil, errNoFields
	}
	return f, nil
}

// parseField reads "field:char comm[16];	offset:8;	size:16;	signed:0;".
func parseField(line string) (f Field, err error) {
	for part := range strings.SplitSeq(line, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), ":")
		switch key {
		case "field":
			f.declare(value)
		case "offset":
			f.Offset, err = parseSize(value)
		case "size":
			f.Size, err = parseSize(value)
		case "signed":
			f.Signed = value == "1"
		}
		if err != nil {
			return f, fmt.Errorf("field %s: %s %s", f.Name, key, value)
		}
	}
	if f.Name == "" {
		return f, fmt.Errorf("a field without a name: %q", line)
	}
	return f, nil
}

// declare takes a declaration of C apart: the name is the last word before an
// array's size.
func (f *Field) declare(declaration string) {
	text, _, array := strings.Cut(strings.TrimSpace(declaration), "[")
	at := strings.LastIndexFunc(strings.TrimRight(text, " "), func(r rune) bool { return !isWord(r) }) + 1
	f.Name, f.Type, f.Array = strings.TrimSpace(text[at:]), strings.TrimSpace(text[:at]), array
	word, _, _ := strings.Cut(f.Type, " ")
	switch word {
	case "__data_loc":
		f.Location = DataLoc
	case "__rel_loc":
		f.Location = RelLoc
	default:
		return
	}
	// "__data_loc char[] name": the brackets come before the name.
	f.Array = true
	if close := strings.LastIndexByte(declaration, ']'); close >= 0 && array {
		f.Name, f.Type = strings.TrimSpace(declaration[close+1:]), strings.TrimSpace(declaration[:close+1])
	}
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// parseSize takes sizes and offsets: no record is longer than 64 KiB.
func parseSize(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// Field finds a field by its name.
func (f *Format) Field(name string) (Field, bool) {
	for _, field := range f.Fields {
		if field.Name == name {
			return field, true
		}
	}
	return Field{}, false
}

// Uint reads a field of 1, 2, 4 or 8 bytes, a negative one as its 64-bit
// complement; false if the record is too short or the field is none.
func (f Field) Uint(record []byte) (uint64, bool) {
	b, ok := f.here(record)
	if !ok {
		return 0, false
	}
	switch f.Size {
	case 1:
		return f.extend(uint64(b[0])), true
	case 2:
		return f.extend(uint64(binary.NativeEndian.Uint16(b))), true
	case 4:
		return f.extend(uint64(binary.NativeEndian.Uint32(b))), true
	case 8:
		return binary.NativeEndian.Uint64(b), true
	}
	return 0, false
}

func (f Field) extend(v uint64) uint64 {
	if !f.Signed {
		return v
	}
	unused := 64 - 8*f.Size
	return uint64(int64(v<<unused) >> unused)
}

func (f Field) here(record []byte) ([]byte, bool) {
	if f.Size <= 0 || f.Offset < 0 || f.Offset+f.Size > len(record) {
		return nil, false
	}
	return record[f.Offset : f.Offset+f.Size], true
}

// Bytes are a field's data, followed to where they are; they share the record's memory.
func (f Field) Bytes(record []byte) ([]byte, bool) {
	b, ok := f.here(record)
	if !ok || f.Location == Here {
		return b, ok
	}
	if f.Size != locBytes {
		return nil, false
	}
	loc := binary.NativeEndian.Uint32(b)
	from, length := int(loc&0xffff), int(loc>>16)
	if f.Location == RelLoc {
		from += f.Offset + f.Size
	}
	if from+length > len(record) {
		return nil, false
	}
	return record[from : from+length], true
}

// Text is a field's data up to its first zero byte.
func (f Field) Text(record []byte) ([]byte, bool) {
	b, ok := f.Bytes(record)
	if !ok {
		return nil, false
	}
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return b, true
}
