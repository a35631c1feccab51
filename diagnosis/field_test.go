// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"regexp"
	"strings"
	"testing"
)

// TestFieldsAreWellDescribed: ids are JSON keys, unique in their object, and each says what it means.
func TestFieldsAreWellDescribed(t *testing.T) {
	id := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for name, fields := range map[string][]Field{
		"document": DocumentFields, "means": MeansFields, "functions": FunctionFields,
		"function's means": FunctionMeansFields, "fact": FactFields, "facts": FactTable,
	} {
		seen := map[string]bool{}
		for _, f := range fields {
			if !id.MatchString(f.ID) || seen[f.ID] {
				t.Errorf("%s: id %q", name, f.ID)
			}
			seen[f.ID] = true
			if !strings.HasSuffix(f.Help, ".") || strings.ContainsAny(f.Help, "|\n") {
				t.Errorf("%s of %s: help %q", f.ID, name, f.Help)
			}
			if name == "facts" && f.Title == "" {
				t.Errorf("fact %s has no title", f.ID)
			}
		}
	}
	if FactByID("lockdown") == nil || FactByID("nonsense") != nil {
		t.Error("facts are not found by id")
	}
}

func TestAnyUsable(t *testing.T) {
	r := Report{Means: []Means{{Verdict: Unusable}, {Verdict: Untried}}}
	if r.AnyUsable() {
		t.Error("untried is not usable")
	}
	r.Means = append(r.Means, Means{Verdict: Usable})
	if !r.AnyUsable() {
		t.Error("the last one is usable")
	}
}
