// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/profile/profiletest"
)

func profileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	if err := WriteProfileSchema(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("profile.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("profile.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestProfilesFitTheSchema(t *testing.T) {
	schema := profileSchema(t)
	for name, p := range map[string]*profile.Profile{
		"database": profiletest.Database(), "hostile": profiletest.Hostile(), "empty": profiletest.Empty(),
	} {
		for _, o := range []ProfileOptions{{}, {Functions: 2, Of: 1, Stacks: true}} {
			var doc bytes.Buffer
			if err := WriteProfile(&doc, p, o); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(doc.Bytes(), []byte("\n")) != 1 || bytes.ContainsAny(doc.Bytes(), "\x1b<\u202e") {
				t.Errorf("%s: not one line, or not quoted", name)
			}
			validate(t, schema, doc.Bytes())
		}
	}
}

// TestProfileParts: own times add up to the whole.
func TestProfileParts(t *testing.T) {
	var b bytes.Buffer
	if err := WriteProfile(&b, profiletest.Database(), ProfileOptions{}); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Self  uint64 `json:"self_ns"`
		Total uint64 `json:"total_ns"`
	}
	var d struct {
		Total     uint64 `json:"total_ns"`
		Functions []row
		Processes []row
		Threads   []row
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	var functions, processes, threads uint64
	for _, f := range d.Functions {
		functions += f.Self
		if f.Total > d.Total {
			t.Errorf("a function has %d of %d", f.Total, d.Total)
		}
	}
	for _, p := range d.Processes {
		processes += p.Total
	}
	for _, th := range d.Threads {
		threads += th.Total
	}
	if d.Total == 0 || functions != d.Total || processes != d.Total || threads != d.Total {
		t.Errorf("functions have %d, processes %d, threads %d, of %d", functions, processes, threads, d.Total)
	}
}

func TestProfileGolden(t *testing.T) {
	var b, pretty bytes.Buffer
	if err := WriteProfile(&b, profiletest.Database(), ProfileOptions{Functions: 3, Of: 2, Stacks: true}); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&pretty, b.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "profile.json")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, pretty.Bytes()) {
		t.Errorf("%s differs; if it is right, run with -update:\n%s", path, pretty.Bytes())
	}
}
