// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
)

const (
	restWords    = "(not told apart)"
	stackedWords = " (stacked)"
)

// table shows rows by the fields that have something to tell.
func (p *requestsPage) table(title string, rows []request.Row, ids []string) {
	if len(rows) == 0 {
		return
	}
	var infos []request.Info
	cells := make([][]string, len(rows))
	for _, id := range ids {
		f := request.RowFieldByID(id)
		var cellsOf []string
		tells := id == "requests" || isRowName(id)
		for i := range rows {
			c := p.rowCell(f, &rows[i])
			cellsOf = append(cellsOf, c)
			tells = tells || c != unknown && c != "0" && c != Duration(0)
		}
		if !tells {
			continue
		}
		infos = append(infos, f.Info)
		for i, c := range cellsOf {
			cells[i] = append(cells[i], c)
		}
	}
	p.section(title)
	p.grid(infos, cells)
}

func isRowName(id string) bool {
	return id == "device" || id == "comm" || id == "cgroup" || id == "file" || id == "op"
}

func (p *requestsPage) rowCell(f *request.Field[request.NamedRow], r *request.Row) string {
	if isRowName(f.ID) {
		switch {
		case r.Others > 0:
			return Count(uint64(r.Others)) + " more"
		case r.Rest && r.Stacked:
			return restWords + stackedWords
		case r.Rest:
			return restWords
		}
	}
	if f.ID == "file" && r.File.Source == event.NoFile {
		return "(none)"
	}
	v := f.Value(request.NamedRow{Row: r, Names: p.names, Summary: p.s})
	switch {
	case f.ID == "file" && !v.Known:
		return fileName("", r.File.Ino, r.File.Source)
	case f.ID == "cgroup" && !v.Known && r.Cgroup != 0:
		return "id " + strconv.FormatUint(r.Cgroup, 10)
	case f.ID == "device" && len(r.Via) > 0:
		var via []string
		for _, dev := range r.Via {
			via = append(via, deviceName(p.names, dev))
		}
		return quote(v.Text) + " (via " + strings.Join(via, ", ") + ")"
	case f.ID == "device" && r.Stacked:
		return quote(v.Text) + stackedWords
	}
	return summaryScalar(&f.Info, v)
}

func summaryScalar(f *request.Info, v snapshot.Value) string {
	switch {
	case !v.Known:
		return unknown
	case f.Kind == snapshot.Text:
		return quote(v.Text)
	case f.Unit == snapshot.Nanoseconds:
		return Duration(v.Int)
	case f.Unit == snapshot.Percent:
		return Percent(v.Num)
	case f.Unit == request.Bytes && f.Kind == snapshot.Number:
		return Bytes(uint64(v.Num+0.5)) + "/s"
	case f.Unit == request.Bytes:
		return Bytes(v.Int)
	case f.Kind == snapshot.Number:
		return rateWords(v.Num)
	case f.Unit == snapshot.ID:
		return strconv.FormatUint(v.Int, 10)
	}
	return Count(v.Int)
}

// grid lays cells out below their titles.
func (p *requestsPage) grid(infos []request.Info, cells [][]string) {
	columns := make([]column, len(infos))
	for i := range infos {
		f := &infos[i]
		columns[i] = column{
			Field:   &snapshot.Field{ID: strconv.Itoa(i), Title: f.Title, Right: f.Right, Width: f.Width, Flex: f.Flex, Priority: f.Priority},
			natural: columnsOf(f.Title),
		}
		for _, row := range cells {
			columns[i].natural = max(columns[i].natural, columnsOf(row[i]))
		}
	}
	columns = layout(columns, p.width)
	p.add(join(columns, titles(columns), p.width), bold)
	for _, row := range cells {
		shown := make([]string, len(columns))
		for i, c := range columns {
			at, _ := strconv.Atoi(c.ID) // set above
			shown[i] = row[at]
			if c.Flex {
				shown[i] = fitPath(shown[i], c.width)
			}
			shown[i] = cut(shown[i], c.width)
		}
		p.add(join(columns, shown, p.width), plain)
	}
}
