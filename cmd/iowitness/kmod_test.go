// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/lab"
)

// moduleHost is a root with a loaded module, as a guest of 6.1 told it.
func moduleHost(t *testing.T, comm string) (root string) {
	t.Helper()
	root = t.TempDir()
	files := map[string]string{
		"proc/modules":                         "iowitness 40960 1 - Live 0x0000000000000000 (OE)\n",
		"sys/module/iowitness/version":         kmod.Digest() + "\n",
		"sys/module/iowitness/parameters/gate": "Y\n",
		"proc/41/comm":                         comm + "\n",
		"proc/41/fdinfo/3":                     "flags:\t0100002\n",
	}
	for _, name := range []string{"waits", "control"} {
		text, err := os.ReadFile("../../kmod/testdata/proc/iowitness/" + name)
		if errors.Is(err, fs.ErrNotExist) && lab.Guest() {
			t.Skip("a guest has the files of the packages that it tests only")
		}
		if err != nil {
			t.Fatal(err)
		}
		files["proc/iowitness/"+name] = string(text)
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "proc/41/fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/iowitness/control", filepath.Join(root, "proc/41/fd/3")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestKmodStatus(t *testing.T) {
	s, err := gatherKmodStatus(moduleHost(t, "evil\x1b[2J"))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Loaded || !s.Current || s.Counts == nil || s.Counts.Waits == 0 || len(s.Counts.Probes) != 3 {
		t.Fatalf("%+v", s)
	}
	var text, document strings.Builder
	if err := s.text(&text); err != nil {
		t.Fatal(err)
	}
	if err := s.json(&document); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"is loaded", "it counts", "io_schedule_timeout", "not probed", `"evil\x1b[2J" (pid 41)`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.ContainsRune(text.String()+document.String(), 0x1b) {
		t.Error("an escape sequence came through")
	}
	var back kmodStatus
	if err := json.Unmarshal([]byte(document.String()), &back); err != nil || back.Counts.WaitedNS != s.Counts.WaitedNS {
		t.Errorf("%v\n%s", err, document.String())
	}
}

func TestKmodStatusOfGarbage(t *testing.T) {
	root := moduleHost(t, "x")
	if err := os.WriteFile(filepath.Join(root, "proc/iowitness/waits"), []byte("iowitness-waits 99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := gatherKmodStatus(root)
	if err != nil || !strings.Contains(s.Unreadable, "another version") || s.Counts != nil {
		t.Errorf("%+v, %v", s, err)
	}
}
