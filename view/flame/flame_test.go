// SPDX-License-Identifier: Apache-2.0

package flame_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/profile/profiletest"
	"github.com/iowitness/iowitness/view/flame"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func svg(t *testing.T, p *profile.Profile, o flame.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := flame.WriteSVG(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func html(t *testing.T, p *profile.Profile, o flame.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := flame.WriteHTML(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, got := range map[string]string{
		"database.svg": svg(t, profiletest.Database(), flame.Options{Threads: true}),
		"hostile.svg":  svg(t, profiletest.Hostile(), flame.Options{Title: "</title><script>alert(1)</script>", Count: true}),
		"empty.svg":    svg(t, profiletest.Empty(), flame.Options{}),
		"data.json":    string(indented(t, data(t, html(t, profiletest.Database(), flame.Options{Threads: true})))),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s differs (-want +got); if it is right, run with -update:\n%s", path, diff)
		}
	}
}

func indented(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", " "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var dataOf = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// data is what the page's script will read.
func data(t *testing.T, page string) string {
	t.Helper()
	found := dataOf.FindAllStringSubmatch(page, -1)
	if len(found) != 1 {
		t.Fatalf("%d pieces of data", len(found))
	}
	return found[0][1]
}

// TestPictureIsXML: whatever names are in it, an SVG is well formed, and has no element that it should not have.
func TestPictureIsXML(t *testing.T) {
	allowed := map[string]bool{"svg": true, "title": true, "style": true, "rect": true, "text": true, "g": true}
	for _, p := range []*profile.Profile{profiletest.Database(), profiletest.Hostile(), profiletest.Empty(), profiletest.Large(500)} {
		d := xml.NewDecoder(strings.NewReader(svg(t, p, flame.Options{Title: "<script>", Threads: true})))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok {
				if !allowed[e.Name.Local] {
					t.Errorf("an element %s", e.Name.Local)
				}
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
						t.Errorf("an attribute %s", a.Name.Local)
					}
				}
			}
		}
	}
}

// TestPageHoldsHostileNames: a page has the elements that it has without names.
func TestPageHoldsHostileNames(t *testing.T) {
	elements := func(page string) []string {
		page = dataOf.ReplaceAllString(page, "<data>")
		return regexp.MustCompile(`(?i)<[a-z!/][^\s>]*`).FindAllString(page, -1)
	}
	tame := html(t, profiletest.Empty(), flame.Options{Title: "x"})
	for _, title := range []string{"x", "</title><script>alert(1)</script>", `"><img src=x onerror=alert(1)>`} {
		page := html(t, profiletest.Hostile(), flame.Options{Title: title, Threads: true, Count: true})
		if diff := cmp.Diff(elements(tame), elements(page)); diff != "" {
			t.Error(diff)
		}
		text := data(t, page)
		if strings.ContainsAny(text, "<>\u2028\u202e\x1b") || !utf8.ValidString(page) {
			t.Error("data are not escaped")
		}
		var d struct{ Texts []string }
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(d.Texts, "\n"), "</script><img src=x onerror=alert(1)>") {
			t.Error("the name is not shown as it is")
		}
	}
	for _, outside := range []string{"http:", "https:", "src=", "@import", "url("} {
		if strings.Contains(strings.ReplaceAll(tame, "http-equiv", ""), outside) {
			t.Errorf("the page asks for more: %s", outside)
		}
	}
}

// TestDataAddUp: the parts of each frame fit into it, and the whole is the profile.
func TestDataAddUp(t *testing.T) {
	for _, p := range []*profile.Profile{profiletest.Database(), profiletest.Hostile(), profiletest.Large(400)} {
		var d struct {
			Unit  string
			Texts []string
			Nodes [][7]uint64
		}
		if err := json.Unmarshal([]byte(data(t, html(t, p, flame.Options{Threads: true}))), &d); err != nil {
			t.Fatal(err)
		}
		left := []uint64{}
		for i, n := range d.Nodes {
			depth := int(n[0])
			if depth > len(left) || (i == 0) != (depth == 0) || n[1] >= uint64(len(d.Texts)) || n[2] >= uint64(len(d.Texts)) || n[3] > 5 {
				t.Fatalf("node %d: %v", i, n)
			}
			if depth > 0 {
				if left[depth-1] < n[4] {
					t.Fatalf("node %d is wider than what it is in", i)
				}
				left[depth-1] -= n[4]
			}
			left = append(left[:depth], n[4]-n[5])
		}
		if d.Nodes[0][4] != p.Total().Value || d.Unit != "ns" {
			t.Errorf("%v of %v", d.Nodes[0], p.Total())
		}
	}
}

// TestSizeIsBounded: a profile of any size makes a file that a browser can show.
func TestSizeIsBounded(t *testing.T) {
	p := profiletest.Large(1500)
	if n := len(html(t, p, flame.Options{})); n > 12<<20 {
		t.Errorf("HTML of %d bytes", n)
	}
	if n := len(svg(t, p, flame.Options{})); n > 5<<20 {
		t.Errorf("SVG of %d bytes", n)
	}
}

// TestCountsWhereThereIsNoTime: such a profile is not empty.
func TestCountsWhereThereIsNoTime(t *testing.T) {
	p := profiletest.Database()
	for i := range p.Samples {
		p.Samples[i].Value = 0
	}
	if page := html(t, p, flame.Options{}); !strings.Contains(page, `"unit":"count"`) || !strings.Contains(page, "100 (100.00%)") {
		t.Error("not by count")
	}
}

// TestScript: the script works on the smallest of documents, where there is something to run it.
func TestScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html(t, profiletest.Database(), flame.Options{Threads: true})), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, "testdata/try.js", path).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
