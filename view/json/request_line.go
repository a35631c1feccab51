// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
)

// Lines writes block requests, one object a line.
type Lines struct {
	out   io.Writer
	lines request.Lines
	b     []byte
}

// NewLines begins a list. A clock without Zero is set by the first request.
func NewLines(out io.Writer, names request.Names, clock request.Clock) *Lines {
	return &Lines{out: out, lines: request.Lines{Names: names, Clock: clock}}
}

// Write writes a request, in one call of the writer.
func (l *Lines) Write(o *event.IO) (err error) {
	line := l.lines.Of(o)
	if l.b, err = valuesOf(request.LineFields, line, nil).append(l.b[:0]); err != nil {
		return err
	}
	l.b = append(l.b, '\n')
	_, err = l.out.Write(l.b)
	return err
}

// valuesOf has exactly the keys of a table of fields, in their order; composed makes those
// that have no single value.
func valuesOf[T any](fields []request.Field[T], of T, composed map[string]any) object {
	o := make(object, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		value := composed[f.ID]
		if f.Value != nil {
			value = scalarOf(f.Kind, f.Value(of))
		}
		o = append(o, member{f.ID, value})
	}
	return o
}

func scalarOf(kind snapshot.Kind, v snapshot.Value) any {
	return scalar(&snapshot.Field{Kind: kind}, v)
}

// WriteLineSchema writes the JSON Schema of a line of Lines.
func WriteLineSchema(w io.Writer) error {
	return writeSchema(w, "A block request", schemaOf(described(request.Infos(request.LineFields)), nil))
}

func writeSchema(w io.Writer, title string, of object) error {
	s := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}}
	return writeIndented(w, append(s, of...))
}

// described puts fields in the terms of the maker of schemas.
func described(infos []request.Info) []diagnosis.Field {
	fields := make([]diagnosis.Field, len(infos))
	for i := range infos {
		f := &infos[i]
		kind := diagnosis.Kind(f.Kind)
		if f.Kind == snapshot.Text {
			kind = diagnosis.Text
		}
		fields[i] = diagnosis.Field{ID: f.ID, Kind: kind, Nullable: f.Nullable, Help: f.Help}
	}
	return fields
}
