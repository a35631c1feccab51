// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/iowitness/iowitness/diagnosis"
)

// DoctorSchemaNumber is the number of the diagnosis's format.
const DoctorSchemaNumber = 1

// WriteDoctor writes a diagnosis as one document, indented, and a newline.
func WriteDoctor(w io.Writer, r *diagnosis.Report) error {
	return writeIndented(w, doctor(r))
}

func writeIndented(w io.Writer, o object) error {
	b, err := o.append(nil)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	_, err = w.Write(indented.Bytes())
	return err
}

// doctor has exactly the keys of diagnosis.DocumentFields, in their order.
func doctor(r *diagnosis.Report) object {
	usable, used := []any{}, any(nil)
	for i := range r.Means {
		if r.Means[i].Verdict == diagnosis.Usable {
			usable = append(usable, r.Means[i].ID)
		}
		if r.Means[i].Used {
			used = r.Means[i].ID
		}
	}
	return byTable(diagnosis.DocumentFields, map[string]any{
		"schema": DoctorSchemaNumber, "version": quote(r.Version), "kernel": name(r.Kernel), "usable": usable, "used": used,
		"means": list(r.Means, doctorMeans), "verbs": list(r.Verbs, doctorVerb), "functions": list(r.Functions, doctorFunction),
		"facts": doctorFacts(r.Facts), "notes": quoted(r.Notes),
	})
}

// byTable puts values in the table's order; a key that is missing shows as null and fails the tests.
func byTable(fields []diagnosis.Field, values map[string]any) object {
	o := make(object, 0, len(fields))
	for i := range fields {
		o = append(o, member{fields[i].ID, values[fields[i].ID]})
	}
	return o
}

func doctorMeans(m *diagnosis.Means) any {
	return byTable(diagnosis.MeansFields, map[string]any{
		"id": m.ID, "title": quote(m.Title), "verdict": string(m.Verdict), "used": m.Used, "reason": name(m.Reason),
		"needs": quoted(m.Needs), "loses": quoted(m.Loses), "notes": quoted(m.Notes),
	})
}

func doctorVerb(v *diagnosis.Verb) any {
	return byTable(diagnosis.VerbFields, map[string]any{
		"id": v.ID, "title": quote(v.Title), "verdict": string(v.Verdict), "means": name(v.Means), "reason": name(v.Reason), "notes": quoted(v.Notes),
	})
}

func doctorFunction(f *diagnosis.Function) any {
	return byTable(diagnosis.FunctionFields, map[string]any{
		"name": quote(f.Name), "waits_for": quote(f.Waits), "flagged": f.Flagged, "module": name(f.Module),
		"symbols": quoted(f.Symbols), "not_seen": quoted(f.NotSeen), "arguments_changed": f.ArgumentsChanged, "copies": f.Copies,
		"blacklisted": f.Blacklisted, "traceable": f.Traceable, "denied": name(f.Denied), "note": name(f.Note),
		"means": list(f.Means, functionMeans),
	})
}

func functionMeans(m *diagnosis.FunctionMeans) any {
	return byTable(diagnosis.FunctionMeansFields, map[string]any{"id": m.ID, "verdict": string(m.Verdict), "reason": name(m.Reason)})
}

func doctorFacts(facts []diagnosis.Fact) object {
	o := object{}
	for i := range facts {
		f := &facts[i]
		o = append(o, member{f.ID, byTable(diagnosis.FactFields, map[string]any{"value": factValue(f.Value), "note": name(f.Note)})})
	}
	return o
}

// factValue quotes: a mount point may have any name.
func factValue(value any) any {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []string:
		return quoted(v)
	}
	return value
}
