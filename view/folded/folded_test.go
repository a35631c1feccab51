// SPDX-License-Identifier: Apache-2.0

package folded_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/profile/profiletest"
	"github.com/iowitness/iowitness/view/folded"
)

func show(t *testing.T, p *profile.Profile, o folded.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := folded.Write(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	want := `node;node::Start;LazyCompile:~render_/app/page.js:12 18
postgres;[truncated];ExecProcNode 2
postgres;main;ExecProcNode;ExecProcNode;ExecScan 40
postgres;main;ExecProcNode;ExecProcNode;vfs_read;ext4_file_read_iter;copy_page_to_iter 25
postgres;main;inflate_page;libz.so.1+0x1234 10
postgres;main;inflate_page;libz.so.1+0x5678 5
`
	if diff := cmp.Diff(want, show(t, profiletest.Database(), folded.Options{})); diff != "" {
		t.Error(diff)
	}
	marked := show(t, profiletest.Database(), folded.Options{Threads: true, IDs: true, Time: true, Marks: true})
	for _, line := range []string{
		"node-200;node-200;node::Start;LazyCompile:~render_/app/page.js:12_[j] 181818180\n",
		"postgres-100;postgres-100;main;ExecProcNode;ExecProcNode;vfs_read_[k];ext4_file_read_iter_[k];copy_page_to_iter_[k] 252525250\n",
	} {
		if !strings.Contains(marked, line) {
			t.Errorf("no %q in:\n%s", line, marked)
		}
	}
	if got := show(t, profiletest.Empty(), folded.Options{}); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

// TestHostileNames: what other tools split by is only where it belongs.
func TestHostileNames(t *testing.T) {
	shape := regexp.MustCompile(`^[^; ]+(;[^; ]+)* [0-9]+$`)
	p := profiletest.Hostile()
	text := show(t, p, folded.Options{})
	if !utf8.ValidString(text) {
		t.Error("not UTF-8")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !shape.MatchString(line) || strings.Count(line, ";") != 4 {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(text, "\n"); n != len(p.Samples) {
		t.Errorf("%d lines", n)
	}
}
