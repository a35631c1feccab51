// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"

	"github.com/iowitness/iowitness/diagnosis"
)

// CatalogSchemaNumber is the number of the format of WriteCatalog.
const CatalogSchemaNumber = 1

// WriteCatalog writes what can be probed as one document, indented, and a newline.
func WriteCatalog(w io.Writer, c *diagnosis.Catalog) error {
	return writeIndented(w, byTable(diagnosis.CatalogFields, map[string]any{
		"schema": CatalogSchemaNumber, "version": quote(c.Version), "kernel": name(c.Kernel), "patterns": quoted(c.Patterns),
		"matched": c.Matched, "refused": c.Refused, "notes": quoted(c.Notes),
		"means": list(c.Means, func(m *diagnosis.CatalogMeans) any {
			return byTable(diagnosis.CatalogMeansFields, map[string]any{
				"id": m.ID, "verdict": string(m.Verdict), "reason": name(m.Reason), "functions": m.Functions,
			})
		}),
		"functions": list(c.Functions, probeable), "tracepoints": list(c.Tracepoints, tracepoint), "structs": list(c.Structs, structure),
	}))
}

func probeable(p *diagnosis.Probeable) any {
	values := map[string]any{
		"name": quote(p.Name), "module": name(p.Module), "signature": name(p.Signature), "returns": name(p.Returns),
		"symbols": quoted(p.Symbols), "not_seen": quoted(p.NotSeen), "arguments_changed": p.Changed, "copies": p.Copies,
		"blacklisted": p.Blacklisted, "traceable": p.Traceable, "denied": name(p.Denied),
		"means": list(p.Means, functionMeans),
	}
	if p.Signature != "" {
		values["arguments"] = list(p.Arguments, typed)
	}
	return byTable(diagnosis.ProbeableFields, values)
}

func typed(t *diagnosis.Typed) any {
	return byTable(diagnosis.TypedFields, map[string]any{"name": quote(t.Name), "type": quote(t.Type)})
}

func tracepoint(t *diagnosis.Tracepoint) any {
	values := map[string]any{"group": name(t.Group), "name": quote(t.Name)}
	if t.Fields != nil {
		values["fields"] = list(t.Fields, func(f *diagnosis.RecordField) any {
			return byTable(diagnosis.RecordFieldFields, map[string]any{"name": quote(f.Name), "type": quote(f.Type), "offset": f.Offset, "size": f.Size})
		})
	}
	if t.Arguments != nil {
		values["arguments"] = list(t.Arguments, typed)
	}
	return byTable(diagnosis.TracepointFields, values)
}

func structure(s *diagnosis.Struct) any {
	return byTable(diagnosis.StructFields, map[string]any{
		"function": quote(s.Function), "value": quote(s.Value), "type": quote(s.Type),
		"members": list(s.Members, func(m *diagnosis.StructMember) any {
			return byTable(diagnosis.StructMemberFields, map[string]any{"path": quote(m.Path), "type": quote(m.Type), "offset": m.Offset, "bits": m.Bits})
		}),
	})
}

// WriteCatalogSchema writes the JSON Schema of WriteCatalog, made from the tables of its fields.
func WriteCatalogSchema(w io.Writer) error {
	of := func(fields []diagnosis.Field, more map[string]object) object {
		return object{{"items", schemaOf(fields, more)}}
	}
	return writeSchema(w, "What can be probed on this host", schemaOf(diagnosis.CatalogFields, map[string]object{
		"means": of(diagnosis.CatalogMeansFields, verdicts()),
		"functions": of(diagnosis.ProbeableFields, map[string]object{
			"arguments": of(diagnosis.TypedFields, nil), "means": of(diagnosis.FunctionMeansFields, verdicts()),
		}),
		"tracepoints": of(diagnosis.TracepointFields, map[string]object{
			"fields": of(diagnosis.RecordFieldFields, nil), "arguments": of(diagnosis.TypedFields, nil),
		}),
		"structs": of(diagnosis.StructFields, map[string]object{"members": of(diagnosis.StructMemberFields, nil)}),
	}))
}
