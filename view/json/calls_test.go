// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"io"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/call/calltest"
)

func schemaOfWriter(t *testing.T, write func(io.Writer) error) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("a.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("a.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestCallsFitTheirSchemas(t *testing.T) {
	report, line := schemaOfWriter(t, WriteCallsSchema), schemaOfWriter(t, WriteCallSchema)
	tree := calltest.Tree()
	single := calltest.Line(tree.Call)
	for name, c := range map[string]struct {
		schema *jsonschema.Schema
		write  func(io.Writer) error
	}{
		"report": {report, func(w io.Writer) error { return WriteCalls(w, calltest.Report()) }},
		"empty":  {report, func(w io.Writer) error { return WriteCalls(w, calltest.Empty()) }},
		"line":   {line, func(w io.Writer) error { return WriteCall(w, &single, calltest.At(tree.Call)) }},
		"tree":   {line, func(w io.Writer) error { return WriteCallTree(w, tree, calltest.Line, calltest.At) }},
	} {
		t.Run(name, func(t *testing.T) {
			var doc bytes.Buffer
			if err := c.write(&doc); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(doc.Bytes(), []byte("\n")) != 1 || bytes.ContainsAny(doc.Bytes(), "\x1b<\u202e") {
				t.Errorf("not one line, or not quoted: %q", doc.Bytes())
			}
			validate(t, c.schema, doc.Bytes())
		})
	}
}
