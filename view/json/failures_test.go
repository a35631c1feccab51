// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/failure/failuretest"
)

func TestDocumentsOfFailuresFitTheSchema(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFailuresSchema(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("errors.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("errors.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*failure.Report{"refused": failuretest.Refused(), "hostile": failuretest.Hostile(), "empty": failuretest.Empty()} {
		t.Run(name, func(t *testing.T) {
			var doc bytes.Buffer
			if err := WriteFailures(&doc, r); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(doc.Bytes(), []byte("\n")) != 1 || bytes.ContainsAny(doc.Bytes(), "\x1b<\u202e") {
				t.Errorf("not one line, or not quoted: %q", doc.Bytes())
			}
			validate(t, schema, doc.Bytes())
		})
	}
}

// TestAFailureAsADocument: what a program reads of it.
func TestAFailureAsADocument(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFailures(&b, failuretest.Refused()); err != nil {
		t.Fatal(err)
	}
	type call struct {
		Error     string
		Arguments map[string]string
		Steps     []struct{ Function, Error string }
		Before    []struct{ Function, Error string }
		Callers   []string
	}
	var d struct {
		Failed uint64
		Deaths []struct {
			Signal string
			Sender *struct {
				Kernel  bool
				Address *string
			}
			During *call
		}
		Rows []struct {
			Error   string
			Count   uint64
			Origins []struct {
				Function *string
				Paths    []struct{ Path string }
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Failed != 1508 || len(d.Deaths) != 4 || len(d.Rows) != 4 || d.Rows[0].Error != "ENOENT" || d.Rows[3].Error != "ERESTARTSYS" {
		t.Fatalf("%+v", d)
	}
	during := d.Deaths[0].During
	if during == nil || during.Arguments["path"] != "./bad" || len(during.Steps) != 3 || during.Steps[0].Function != "vm_mmap" || during.Before[0].Error != "ENOMEM" || len(during.Callers) != 4 {
		t.Errorf("%+v", during)
	}
	if s := d.Deaths[2].Sender; s == nil || !s.Kernel || s.Address == nil || *s.Address != "0x10" || d.Deaths[3].Sender != nil {
		t.Errorf("%+v", d.Deaths)
	}
	if o := d.Rows[0].Origins; len(o) != 2 || *o[0].Function != "link_path_walk" || len(o[0].Paths) != 2 || o[1].Function != nil {
		t.Errorf("%+v", o)
	}
}
