// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"

	"github.com/iowitness/iowitness/diagnosis"
)

// WriteDoctorSchema writes the JSON Schema of the diagnosis, made from the
// tables of its fields.
func WriteDoctorSchema(w io.Writer) error {
	s := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "What this host can do for iowitness"},
	}
	return writeIndented(w, append(s, schemaOf(diagnosis.DocumentFields, map[string]object{
		"means": {{"items", schemaOf(diagnosis.MeansFields, verdicts())}},
		"verbs": {{"items", schemaOf(diagnosis.VerbFields, verdicts())}},
		"functions": {{"items", schemaOf(diagnosis.FunctionFields, map[string]object{
			"means": {{"items", schemaOf(diagnosis.FunctionMeansFields, verdicts())}},
		})}},
		"usable": {{"items", object{{"type", "string"}}}},
		"facts":  factsSchema(),
	})...))
}

func verdicts() map[string]object {
	return map[string]object{"verdict": {{"enum", []any{string(diagnosis.Usable), string(diagnosis.Unusable), string(diagnosis.Untried)}}}}
}

// schemaOf describes an object with exactly the keys of a table; more says what a table does not.
func schemaOf(fields []diagnosis.Field, more map[string]object) object {
	properties, required := object{}, []any{}
	for i := range fields {
		f := &fields[i]
		extra, known := more[f.ID]
		if f.Kind == diagnosis.List && !known {
			extra = object{{"items", object{{"type", "string"}}}}
		}
		p := append(object{{"description", f.Help}, {"type", jsonType(f)}}, extra...)
		properties = append(properties, member{f.ID, p})
		required = append(required, f.ID)
	}
	return object{{"type", "object"}, {"additionalProperties", false}, {"required", required}, {"properties", properties}}
}

func jsonType(f *diagnosis.Field) any {
	kind := string(f.Kind)
	if f.Kind == diagnosis.List {
		kind = "array"
	}
	if f.Nullable {
		return []any{kind, "null"}
	}
	return kind
}

// factsSchema is an object for each fact, whose value is of the fact's type.
func factsSchema() object {
	properties, required := object{}, []any{}
	for i := range diagnosis.FactTable {
		fact := &diagnosis.FactTable[i]
		fields := append([]diagnosis.Field(nil), diagnosis.FactFields...)
		for j := range fields {
			if fields[j].ID == "value" {
				fields[j].Kind, fields[j].Nullable, fields[j].Help = fact.Kind, fact.Nullable, fact.Help
			}
		}
		properties = append(properties, member{fact.ID, schemaOf(fields, nil)})
		required = append(required, fact.ID)
	}
	return object{{"additionalProperties", false}, {"required", required}, {"properties", properties}}
}
