// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
)

// WriteRequestsSchema writes the JSON Schema of a summary of requests, made from the tables of its fields.
func WriteRequestsSchema(w io.Writer) error {
	rows := object{{"items", object{{"$ref", "#/$defs/row"}}}}
	more := map[string]object{
		"schema": {{"const", RequestsSchemaNumber}},
		"start":  {{"format", "date-time"}}, "end": {{"format", "date-time"}},
		"total":   {{"$ref", "#/$defs/row"}},
		"devices": rows, "partitions": rows, "processes": rows, "cgroups": rows, "files": rows, "ops": rows,
		"issuers": {{"items", closed(
			member{"device", object{{"type", []any{"string", "null"}}}},
			member{"processes", append(object{{"type", "array"}}, rows...)},
		)}},
		"heatmap":  heatMapSchema(),
		"findings": {{"items", findingSchema()}},
		"victim":   victimSchema(),
		"repeats":  {{"items", schemaOf(described(request.RepeatFields), map[string]object{"op": {{"enum", kinds()}}})}},
		"losses":   schemaOf(described(request.LossFields), nil)[1:],
	}
	s := schemaOf(described(request.SummaryFields), more)
	return writeSchema(w, "Block requests of a span of time", append(s, member{"$defs", object{{"row", requestRowSchema()}}}))
}

var (
	countType = object{{"type", "integer"}, {"minimum", 0}}
	limitType = object{{"type", []any{"integer", "null"}}}
)

// closed is an object with exactly these keys.
func closed(properties ...member) object {
	required := []any{}
	for _, p := range properties {
		required = append(required, p.key)
	}
	return object{{"type", "object"}, {"additionalProperties", false}, {"required", required}, {"properties", object(properties)}}
}

func requestRowSchema() object {
	times := object{{"items", closed(member{"ge_ns", countType}, member{"lt_ns", limitType}, member{"count", countType})}}
	peaks := object{{"items", closed(member{"ns", countType}, member{"count", countType}, member{"percent", object{{"type", "number"}}})}}
	return schemaOf(described(request.Infos(request.RowFields)), map[string]object{
		"op":               {{"enum", append(kinds(), nil)}},
		"device_histogram": times, "total_histogram": times,
		"size_histogram": {{"items", closed(member{"gt_bytes", countType}, member{"le_bytes", limitType}, member{"count", countType})}},
		"device_peaks":   peaks, "total_peaks": peaks,
	})
}

func kinds() []any {
	var all []any
	for k := range event.OpKinds {
		all = append(all, k.String())
	}
	return all
}

func heatMapSchema() object {
	row := closed(member{"ge_ns", countType}, member{"lt_ns", limitType}, member{"counts", object{{"type", "array"}, {"items", countType}}})
	o := closed(member{"column_ns", countType}, member{"rows", object{{"type", "array"}, {"items", row}}})
	return o[1:] // its type is the table's
}

func findingSchema() object {
	return schemaOf(described(request.FindingFields), map[string]object{
		"id":     {{"enum", []any{string(request.DeviceSlower), string(request.DeviceSlow)}}},
		"op":     {{"enum", kinds()}},
		"before": schemaOf(described(request.PaceFields), nil)[1:],
		"now":    schemaOf(described(request.PaceFields), nil)[1:],
	})
}
