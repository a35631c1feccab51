// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/scheduling/schedulingtest"
)

func schedulingSchema(t *testing.T, kind profile.Kind) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSchedulingSchema(&b, kind); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scheduling.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("scheduling.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestReportsOnCPUsFitTheSchema(t *testing.T) {
	for _, name := range []string{"postgres", schedulingtest.Hostile, ""} {
		for _, r := range []*scheduling.Report{schedulingtest.CPU(name), schedulingtest.OffCPU(name), schedulingtest.RunQ(name), {Kind: profile.CPU}, {Kind: profile.OffCPU}, {Kind: profile.RunQ}} {
			var doc bytes.Buffer
			if err := WriteScheduling(&doc, r); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(doc.Bytes(), []byte("\n")) != 1 || bytes.ContainsAny(doc.Bytes(), "\x1b<\u202e") {
				t.Errorf("%s: not one line, or not quoted: %q", r.Kind, doc.Bytes())
			}
			validate(t, schedulingSchema(t, r.Kind), doc.Bytes())
		}
	}
}
