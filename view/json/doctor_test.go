// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/diagnosis/diagnosistest"
)

func doctorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDoctorSchema(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doctor.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doctor.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withAllFacts fills in the facts that a fixture leaves out, as unknown where they may be.
func withAllFacts(r *diagnosis.Report) *diagnosis.Report {
	given := map[string]diagnosis.Fact{}
	for _, f := range r.Facts {
		given[f.ID] = f
	}
	r.Facts = nil
	for _, f := range diagnosis.FactTable {
		fact, ok := given[f.ID]
		if !ok {
			fact = diagnosis.Fact{ID: f.ID}
			if !f.Nullable {
				fact.Value = "unknown"
			}
		}
		r.Facts = append(r.Facts, fact)
	}
	return r
}

func TestDoctorDocumentsFitTheSchema(t *testing.T) {
	schema := doctorSchema(t)
	for name, r := range map[string]*diagnosis.Report{
		"locked down": diagnosistest.LockedDown(), "hostile": diagnosistest.Hostile(), "nothing": diagnosistest.Nothing(),
	} {
		var b bytes.Buffer
		if err := WriteDoctor(&b, withAllFacts(r)); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) || bytes.ContainsAny(b.Bytes(), "\x1b<\u202e") {
			t.Errorf("%s: not quoted: %q", name, b.Bytes())
		}
		document, err := jsonschema.UnmarshalJSON(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDoctorDocument(t *testing.T) {
	var b bytes.Buffer
	if err := WriteDoctor(&b, diagnosistest.LockedDown()); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Schema int
		Kernel string
		Usable []string
		Used   string
		Means  []struct {
			ID, Verdict string
			Reason      *string
			Loses       []string
		}
		Functions []struct {
			Name             string
			Symbols          []string
			ArgumentsChanged bool `json:"arguments_changed"`
		}
		Facts map[string]struct {
			Value any
			Note  *string
		}
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != DoctorSchemaNumber || d.Kernel != "6.12.1" || d.Used != "tp_btf" {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff([]string{"tp_btf", "tp"}, d.Usable); diff != "" {
		t.Error(diff)
	}
	if m := d.Means[2]; m.ID != "fexit" || m.Verdict != "unusable" || m.Reason == nil || d.Means[0].Reason != nil || d.Means[0].Loses == nil {
		t.Errorf("%+v", d.Means)
	}
	if f := d.Functions[1]; !f.ArgumentsChanged || len(f.Symbols) != 1 {
		t.Errorf("%+v", f)
	}
	facts := map[string]any{"lockdown": "integrity", "btf_bytes": 5515236.0, "ring_buffer": true, "task_storage": nil, "capabilities_missing": []any{}}
	for id, want := range facts {
		if diff := cmp.Diff(want, d.Facts[id].Value); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}
