// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"

	"github.com/iowitness/iowitness/snapshot"
)

// table is the rows as lines: a header, and for each row its line and what was asked for beneath it.
func table(s *snapshot.Snapshot, o *Options) (header line, rows [][]line, err error) {
	fields, err := snapshot.Columns(s.By, o.Columns)
	if err != nil {
		return line{}, nil, err
	}
	columns := make([]column, len(fields))
	for i, f := range fields {
		columns[i] = column{Field: f, natural: max(columnsOf(f.Title), f.Width*btoi(!f.Flex))}
		for j := range s.Rows {
			columns[i].natural = max(columns[i].natural, columnsOf(rowCell(s, f, &s.Rows[j], 0)))
		}
	}
	columns = layout(columns, o.Width)
	header = line{join(columns, titles(columns), o.Width), bold}
	for i := range s.Rows {
		rows = append(rows, rowLines(s, &s.Rows[i], columns, o))
	}
	return header, rows, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func titles(columns []column) []string {
	var list []string
	for _, c := range columns {
		list = append(list, cut(c.Title, c.width))
	}
	return list
}

func rowLines(s *snapshot.Snapshot, r *snapshot.Row, columns []column, o *Options) []line {
	var cells []string
	for _, c := range columns {
		cells = append(cells, cut(rowCell(s, c.Field, r, c.width), c.width))
	}
	lines := []line{{join(columns, cells, o.Width), plain}}
	if o.Histogram {
		lines = append(lines, histogramLines(r, o.Width)...)
	}
	if o.Stacks {
		lines = append(lines, joinLines(r, o.Width)...)
		lines = append(lines, stackLines(r, o.Width)...)
	}
	return lines
}

// rowCell is cell, but for the last row, which has a count of rows for a name.
func rowCell(s *snapshot.Snapshot, f *snapshot.Field, r *snapshot.Row, columns int) string {
	if r.Others > 0 && f.Where&snapshot.AsKey != 0 {
		if f.ID == lastKeyField(s.By) {
			return fmt.Sprintf("%s more", Count(uint64(r.Others)))
		}
		return ""
	}
	c := cell(s, f, r, columns)
	if c == unknown && f.Kind == snapshot.Text && isKey(s.By, f) {
		return "(none)"
	}
	return c
}

func isKey(by []snapshot.Key, f *snapshot.Field) bool {
	return slices.ContainsFunc(by, func(k snapshot.Key) bool { return slices.Contains(snapshot.KeyFields(k), f.ID) })
}

// lastKeyField is the key column that every width keeps longest.
func lastKeyField(by []snapshot.Key) string {
	fields, err := snapshot.Columns(by, nil)
	if err != nil {
		return ""
	}
	var best *snapshot.Field
	for _, f := range fields {
		if f.Where&snapshot.AsKey != 0 && (best == nil || f.Priority > best.Priority) {
			best = f
		}
	}
	return best.ID
}
