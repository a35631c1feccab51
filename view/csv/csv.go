// SPDX-License-Identifier: Apache-2.0

// Package csv writes block requests for spreadsheets and data tools: a header and one
// record each (RFC 4180), with the keys and values of the JSON lines. What is not known is
// empty, and names are quoted as in every view.
package csv

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
)

// Lines writes block requests, one record each.
type Lines struct {
	out    *csv.Writer
	lines  request.Lines
	record []string
}

// NewLines begins a list. A clock without Zero is set by the first request.
func NewLines(w io.Writer, names request.Names, clock request.Clock) *Lines {
	return &Lines{out: csv.NewWriter(w), lines: request.Lines{Names: names, Clock: clock}, record: make([]string, len(request.LineFields))}
}

// Header writes the names of the fields.
func (l *Lines) Header() error {
	for i := range request.LineFields {
		l.record[i] = request.LineFields[i].ID
	}
	return l.out.Write(l.record)
}

// Write writes a request.
func (l *Lines) Write(o *event.IO) error {
	line := l.lines.Of(o)
	for i := range request.LineFields {
		f := &request.LineFields[i]
		l.record[i] = value(f.Kind, f.Value(line))
	}
	return l.out.Write(l.record)
}

// Flush writes out what is buffered.
func (l *Lines) Flush() error {
	l.out.Flush()
	return l.out.Error()
}

func value(kind snapshot.Kind, v snapshot.Value) string {
	switch {
	case !v.Known:
		return ""
	case kind == snapshot.Boolean:
		return strconv.FormatBool(v.Bool)
	case kind == snapshot.Integer:
		return strconv.FormatUint(v.Int, 10)
	case kind == snapshot.Number:
		return strconv.FormatFloat(v.Num, 'f', -1, 64)
	}
	return identity.Quote(v.Text)
}
