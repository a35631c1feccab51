// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"

	"github.com/iowitness/iowitness/profile"
)

// WriteProfileSchema writes the JSON Schema of profiles, made from the tables of their fields.
func WriteProfileSchema(w io.Writer) error {
	functions := object{{"items", schemaOf(profile.FunctionFields, nil)}}
	processes := object{{"items", schemaOf(profile.ProcessFields, map[string]object{"functions": functions})}}
	stacks := object{{"items", schemaOf(profile.StackFields, map[string]object{
		"frames": {{"items", schemaOf(profile.FrameFields, nil)}},
	})}}
	s := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Profiles, as iowitness cpu, offcpu and runq tell them"},
	}
	return writeIndented(w, append(s, schemaOf(profile.DocumentFields, map[string]object{
		"functions": functions, "processes": processes, "threads": processes, "stacks": stacks,
		"lost":  nullable(schemaOf(profile.LostFields, nil)),
		"notes": {{"items", object{{"type", "string"}}}},
	})...))
}
