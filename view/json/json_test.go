// SPDX-License-Identifier: Apache-2.0

package json

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t *testing.T, s *snapshot.Snapshot, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func many() (*snapshot.Interval, *snapshottest.Names) { return snapshottest.Many(30) }

var usage = &snapshot.Usage{Command: []string{"make", "\xff"}, Real: time.Second, User: 3 * time.Millisecond, ExitCode: 137, Signal: "SIGKILL"}

var cases = []struct {
	name  string
	of    func() (*snapshot.Interval, *snapshottest.Names)
	build snapshot.Options
	write Options
}{
	{"default", snapshottest.TwoProcesses, snapshot.Options{}, Options{Indent: true}},
	{"by_thread", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByThread}, Stacks: 3}, Options{Indent: true}},
	{"by_cause_file", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByCause, snapshot.ByFile}}, Options{Indent: true}},
	{"top", many, snapshot.Options{Top: 1}, Options{Indent: true}},
	{"estimated", snapshottest.Estimated, snapshot.Options{}, Options{Indent: true}},
	{"min", snapshottest.TwoProcesses, snapshot.Options{Min: 20 * time.Millisecond}, Options{Indent: true}},
	{"empty", snapshottest.Empty, snapshot.Options{}, Options{Indent: true}},
	{"hanging_only", snapshottest.HangingOnly, snapshot.Options{}, Options{Indent: true}},
	{"quick_device", snapshottest.QuickDevice, snapshot.Options{}, Options{Indent: true}},
	{"command", snapshottest.TwoProcesses, snapshot.Options{Top: 1}, Options{Indent: true, Command: usage}},
	{"hostile", snapshottest.Hostile, snapshot.Options{Top: 2}, Options{}},
}

func TestGoldenAndSchema(t *testing.T) {
	schema := compiled(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			iv, names := c.of()
			got := written(t, snapshot.Build(iv, names, c.build), c.write)
			validate(t, schema, got)
			path := filepath.Join("testdata", c.name+".json")
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
		})
	}
}

func validate(t *testing.T, schema *jsonschema.Schema, doc []byte) {
	t.Helper()
	if !utf8.Valid(doc) {
		t.Error("invalid UTF-8")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
}

// Every grouping of hostile names gives one valid line without control characters.
func TestHostileNamesByEveryKey(t *testing.T) {
	schema := compiled(t)
	for key := range snapshot.KeyNames() {
		iv, names := snapshottest.Hostile()
		s := snapshot.Build(iv, names, snapshot.Options{By: []snapshot.Key{snapshot.Key(key)}, Stacks: 3})
		s.Means = map[string]string{snapshottest.HostileNames[0]: snapshottest.HostileNames[5]}
		doc := written(t, s, Options{Command: usage})
		validate(t, schema, doc)
		if bytes.IndexByte(doc, '\n') != len(doc)-1 || bytes.ContainsAny(doc, "\x1b\r\x00") {
			t.Errorf("by %s: not one clean line", snapshot.Key(key))
		}
	}
}

func TestSchemaHasTheTablesKeys(t *testing.T) {
	var root struct {
		Properties map[string]json.RawMessage
		Defs       map[string]struct{ Properties map[string]json.RawMessage } `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fields []snapshot.Field
		have   map[string]json.RawMessage
	}{
		"document":    {snapshot.DocumentFields, root.Properties},
		"row":         {snapshot.RowFields, root.Defs["row"].Properties},
		"in progress": {snapshot.InProgressFields, root.Defs["in_progress"].Properties},
		"cause":       {snapshot.CauseFields, root.Defs["cause"].Properties},
		"request":     {snapshot.RequestFields, root.Defs["request"].Properties},
	} {
		for _, f := range c.fields {
			if raw, ok := c.have[f.ID]; ok != (f.Where&snapshot.InJSON != 0) {
				t.Errorf("%s: %s is in the schema: %t", name, f.ID, ok)
			} else if ok && !strings.Contains(string(raw), `"description"`) {
				t.Errorf("%s: %s has no description", name, f.ID)
			}
			delete(c.have, f.ID)
		}
		for id := range c.have {
			t.Errorf("%s: %s is in no table", name, id)
		}
	}
}

// What is not known is null, and never 0.
func TestUnknownIsNull(t *testing.T) {
	iv, names := snapshottest.Empty()
	var doc map[string]any
	if err := json.Unmarshal(written(t, snapshot.Build(iv, names, snapshot.Options{}), Options{}), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"iowait_percent", "pressure", "unflagged_percent", "largest", "command", "scope"} {
		if v, ok := doc[key]; !ok || v != nil {
			t.Errorf("%s = %v, want null", key, v)
		}
	}
	if cost := doc["cost"].(map[string]any); cost["probe_ns"] != nil {
		t.Errorf("probe_ns = %v, want null", cost["probe_ns"])
	}
}

func TestRowsHoldTheLedger(t *testing.T) {
	iv, names := snapshottest.TwoProcesses()
	var doc struct {
		Waits []struct {
			TotalNS uint64 `json:"total_ns"`
			Causes  []struct {
				TotalNS uint64 `json:"total_ns"`
			} `json:"causes"`
			Count     uint64                           `json:"count"`
			Histogram []struct{ GE, LT, Count uint64 } `json:"histogram"`
			Bands     map[string]uint64                `json:"bands"`
		} `json:"waits"`
	}
	if err := json.Unmarshal(written(t, snapshot.Build(iv, names, snapshot.Options{}), Options{}), &doc); err != nil {
		t.Fatal(err)
	}
	for i, w := range doc.Waits {
		var causes, slots, bands uint64
		for _, c := range w.Causes {
			causes += c.TotalNS
		}
		for _, s := range w.Histogram {
			slots += s.Count
		}
		for _, n := range w.Bands {
			bands += n
		}
		if causes != w.TotalNS || slots != w.Count || bands != w.Count {
			t.Errorf("row %d: causes %d of %d ns, %d in slots and %d in bands of %d waits", i, causes, w.TotalNS, slots, bands, w.Count)
		}
	}
}

// TestTheDevicesPartOfAWait (case B5): an application waits 10 ms for a device that is done in 0.66 ms.
func TestTheDevicesPartOfAWait(t *testing.T) {
	iv, names := snapshottest.QuickDevice()
	type cause struct {
		Cause   string
		Mean    uint64   `json:"wait_mean_ns"`
		Before  *uint64  `json:"before_mean_ns"`
		Queue   *uint64  `json:"queue_mean_ns"`
		Device  *uint64  `json:"device_mean_ns"`
		Percent *float64 `json:"device_percent"`
		Request map[string]any
	}
	read := func() []cause {
		var doc struct{ Waits []struct{ Causes []cause } }
		if err := json.Unmarshal(written(t, snapshot.Build(iv, names, snapshot.Options{}), Options{}), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Waits[0].Causes
	}
	causes := read()
	sync, commit := causes[0], causes[1]
	if sync.Mean != 10e6 || *sync.Before+*sync.Queue+*sync.Device != 10e6 || *sync.Device != 660e3 || *sync.Percent != 6.6 {
		t.Errorf("%+v", sync)
	}
	want := map[string]any{
		"device": "vda1", "sector": 2457616., "bytes": 4096., "type": "WS", "op": "write",
		"queue_ns": 30e3, "device_ns": 660e3, "wait_ns": 12e6, "before_ns": 12e6 - 690e3,
		"queued_in_wait_ns": 30e3, "device_in_wait_ns": 660e3,
	}
	if diff := cmp.Diff(want, sync.Request); diff != "" {
		t.Error(diff)
	}
	if commit.Request != nil || commit.Device != nil || commit.Percent != nil {
		t.Errorf("another thread ends the wait for a commit: %+v", commit)
	}
	// As the text says, of a request that is older than the wait only a part is in it.
	j := &iv.Threads[0].Charges[0].Joins
	j.Longest.Device = j.LongestWait + 5e6
	if r := read()[0].Request; r["device_ns"] != float64(j.LongestWait+5e6) || r["device_in_wait_ns"] != r["wait_ns"] || r["queued_in_wait_ns"] != 0. || r["before_ns"] != 0. {
		t.Errorf("%v", r)
	}
	*j = blame.Joins{Waits: j.Waits, Longest: event.Request{Op: event.OpFlush}, LongestWait: j.LongestWait}
	sync = read()[0]
	if sync.Before != nil || sync.Queue != nil || sync.Device != nil || sync.Percent != nil {
		t.Errorf("what is not known: %+v", sync)
	}
	for _, key := range []string{"device", "sector", "queue_ns", "device_ns", "before_ns"} {
		if v, ok := sync.Request[key]; !ok || v != nil {
			t.Errorf("%s of a flush of which nothing is known: %v", key, v)
		}
	}
}

type closedPipe struct{}

var errClosed = errors.New("closed")

func (closedPipe) Write([]byte) (int, error) { return 0, errClosed }

func TestWriteErrorsComeBack(t *testing.T) {
	iv, names := snapshottest.Empty()
	if err := Write(closedPipe{}, snapshot.Build(iv, names, snapshot.Options{}), Options{}); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func TestSchemaIsACopy(t *testing.T) {
	a := Schema()
	a[0] = 'x'
	if slices.Equal(a, Schema()) {
		t.Error("the embedded schema can be changed")
	}
}
