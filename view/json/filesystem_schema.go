// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"
	"slices"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/filesystem"
)

// WriteFilesystemSchema writes the JSON Schema of the reports on file systems, made from
// the tables of their fields.
func WriteFilesystemSchema(w io.Writer) error {
	s := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Calls to file systems, as iowitness fs tells them"},
	}
	return writeIndented(w, append(s, schemaOf(filesystem.DocumentFields, map[string]object{
		"mounts": {{"items", schemaOf(filesystem.MountFields, map[string]object{
			"operations": {{"items", schemaOf(filesystem.CallFields, nil)}},
			"sync":       nullable(divisionSchema()),
			"journal":    nullable(schemaOf(filesystem.JournalFields, nil)),
			"flushes":    nullable(schemaOf(filesystem.FlushFields, nil)),
		})}},
		"files":     {{"items", fileSchema()}},
		"under_way": {{"items", schemaOf(filesystem.UnderWayFields, nil)}},
		"compared":  nullable(comparedSchema()),
		"lost":      {{"additionalProperties", object{{"type", "object"}}}},
		"notes":     {{"items", object{{"type", "string"}}}},
	})...))
}

// nullable is an object's schema without its type, which the field's own says with null.
func nullable(o object) object {
	return slices.DeleteFunc(o, func(m member) bool { return m.key == "type" })
}

func divisionSchema() object {
	return schemaOf(filesystem.DivisionFields, map[string]object{"causes": {{"items", schemaOf(filesystem.CauseFields, nil)}}})
}

func fileSchema() object {
	fields := slices.Concat(filesystem.FileFields, filesystem.CallFields, []diagnosis.Field{
		{ID: "sync", Kind: diagnosis.Object, Nullable: true, Help: "Where the time of those calls went that synchronize; null: there were none."},
	})
	return schemaOf(fields, map[string]object{"sync": nullable(divisionSchema())})
}

func comparedSchema() object {
	return schemaOf(filesystem.ComparedFields, map[string]object{
		"operations": {{"items", schemaOf(filesystem.PairFields, nil)}},
		"sync_parts": {{"items", schemaOf(filesystem.PartFields, nil)}},
	})
}
