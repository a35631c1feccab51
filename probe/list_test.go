// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// symbolsRoot has a kernel's symbols and nothing else.
func symbolsRoot(t *testing.T, lines ...string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(root+"/proc", 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/proc/kallsyms", []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestListTakesSymbolsOfAFunctionTogether(t *testing.T) {
	root := symbolsRoot(
		t, "0 T x_own", "0 t x_own.part.0", "0 t x_own.cold", "0 t x_made.isra.0", "0 t x_made.constprop.1",
		"0 t x_twice", "0 t x_twice", "0 t x_mod\t[m]", "0 t _raw_spin_x", "0 t y_other", "0 d x_data",
	)
	c, err := List(root, ListOptions{Patterns: []string{"x_*", "_raw_spin_x"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Matched != 5 || c.Refused == 0 {
		t.Errorf("%d matched, %d refused", c.Matched, c.Refused)
	}
	byName := map[string]diagnosis.Probeable{}
	for _, p := range c.Functions {
		byName[p.Name] = p
	}
	if p := byName["x_own"]; !slices.Equal(p.Symbols, []string{"x_own"}) || !slices.Equal(p.NotSeen, []string{"x_own.part.0"}) || p.Changed || p.Copies != 1 {
		t.Errorf("%+v", p)
	}
	if p := byName["x_made"]; len(p.Symbols) != 2 || !p.Changed {
		t.Errorf("%+v", p)
	}
	if p := byName["x_twice"]; p.Copies != 2 || len(p.By()) > 0 {
		t.Errorf("%+v", p)
	}
	if p := byName["x_mod"]; p.Module != "m" {
		t.Errorf("%+v", p)
	}
	if p := byName["_raw_spin_x"]; !strings.Contains(p.Denied, "spin lock") || len(p.By()) > 0 {
		t.Errorf("%+v", p)
	}
}

func TestListSaysWhatIsAgainstAFunction(t *testing.T) {
	c := &catalog{names: btfNames{known: true, have: map[string]map[string]bool{"": {"f": true}}}}
	whole := diagnosis.Probeable{Name: "f", Symbols: []string{"f"}, Copies: 1, Blacklisted: string(kernel.Off), Traceable: string(kernel.On)}
	for _, test := range []struct {
		change func(*diagnosis.Probeable)
		fexit  string
		probe  string
	}{
		{func(*diagnosis.Probeable) {}, "", ""},
		{func(p *diagnosis.Probeable) { p.Denied = "it is hot" }, "it is hot", "it is hot"},
		{func(p *diagnosis.Probeable) { p.Blacklisted = string(kernel.On) }, "", "blacklist"},
		{func(p *diagnosis.Probeable) { p.Traceable = string(kernel.Off) }, "notrace", ""},
		{func(p *diagnosis.Probeable) { p.Traceable = string(kernel.Unknown) }, "", ""},
		{func(p *diagnosis.Probeable) { p.Symbols = []string{"f.isra.0"} }, "own name", ""},
		{func(p *diagnosis.Probeable) { p.Name, p.Symbols = "g", []string{"g"} }, "types are not known", ""},
		{func(p *diagnosis.Probeable) { p.Copies = 2 }, "several", "several"},
	} {
		p := whole
		test.change(&p)
		for m, want := range map[Means]string{Fexit: test.fexit, Kretprobe: test.probe} {
			if got := c.against(m, &p); want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s of %+v: %q, want %q", m, p, got, want)
			}
		}
	}
}

// TestListOfThisKernel needs no privileges.
func TestListOfThisKernel(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("no type information")
	}
	c, err := List("/", ListOptions{Patterns: []string{"vfs_read"}, Fields: true})
	if errors.Is(err, kernel.ErrNoSymbols) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Functions) != 1 || !strings.Contains(c.Functions[0].Signature, "vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)") {
		t.Errorf("%+v", c.Functions)
	}
	found := false
	for _, s := range c.Structs {
		found = found || slices.ContainsFunc(s.Members, func(m diagnosis.StructMember) bool { return m.Path == "file->f_pos" && m.Type == "loff_t" })
	}
	if !found {
		t.Errorf("%+v", c.Structs)
	}
	points, err := List("/", ListOptions{Patterns: []string{"sched:sched_switch"}})
	if err != nil || len(points.Tracepoints) != 1 || len(points.Tracepoints[0].Arguments) < 3 {
		t.Errorf("%+v, %v", points, err)
	}
	for _, o := range []ListOptions{
		{Patterns: []string{"vfs_raed"}},
		{Patterns: []string{"no_such:*"}},
		{Patterns: []string{"no_such"}, Tracepoints: true},
		{Patterns: []string{"a/b"}},
		{Patterns: []string{"vfs_*"}, Fields: true},
	} {
		if _, err := List("/", o); !errors.Is(err, ErrNoFunction) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
