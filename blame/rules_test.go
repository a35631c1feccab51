// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stackCase is a paragraph of testdata/stacks:
//
//	# cause_id  flagged kernel joined interruptible syscall=fsync; a note
//	innermost_function
//	…
type stackCase struct {
	where    string
	evidence Evidence
	want     Cause
}

func stackCases(t testing.TB) []stackCase {
	t.Helper()
	files, err := filepath.Glob("testdata/stacks/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stacks in testdata: %v", err)
	}
	var cases []stackCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, paragraph := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
			cases = append(cases, parseStackCase(t, filepath.Base(file), paragraph))
		}
	}
	return cases
}

func parseStackCase(t testing.TB, file, paragraph string) stackCase {
	t.Helper()
	head, frames, _ := strings.Cut(paragraph, "\n")
	facts, _, _ := strings.Cut(head, ";")
	words := strings.Fields(strings.TrimPrefix(facts, "#"))
	if len(words) == 0 || !strings.HasPrefix(head, "# ") {
		t.Fatalf("%s: a stack begins with # cause_id, not %q", file, head)
	}
	want, err := ParseCause(words[0])
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	c := stackCase{where: file + ": " + head, want: want}
	c.evidence.Stack = strings.Fields(frames)
	for _, word := range words[1:] {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "flagged":
			c.evidence.Flagged = true
		case "kernel":
			c.evidence.Kernel = true
		case "joined":
			c.evidence.Joined = true
		case "interruptible":
			c.evidence.Interruptible = true
		case "syscall":
			c.evidence.Syscall = value
		default:
			t.Fatalf("%s: unknown word %q in %q", file, word, head)
		}
	}
	return c
}

func TestStacks(t *testing.T) {
	for _, c := range stackCases(t) {
		if got := Classify(c.evidence); got != c.want {
			t.Errorf("%s\n%s\ngot %s, want %s", c.where, strings.Join(c.evidence.Stack, " "), got, c.want)
		}
	}
}

// What a compiler does to names, and what printers add, changes nothing.
func TestStacksWithSuffixes(t *testing.T) {
	suffixes := []string{".isra.0", ".constprop.0", ".part.0", ".cold", ".llvm.1234567890", ".constprop.0.isra.0", "+0x1f/0x300", " [xfs]"}
	for _, c := range stackCases(t) {
		e := c.evidence
		e.Stack = nil
		for i, name := range c.evidence.Stack {
			e.Stack = append(e.Stack, name+suffixes[i%len(suffixes)])
		}
		if got := Classify(e); got != c.want {
			t.Errorf("%s with suffixes: got %s, want %s", c.where, got, c.want)
		}
	}
}

func TestEveryRuleIsHit(t *testing.T) {
	hit := map[*rule]bool{}
	for _, c := range stackCases(t) {
		if r := explain(&c.evidence); r != nil {
			hit[r] = true
		}
	}
	for i, table := range allTables() {
		for j := range table {
			if !hit[&table[j]] {
				t.Errorf("no test stack hits rule %d of table %d: %s at %v under %v", j, i, table[j].cause, table[j].at, table[j].under)
			}
		}
	}
}

func TestEveryCauseHasAStack(t *testing.T) {
	seen := map[Cause]bool{Unattributed: true}
	for _, c := range stackCases(t) {
		seen[c.want] = true
	}
	for _, c := range Causes() {
		if !seen[c] {
			t.Errorf("no test stack for %s", c)
		}
	}
}

func TestRulesAreWellFormed(t *testing.T) {
	for _, table := range allTables() {
		for _, r := range table {
			for _, list := range [][]string{r.at, r.in, r.under, r.not} {
				for _, pattern := range list {
					if strings.Count(pattern, "*") > 1 || strings.ContainsAny(pattern, " .+[") || pattern == "" {
						t.Errorf("%s: bad pattern %q", r.cause, pattern)
					}
				}
			}
			if len(r.at) == 0 || r.cause == Unattributed {
				t.Errorf("rule without frames, or for no cause: %+v", r)
			}
		}
	}
}

func TestNoStackIsUnknown(t *testing.T) {
	for _, stack := range [][]string{nil, {}, {""}, {"."}, {"io_schedule"}, {"schedule", "some_new_function"}, {"0xffffffff81234567"}} {
		if got := Classify(Evidence{Stack: stack, Flagged: true, Syscall: "fsync"}); got != Unknown {
			t.Errorf("%v: got %s", stack, got)
		}
	}
}

// The system call decides only where no frame tells a direction.
func TestDirectionOfDirectIO(t *testing.T) {
	stack := []string{"io_schedule_timeout", "__iomap_dio_rw", "iomap_dio_rw"}
	for syscall, want := range map[string]Cause{"pread64": DirectRead, "preadv2": DirectRead, "writev": DirectWrite, "pwrite64": DirectWrite, "io_submit": Unknown, "": Unknown} {
		if got := Classify(Evidence{Stack: stack, Flagged: true, Syscall: syscall}); got != want {
			t.Errorf("%q: got %s, want %s", syscall, got, want)
		}
	}
	stack = append(stack, "ext4_file_write_iter", "vfs_write")
	if got := Classify(Evidence{Stack: stack, Flagged: true, Syscall: "pread64"}); got != DirectWrite {
		t.Errorf("frames do not win over the system call: %s", got)
	}
}

func FuzzClassify(f *testing.F) {
	for _, c := range stackCases(f) {
		e := c.evidence
		f.Add(strings.Join(e.Stack, "\n"), e.Flagged, e.Interruptible, e.Joined, e.Kernel, e.Syscall)
	}
	f.Fuzz(func(t *testing.T, stack string, flagged, interruptible, joined, kernel bool, syscall string) {
		c := Classify(Evidence{Stack: strings.Split(stack, "\n"), Flagged: flagged, Interruptible: interruptible, Joined: joined, Kernel: kernel, Syscall: syscall})
		if c >= Unattributed {
			t.Errorf("cause %d", c)
		}
		if Words(c, syscall) == "" {
			t.Error("no words")
		}
	})
}
