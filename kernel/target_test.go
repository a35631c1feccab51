// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/kernel"
)

const targetSymbols = `0000000000000000 T _stext
ffffffff81000100 t __pfx_io_schedule
ffffffff81000108 t __cfi_io_schedule
ffffffff81000110 T io_schedule
ffffffff81000200 t finish_task_switch.isra.0
ffffffff81000280 t finish_task_switch.isra.0.cold
ffffffff81000300 t blk_mq_get_tag.cold
ffffffff81000310 t blk_mq_get_tag.cold.7
ffffffff81000320 D jbd2_log_wait_commit
ffffffff81000400 t do_get_write_access.part.0
ffffffff81000410 t do_get_write_access.constprop.12
ffffffff81000420 t do_get_write_access.part.0.cold
ffffffff81000430 t do_get_write_access.9
ffffffff81000500 t wait_on
ffffffff81000510 t wait_on
ffffffff81000520 t wait_on.part.3
ffffffff81000600 t rq_qos_wait.llvm.1234567890
ffffffffc0000000 t xfs_buf_iowait	[xfs]
ffffffffc0000010 t request_wait_answer	[fuse]
ffffffffc0000020 t request_wait_answer	[virtiofs]
ffffffffc0000030 t io_schedule	[odd]
ffffffffc0000040 t wait_on	[bpf]
ffffffffc0000050 t gone	[__builtin__ftrace]
`

func TestTargets(t *testing.T) {
	type symbols = []kernel.TargetSymbol
	for _, c := range []struct {
		name     string
		taken    symbols
		left     symbols
		changed  bool
		multiple bool
		says     string
	}{
		{"io_schedule", symbols{{"io_schedule", "", 1}}, symbols{{"io_schedule", "odd", 1}}, false, false, "io_schedule [odd] is not seen"},
		{"finish_task_switch", symbols{{"finish_task_switch.isra.0", "", 1}}, nil, true, false, "finish_task_switch.isra.0, which the compiler made of it; its arguments may be changed"},
		{"finish_task_switch.isra.0", symbols{{"finish_task_switch.isra.0", "", 1}}, nil, true, false, "may be changed"},
		{"blk_mq_get_tag", nil, nil, false, false, "inlined"},
		{"jbd2_log_wait_commit", nil, nil, false, false, "no such function"},
		{"do_get_write_access", symbols{{"do_get_write_access.constprop.12", "", 1}, {"do_get_write_access.part.0", "", 1}}, nil, true, false, "constprop.12, do_get_write_access.part.0"},
		{"wait_on", symbols{{"wait_on", "", 2}}, symbols{{"wait_on.part.3", "", 1}}, false, true, "2 functions are called wait_on; what runs by wait_on.part.3 is not seen"},
		{"rq_qos_wait", symbols{{"rq_qos_wait.llvm.1234567890", "", 1}}, nil, false, false, "taken as"},
		{"xfs_buf_iowait", symbols{{"xfs_buf_iowait", "xfs", 1}}, nil, false, false, "in module xfs"},
		{"request_wait_answer", symbols{{"request_wait_answer", "fuse", 1}, {"request_wait_answer", "virtiofs", 1}}, nil, false, false, "in module fuse"},
		{"gone", nil, nil, false, false, "no such function"},
		{"_stext", symbols{{"_stext", "", 1}}, nil, false, false, ""}, // hidden addresses do not matter
	} {
		t.Run(c.name, func(t *testing.T) {
			targets, err := kernel.ParseTargets(strings.NewReader(targetSymbols), []string{c.name})
			if err != nil {
				t.Fatal(err)
			}
			got := targets[0]
			if diff := cmp.Diff(c.taken, append(symbols(nil), got.Taken()...)); diff != "" {
				t.Error("taken", diff)
			}
			if diff := cmp.Diff(c.left, append(symbols(nil), got.Left()...)); diff != "" {
				t.Error("left", diff)
			}
			if got.ArgumentsChanged() != c.changed || got.Ambiguous() != c.multiple {
				t.Errorf("changed %v, ambiguous %v", got.ArgumentsChanged(), got.Ambiguous())
			}
			if says := got.Sentence(); !strings.Contains(says, c.says) || c.says == "" && says != "" {
				t.Errorf("%q does not say %q", says, c.says)
			}
		})
	}
}

func TestTargetsAreInTheOrderAskedFor(t *testing.T) {
	root := tree(t, map[string]string{"proc/kallsyms": targetSymbols})
	targets, err := kernel.FindTargets(root, []string{"wait_on", "nothing", "io_schedule", "wait_on"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 0, 2, 2} {
		if len(targets[i].Found) != want {
			t.Errorf("%d: %+v", i, targets[i])
		}
	}
	if _, err := kernel.FindTargets(t.TempDir(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := kernel.ParseTargets(strings.NewReader("0 D x\n"), nil); !errors.Is(err, kernel.ErrNoSymbols) {
		t.Errorf("no functions: %v", err)
	}
}

func TestTargetsOfThisKernel(t *testing.T) {
	targets, err := kernel.FindTargets("/", []string{"io_schedule", "io_schedule_timeout", "no_such_function_at_all"})
	if err != nil {
		t.Skip(err)
	}
	for _, target := range targets[:2] {
		if taken := target.Taken(); len(taken) != 1 || taken[0].Name != target.Name || target.ArgumentsChanged() {
			t.Errorf("%+v", target)
		}
	}
	if len(targets[2].Found) != 0 {
		t.Errorf("%+v", targets[2])
	}
}

func FuzzParseTargets(f *testing.F) {
	f.Add(targetSymbols, "wait_on")
	f.Add("1 t a.cold\n1 t a.part.0\n", "a")
	f.Fuzz(func(t *testing.T, text, name string) {
		targets, err := kernel.ParseTargets(strings.NewReader(text), []string{name})
		if err != nil {
			return
		}
		for _, s := range targets[0].Found {
			if s.Name != name && (strings.Contains(s.Name, ".cold") || kernel.BaseName(s.Name) != name && !strings.HasPrefix(s.Name, name+".")) || s.Copies < 1 {
				t.Errorf("%q gave %+v", name, s)
			}
		}
	})
}

// BenchmarkFindTargets: what it keeps must not grow with the number of symbols.
func BenchmarkFindTargets(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kernel.FindTargets("/", []string{"io_schedule", "folio_wait_bit_common"}); err != nil {
			b.Skip(err)
		}
	}
}
