// SPDX-License-Identifier: Apache-2.0

package csv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/request/requesttest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func written(t *testing.T, list []event.IO, names request.Names) []byte {
	t.Helper()
	var b bytes.Buffer
	l := NewLines(&b, names, requesttest.Clock())
	if err := l.Header(); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := l.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	hostile, hostileNames := requesttest.Hostile()
	for file, got := range map[string][]byte{
		"lines.csv":   written(t, requesttest.Requests(), requesttest.NewNames()),
		"hostile.csv": written(t, hostile, hostileNames),
		"empty.csv":   written(t, nil, requesttest.NewNames()),
	} {
		records, err := csv.NewReader(bytes.NewReader(got)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if len(r) != len(request.LineFields) {
				t.Errorf("%s: %d fields, not %d", file, len(r), len(request.LineFields))
			}
			for _, cell := range r {
				if !utf8.ValidString(cell) || bytes.ContainsFunc([]byte(cell), func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf) }) {
					t.Errorf("%s: not quoted: %q", file, cell)
				}
			}
		}
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
}

// What is not known is empty, and never 0.
func TestUnknownIsEmpty(t *testing.T) {
	records, err := csv.NewReader(bytes.NewReader(written(t, []event.IO{{Issued: 1, Completed: 1}}, requesttest.NewNames()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range records[0] {
		switch id {
		case "queue_ns", "get_ns", "queued_ns", "depth", "wait_ns", "comm", "device":
			if records[1][i] != "" {
				t.Errorf("%s is %q", id, records[1][i])
			}
		case "device_ns":
			if records[1][i] != "0" {
				t.Errorf("%s is %q", id, records[1][i])
			}
		}
	}
}

type closedPipe struct{}

var errClosed = errors.New("closed")

func (closedPipe) Write([]byte) (int, error) { return 0, errClosed }

func TestWriteErrorsComeBack(t *testing.T) {
	l := NewLines(closedPipe{}, requesttest.NewNames(), requesttest.Clock())
	l.Header()
	if err := l.Flush(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}
