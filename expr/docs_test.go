// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

const reference = "../docs/EXPRESSIONS.md"

// rows are the first cells of a table under a heading, as many as are asked.
func rows(t *testing.T, heading string, cells int) [][]string {
	t.Helper()
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Skip("the page is not here: ", err)
	}
	_, part, found := strings.Cut(string(page), heading)
	if !found {
		t.Fatalf("no %q in %s", heading, reference)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	var out [][]string
	for line := range strings.Lines(part) {
		row := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(row) < cells+2 || strings.Contains(row[1], "---") {
			continue
		}
		for i := range row {
			row[i] = strings.TrimSpace(strings.ReplaceAll(row[i], "\x00", "|"))
		}
		out = append(out, row[1:cells+1])
	}
	if len(out) < 3 {
		t.Fatalf("no table after %q", heading)
	}
	return out[1:]
}

var inCode = regexp.MustCompile("`([^`]+)`")

func code(cell string) (out []string) {
	for _, found := range inCode.FindAllStringSubmatch(cell, -1) {
		out = append(out, found[1])
	}
	return out
}

// TestReferencesExamples: each example is right for this kernel's function, and compiles.
func TestReferencesExamples(t *testing.T) {
	types := kernelTypes(t)
	for _, row := range rows(t, "# Filters and fields", 2) {
		var function *btf.Func
		if err := types.TypeByName(code(row[0])[0], &function); err != nil {
			t.Fatal(row, err)
		}
		scope := &Scope{Function: function, Types: types}
		text := code(row[1])[0]
		field, err := scope.Field(text)
		if err != nil {
			t.Error(err)
			continue
		}
		filter, err := scope.Filter(text)
		if err != nil && field.Kind != Struct {
			t.Error(err)
		}
		program, err := Compile(filter, []*Field{field})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		r := newRunner(t)
		r.all(t, program, false).close()
	}
}

// TestReferencesOperators: they are those of the parser, in its order.
func TestReferencesOperators(t *testing.T) {
	var got []string
	for _, row := range rows(t, "## Operators", 1) {
		got = append(got, code(row[0])...)
	}
	if !slices.Equal(got, Operators) {
		t.Errorf("%q, want %q", got, Operators)
	}
}

// TestReferencesNames: all built-in names are there, and no others are said to be.
func TestReferencesNames(t *testing.T) {
	var got []string
	for _, row := range rows(t, "## Names", 1) {
		got = append(got, code(row[0])...)
	}
	for _, name := range got {
		if _, err := made(cInt).Filter(name); err != nil && name != "comm" && name != "count" && name != "TCP_ESTABLISHED" {
			t.Error(err)
		}
	}
	for _, name := range builtins {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not told", name)
		}
	}
	var values []string
	for _, row := range rows(t, "## Values", 1) {
		values = append(values, code(row[0])...)
	}
	for _, text := range values {
		tokens, err := scan(text)
		if err != nil || len(tokens) != 2 {
			t.Errorf("%s: %v", text, err)
		}
	}
	for unit := range units {
		if !slices.ContainsFunc(values, func(text string) bool { return strings.TrimLeft(text, "0123456789") == unit }) {
			t.Errorf("the unit %q is not told", unit)
		}
	}
}
