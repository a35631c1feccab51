// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
)

// WriteSchedulingSchema writes the JSON Schema of a kind's reports, made from the tables of their fields.
func WriteSchedulingSchema(w io.Writer, kind profile.Kind) error {
	words := map[profile.Kind]string{profile.CPU: "What runs", profile.OffCPU: "Time off the CPU", profile.RunQ: "Waits for a CPU"}[kind]
	s := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", words + ", as iowitness " + string(kind) + " tells it"},
	}
	more := map[string]object{
		"lost":  {{"additionalProperties", object{{"type", "object"}}}},
		"notes": {{"items", object{{"type", "string"}}}},
	}
	items := func(o object) object { return object{{"items", o}} }
	if kind == profile.RunQ {
		part := schemaOf(scheduling.PartFields, nil)
		queue := items(schemaOf(scheduling.QueueFields, map[string]object{"woken": nullable(part), "preempted": nullable(part)}))
		more["processes"], more["cpus"] = queue, queue
		more["pairs"] = items(schemaOf(scheduling.PairFields, nil))
		more["longest"] = items(schemaOf(scheduling.LongFields, map[string]object{"ran": items(schemaOf(scheduling.RanFields, nil))}))
	} else {
		row := items(schemaOf(scheduling.CallerFields, nil))
		process := items(schemaOf(scheduling.ProcessFields, map[string]object{"top": row}))
		more["processes"], more["threads"] = process, process
		more["functions"] = items(schemaOf(scheduling.FunctionFields, map[string]object{"callers": row}))
		more["stacks"] = items(schemaOf(scheduling.StackFields, nil))
		more["cpus"], more["gaps"] = items(schemaOf(scheduling.CPUFields, nil)), items(schemaOf(scheduling.GapFields, nil))
		more["states"] = items(schemaOf(scheduling.StateFields, nil))
	}
	return writeIndented(w, append(s, schemaOf(scheduling.DocumentFields(kind), more)...))
}
