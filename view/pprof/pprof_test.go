// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	google "github.com/google/pprof/profile"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/profile/profiletest"
	"github.com/iowitness/iowitness/view/pprof"
)

func parsed(t *testing.T, p *profile.Profile) *google.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b.Bytes(), []byte{0x1f, 0x8b}) {
		t.Error("not gzipped")
	}
	g, err := google.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDatabase(t *testing.T) {
	p := profiletest.Database()
	g := parsed(t, p)
	var count, ns int64
	for _, s := range g.Sample {
		count += s.Value[0]
		ns += s.Value[1]
	}
	if total := p.Total(); uint64(count) != total.Count || uint64(ns) != total.Value {
		t.Errorf("%d and %d ns, want %v", count, ns, total)
	}
	if g.SampleType[0].Type != "samples" || g.SampleType[1].Type != "cpu" || g.SampleType[1].Unit != "nanoseconds" || g.DefaultSampleType != "cpu" ||
		g.Period != int64(p.Period) || g.DurationNanos != int64(p.Duration) || g.TimeNanos != p.Start.UnixNano() {
		t.Errorf("head: %+v", g)
	}
	s := g.Sample[1]
	if s.Label["comm"][0] != "postgres" || s.Label["cgroup"][0] != "/db" || s.NumLabel["pid"][0] != 100 || s.NumLabel["tid"][0] != 100 {
		t.Errorf("labels: %v %v", s.Label, s.NumLabel)
	}
	var names []string
	for _, l := range s.Location {
		names = append(names, l.Line[0].Function.Name)
	}
	if got := strings.Join(names, " "); got != "copy_page_to_iter ext4_file_read_iter vfs_read ExecProcNode ExecProcNode main" {
		t.Error(got)
	}
	z := g.Sample[2].Location[0]
	if len(z.Line) != 0 || z.Address != 0x1234 || z.Mapping.File != "/lib/libz.so.1" || z.Mapping.BuildID != "beef01" ||
		z.Mapping.HasFunctions || z.Mapping.Start != 0 || z.Mapping.Limit != math.MaxUint64 {
		t.Errorf("a frame without symbol is %+v in %+v", z, z.Mapping)
	}
	if m := s.Location[3].Mapping; m.File != "/usr/bin/postgres" || m.BuildID != "6a1f" || !m.HasFunctions {
		t.Errorf("mapping %+v", m)
	}
	if len(g.Comments) != 2 || g.Comments[0] != "lost: 3 samples" {
		t.Errorf("comments %q", g.Comments)
	}
}

func TestHostileAndEmpty(t *testing.T) {
	g := parsed(t, profiletest.Hostile())
	if len(g.Sample) != len(profiletest.Hostile().Samples) {
		t.Errorf("%d samples", len(g.Sample))
	}
	for _, f := range g.Function {
		if !utf8.ValidString(f.Name) || strings.ContainsAny(f.Name, "\x00\x1b\n\u202e") {
			t.Errorf("%q", f.Name)
		}
	}
	if g := parsed(t, profiletest.Empty()); len(g.Sample) != 0 {
		t.Error("samples of nothing")
	}
	parsed(t, profiletest.Large(300))
}

// TestGoToolReads: the tool that engineers have finds what we found.
func TestGoToolReads(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command")
	}
	var b bytes.Buffer
	if err := pprof.Write(&b, profiletest.Database()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cpu.pb.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	show := exec.Command(tool, "tool", "pprof", "-top", "-symbolize=none", path)
	show.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := show.CombinedOutput()
	if err != nil {
		t.Skipf("go tool pprof does not run here: %v\n%s", err, out)
	}
	found := false
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		found = found || len(fields) == 6 && fields[5] == "ExecScan" && strings.HasPrefix(fields[1], "40")
	}
	if !found {
		t.Errorf("ExecScan has not 40%%:\n%s", out)
	}
}
