// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func TestFieldTables(t *testing.T) {
	for name, fields := range map[string][]Field{"rows": RowFields, "document": DocumentFields, "in progress": InProgressFields, "cause": CauseFields, "request": RequestFields} {
		ids, titles := map[string]bool{}, map[string]bool{}
		for _, f := range fields {
			lint(t, name, &f)
			if ids[f.ID] || f.Title != "" && titles[f.Title] {
				t.Errorf("%s: %s or its title %q is there twice", name, f.ID, f.Title)
			}
			ids[f.ID], titles[f.Title] = true, true
		}
	}
}

func lint(t *testing.T, table string, f *Field) {
	t.Helper()
	if !idPattern.MatchString(f.ID) {
		t.Errorf("%s: %q is no id", table, f.ID)
	}
	if (f.Unit == Nanoseconds) != strings.HasSuffix(f.ID, "_ns") {
		t.Errorf("%s: %s: _ns is for nanoseconds and for nothing else", table, f.ID)
	}
	if strings.HasSuffix(f.ID, "percent") != (f.Unit == Percent) {
		t.Errorf("%s: %s: percent is for percentages and for nothing else", table, f.ID)
	}
	if f.Unit == Nanoseconds && f.Kind != Integer {
		t.Errorf("%s: %s: nanoseconds are integers", table, f.ID)
	}
	if f.Help == "" || strings.Contains(f.Help, "\n") || !strings.HasSuffix(f.Help, ".") {
		t.Errorf("%s: %s: help is one line that ends in a full stop: %q", table, f.ID, f.Help)
	}
	if f.Kind == "" || f.Where == 0 {
		t.Errorf("%s: %s lacks a kind or a place", table, f.ID)
	}
	if f.Title != "" && (f.Width == 0 || f.Priority == 0) {
		t.Errorf("%s: column %s lacks a width or a priority", table, f.ID)
	}
}

func TestColumns(t *testing.T) {
	for key := range keyNames {
		fields, err := Columns([]Key{Key(key)}, []string{"exe", "exe"})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, f := range fields {
			seen[f.ID]++
		}
		for _, id := range append([]string{"count", "total_ns", "max_ns", "runqueue_ns", "flagged", "exe"}, KeyFields(Key(key))...) {
			if seen[id] != 1 {
				t.Errorf("by %s: column %s is there %d times", Key(key), id, seen[id])
			}
		}
	}
	if _, err := Columns(nil, []string{"stack"}); err == nil {
		t.Error("a field without a title is no column")
	}
}

func TestKeysParse(t *testing.T) {
	for i, name := range KeyNames() {
		if k, err := ParseKey(name); err != nil || k != Key(i) || k.String() != name {
			t.Errorf("%s: %v, %v", name, k, err)
		}
	}
	if _, err := ParseKey("nonsense"); err == nil || !strings.Contains(err.Error(), "container") {
		t.Errorf("%v", err)
	}
}

func TestReferenceHasEveryField(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFieldReference(&b); err != nil {
		t.Fatal(err)
	}
	for _, fields := range [][]Field{RowFields, DocumentFields, InProgressFields, CauseFields, RequestFields} {
		for _, f := range fields {
			if !strings.Contains(b.String(), f.Help) {
				t.Errorf("%s is missing", f.ID)
			}
		}
	}
}
