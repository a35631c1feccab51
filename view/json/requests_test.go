// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/request/requesttest"
)

func compiledFrom(t *testing.T, write func(io.Writer) error) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("made.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("made.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if it is right, run with -update:\n%s", path, diff)
	}
}

func lines(t *testing.T, list []event.IO, names request.Names) []byte {
	t.Helper()
	var b bytes.Buffer
	l := NewLines(&b, names, requesttest.Clock())
	for i := range list {
		if err := l.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestRequestLines(t *testing.T) {
	schema := compiledFrom(t, WriteLineSchema)
	hostile, hostileNames := requesttest.Hostile()
	for file, got := range map[string][]byte{
		"lines.jsonl":         lines(t, requesttest.Requests(), requesttest.NewNames()),
		"lines_hostile.jsonl": lines(t, hostile, hostileNames),
	} {
		for line := range bytes.Lines(got) {
			validate(t, schema, line)
			if bytes.ContainsFunc(bytes.TrimSuffix(line, []byte("\n")), func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
				t.Errorf("%s: not quoted: %q", file, line)
			}
		}
		compare(t, file, got)
	}
}

// An empty record has every key, and null where nothing is known.
func TestRequestLineOfNothing(t *testing.T) {
	got := lines(t, []event.IO{{Completed: 1, Issued: 1}, {}}, requesttest.NewNames())
	schema := compiledFrom(t, WriteLineSchema)
	for line := range bytes.Lines(got) {
		validate(t, schema, line)
		var o map[string]any
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"time", "time_ns", "comm", "cgroup", "device", "queue_ns", "get_ns", "insert_ns", "file", "wait_tid", "wait_ns", "depth", "queued_ns"} {
			if v, there := o[key]; !there || v != nil {
				t.Errorf("%s is %v in %s", key, v, line)
			}
		}
	}
}

func summaryDoc(t *testing.T, s *request.Summary, names request.Names) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteRequests(&b, s, names, true); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRequestDocuments(t *testing.T) {
	schema := compiledFrom(t, WriteRequestsSchema)
	hostile, hostileNames := requesttest.Hostile()
	hostileSummary := requesttest.Collected(hostile).Summary(request.Options{Version: "0.1.0", Source: hostile[0].Owner.Comm, Notes: []string{hostile[1].Owner.Comm}})
	top := requesttest.Options(time.Second)
	top.Top = 1
	for file, got := range map[string][]byte{
		"requests.json":           summaryDoc(t, requesttest.Summary(), requesttest.NewNames()),
		"requests_top.json":       summaryDoc(t, requesttest.Collected(requesttest.Requests()).Summary(top), requesttest.NewNames()),
		"requests_folded.json":    summaryDoc(t, requesttest.Folded(), requesttest.NewNames()),
		"requests_empty.json":     summaryDoc(t, request.NewCollector(0, 0).Summary(requesttest.Options(time.Second)), requesttest.NewNames()),
		"requests_throttled.json": summaryDoc(t, requesttest.Throttled(), requesttest.NewNames()),
		"requests_hostile.json":   summaryDoc(t, hostileSummary, hostileNames),
	} {
		validate(t, schema, got)
		compare(t, file, got)
	}
	validate(t, schema, summaryDoc(t, requesttest.Million(), requesttest.NewNames()))
}

func TestRequestDocumentOnOneLine(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRequests(&b, requesttest.Summary(), requesttest.NewNames(), false); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\n") != 1 || !strings.HasSuffix(b.String(), "\n") {
		t.Errorf("%q", b.String())
	}
}

// Schemas hold documents to the tables: a key more or less is refused.
func TestRequestSchemasRefuse(t *testing.T) {
	schema := compiledFrom(t, WriteRequestsSchema)
	for _, change := range []func(map[string]any){
		func(d map[string]any) { delete(d, "losses") },
		func(d map[string]any) { d["more"] = 1 },
		func(d map[string]any) { delete(d["total"].(map[string]any), "errors") },
		func(d map[string]any) { d["losses"].(map[string]any)["more"] = 1 },
		func(d map[string]any) {
			d["findings"].([]any)[0].(map[string]any)["before"].(map[string]any)["more"] = 1
		},
		func(d map[string]any) { d["devices"].([]any)[0].(map[string]any)["requests"] = "many" },
		func(d map[string]any) { delete(d["heatmap"].(map[string]any), "rows") },
	} {
		var d map[string]any
		if err := json.Unmarshal(summaryDoc(t, requesttest.Throttled(), requesttest.NewNames()), &d); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(d); err != nil {
			t.Fatal(err)
		}
		change(d)
		if err := schema.Validate(d); err == nil {
			t.Error("a change goes through")
		}
	}
}

func TestRequestErrorsComeBack(t *testing.T) {
	for _, indent := range []bool{false, true} {
		if err := WriteRequests(closedPipe{}, requesttest.Summary(), requesttest.NewNames(), indent); !errors.Is(err, errClosed) {
			t.Error(err)
		}
	}
	if err := NewLines(closedPipe{}, requesttest.NewNames(), requesttest.Clock()).Write(&event.IO{}); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// Whatever a source tells of a request, its line fits the schema, and no time is longer than its instants allow.
func TestAnyRequestFitsTheSchema(t *testing.T) {
	schema := compiledFrom(t, WriteLineSchema)
	r := rand.New(rand.NewPCG(9, 9))
	instant := func() uint64 {
		return []uint64{0, 1, r.Uint64N(1e12), r.Uint64N(1e12), math.MaxUint64}[r.IntN(5)]
	}
	for range 2000 {
		o := event.IO{
			Owner: event.Task{TID: uint32(r.IntN(2)), PID: r.Uint32(), Comm: string(rune(r.IntN(300)))}, Carrier: event.Task{TID: uint32(r.IntN(2))},
			Cgroup: uint64(r.IntN(3)), Queued: instant(), Got: instant(), Inserted: instant(), Issued: instant(), Completed: instant(),
			Sector: r.Uint64(), Bytes: r.Uint32(), Op: r.Uint32(), Dev: event.Dev(r.Uint32()), Top: event.Dev(r.IntN(2)), Error: int32(r.IntN(400) - 200),
			Depth: uint32(r.IntN(2)), Flags: event.IOFlags(r.IntN(32)), WaitTID: uint32(r.IntN(2)), WaitNS: r.Uint64(),
		}
		line := lines(t, []event.IO{o}, requesttest.NewNames())
		validate(t, schema, line)
		var times struct {
			Total  *uint64 `json:"total_ns"`
			Queue  *uint64 `json:"queue_ns"`
			Device *uint64 `json:"device_ns"`
		}
		if err := json.Unmarshal(line, &times); err != nil {
			t.Fatal(err)
		}
		if times.Total != nil && (times.Queue != nil && *times.Queue > *times.Total || times.Device != nil && *times.Device > *times.Total) {
			t.Errorf("a part is longer than the whole: %s", line)
		}
	}
}
