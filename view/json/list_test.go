// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/diagnosis/diagnosistest"
)

func TestCatalogsFitTheSchema(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCatalogSchema(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("list.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("list.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*diagnosis.Catalog{
		"all": diagnosistest.Catalog(), "locked": diagnosistest.LockedCatalog(), "hostile": diagnosistest.HostileCatalog(), "nothing": {},
	} {
		var b bytes.Buffer
		if err := WriteCatalog(&b, c); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) || bytes.ContainsAny(b.Bytes(), "\x1b<\u202e") {
			t.Errorf("%s: not quoted: %q", name, b.Bytes())
		}
		document, err := jsonschema.UnmarshalJSON(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
