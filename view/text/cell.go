// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"

	"github.com/iowitness/iowitness/snapshot"
)

const unknown = "-"

// cellFunc renders a field that needs more than its value; columns 0 is no limit.
type cellFunc func(s *snapshot.Snapshot, r *snapshot.Row, columns int) string

var composed = map[string]cellFunc{
	"cause":       func(_ *snapshot.Snapshot, r *snapshot.Row, n int) string { return cut(causeCell(r), n) },
	"file":        func(_ *snapshot.Snapshot, r *snapshot.Row, n int) string { return fileCell(r, n) },
	"flagged":     func(_ *snapshot.Snapshot, r *snapshot.Row, _ int) string { return flaggedCell(r) },
	"in_progress": func(_ *snapshot.Snapshot, r *snapshot.Row, _ int) string { return Count(uint64(r.Pending.Count)) },
	"waited_by":   func(_ *snapshot.Snapshot, r *snapshot.Row, n int) string { return cut(waitedBy(r), n) },
	"waited_for": func(s *snapshot.Snapshot, r *snapshot.Row, n int) string {
		if r.Others > 0 {
			return waitedFor(r, nil, n)
		}
		return waitedFor(r, s.By, n)
	},
}

func causeCell(r *snapshot.Row) string {
	if len(r.Causes) == 0 {
		return unknown
	}
	return causeWords(&r.Top)
}

func fileCell(r *snapshot.Row, columns int) string {
	name := fileName(r.Top.File, r.Top.Inode, r.Top.FileSource)
	if name == "" {
		return unknown
	}
	return fitPath(name, columns)
}

func flaggedCell(r *snapshot.Row) string {
	switch {
	case !r.FlagKnown():
		return unknown
	case r.FlaggedNS == 0:
		return "no"
	case r.FlaggedNS >= r.Total:
		return "yes"
	}
	if !r.Exact {
		return "~" + share(r.FlaggedNS, r.Total)
	}
	return share(r.FlaggedNS, r.Total)
}

// cell renders a field of a row.
func cell(s *snapshot.Snapshot, f *snapshot.Field, r *snapshot.Row, columns int) string {
	if render := composed[f.ID]; render != nil {
		return render(s, r, columns)
	}
	v := f.Value(r)
	if !v.Known {
		return unknown
	}
	if f.Estimable && !r.Exact {
		return "~" + scalar(f, v, columns)
	}
	return scalar(f, v, columns)
}

func scalar(f *snapshot.Field, v snapshot.Value, columns int) string {
	switch {
	case f.Kind == snapshot.Text && f.Flex:
		return fitPath(quote(v.Text), columns)
	case f.Kind == snapshot.Text:
		return quote(v.Text)
	case f.Kind == snapshot.Boolean && v.Bool:
		return "yes"
	case f.Kind == snapshot.Boolean:
		return "no"
	case f.Unit == snapshot.Nanoseconds:
		return Duration(v.Int)
	case f.Unit == snapshot.Percent:
		return Percent(v.Num)
	case f.Unit == snapshot.ID:
		return strconv.FormatUint(v.Int, 10)
	}
	return Count(v.Int)
}
