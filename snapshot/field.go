// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	"github.com/iowitness/iowitness/spelling"
)

// Unit is what a field's number counts.
type Unit string

// The units. A field in nanoseconds has an id that ends in _ns.
const (
	NoUnit      Unit = ""
	Nanoseconds Unit = "ns"
	Count       Unit = "count"
	Percent     Unit = "percent"
	ID          Unit = "id" // a number that names something
)

// Kind is the type of a field's value.
type Kind string

// The kinds.
const (
	Text    Kind = "text"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Object  Kind = "object"
	List    Kind = "list"
)

// Where says which views show a field.
type Where uint8

// The places. A field with neither InTable nor AsKey can be asked for by its id if it has a Title.
const (
	InJSON  Where = 1 << iota
	InTable       // by default
	AsKey         // where rows are grouped by it
)

// Field describes one output field, once for all views.
type Field struct {
	ID    string // JSON key
	Title string // column header; empty: no column
	Unit  Unit
	Kind  Kind
	Help  string // one line
	Where Where

	Right     bool // aligned to the right
	Width     int  // at least, in columns; a Flex column shrinks to it
	Flex      bool // takes the space that is left
	Priority  int  // columns of lower priority go first where space is short
	Estimable bool // an estimate in rows that are not Exact

	// Value of a row; nil where a view composes it.
	Value func(*Row) Value
}

// Value is a field's value in one row.
type Value struct {
	Known bool // false: null, "-" or left out, and never zero
	Text  string
	Int   uint64
	Num   float64
	Bool  bool
}

func integer(n uint64) Value            { return Value{Known: true, Int: n} }
func integerIf(ok bool, n uint64) Value { return Value{Known: ok, Int: n} }
func number(f float64) Value            { return Value{Known: true, Num: f} }
func boolean(b bool) Value              { return Value{Known: true, Bool: b} }
func text(s string) Value               { return Value{Known: s != "", Text: s} }

// FieldByID finds a field of rows.
func FieldByID(id string) (*Field, bool) {
	i := slices.IndexFunc(RowFields, func(f Field) bool { return f.ID == id })
	if i < 0 {
		return nil, false
	}
	return &RowFields[i], true
}

// keyFields are the columns that lead a row, by key.
var keyFields = map[Key][]string{
	ByProcess:   {"pid", "comm"},
	ByThread:    {"pid", "tid", "comm"},
	ByUser:      {"user"},
	ByCgroup:    {"cgroup"},
	ByContainer: {"container"},
	ByCause:     {"cause"},
	ByDevice:    {"device"},
	ByFile:      {"file"},
}

// KeyFields are the ids of the columns that tell a key's value.
func KeyFields(k Key) []string { return keyFields[k] }

// Columns are the fields of a table whose rows are grouped by some keys: the
// keys', the default ones, those asked for, and what was waited on.
func Columns(by []Key, asked []string) ([]*Field, error) {
	var ids []string
	for _, key := range by {
		ids = append(ids, keyFields[key]...)
	}
	for i := range RowFields {
		if f := &RowFields[i]; f.Where&InTable != 0 && !f.Flex {
			ids = append(ids, f.ID)
		}
	}
	ids = append(ids, asked...)
	if !slices.Contains(by, ByProcess) && !slices.Contains(by, ByThread) {
		ids = append(ids, "waited_by")
	}
	if !slices.Contains(by, ByCause) || !slices.Contains(by, ByDevice) || !slices.Contains(by, ByFile) {
		ids = append(ids, "waited_for")
	}
	return columnsOf(ids)
}

func columnsOf(ids []string) ([]*Field, error) {
	var fields []*Field
	for _, id := range ids {
		f, ok := FieldByID(id)
		if !ok || f.Title == "" {
			return nil, spelling.Unknown("there is no column", id, columnIDs())
		}
		if !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	return fields, nil
}

func columnIDs() []string {
	var ids []string
	for _, f := range RowFields {
		if f.Title != "" {
			ids = append(ids, f.ID)
		}
	}
	return ids
}
