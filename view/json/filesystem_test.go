// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/filesystem/filesystemtest"
)

func TestFilesystemDocumentsFitTheSchema(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFilesystemSchema(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("fs.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("fs.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*filesystem.Report{
		"compared": filesystemtest.Compared(), "hostile": filesystemtest.Hostile(), "empty": filesystemtest.Empty(),
	} {
		t.Run(name, func(t *testing.T) {
			var doc bytes.Buffer
			if err := WriteFilesystem(&doc, r); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(doc.Bytes(), []byte("\n")) != 1 || bytes.ContainsAny(doc.Bytes(), "\x1b<\u202e") {
				t.Errorf("not one line, or not quoted: %q", doc.Bytes())
			}
			validate(t, schema, doc.Bytes())
		})
	}
}

// TestFilesystemParts: what a program reads adds up as well.
func TestFilesystemParts(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFilesystem(&b, filesystemtest.Compared()); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Mounts []struct {
			Sync struct {
				Calls        uint64
				TotalNS      uint64 `json:"total_ns"`
				RunQueue     uint64 `json:"run_queue_ns"`
				OnCPU        uint64 `json:"on_cpu_ns"`
				Unattributed uint64 `json:"unattributed_ns"`
				Causes       []struct{ NS uint64 }
			}
		}
		Files []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for i, m := range d.Mounts {
		want := filesystemtest.Compared().Mounts[i].Division
		sum := m.Sync.RunQueue + m.Sync.OnCPU + m.Sync.Unattributed
		for _, c := range m.Sync.Causes {
			sum += c.NS
		}
		if m.Sync.Calls != want.Calls || m.Sync.TotalNS != want.Total || sum != want.Total {
			t.Errorf("%+v, not %+v", m.Sync, want)
		}
	}
	if file := d.Files[0]; file["file"] != "/mnt/b/data/file" || file["mount"] != "/mnt/b" || file["operation"] != "fsync" {
		t.Errorf("%v", file)
	}
}
