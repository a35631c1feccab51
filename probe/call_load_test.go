// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/iowitness/iowitness/expr"
)

// loadCopies has the verifier look at the programs that return probes would run, also
// where the kernel lets nobody attach them.
func loadCopies(t *testing.T, o CallOptions, where string, fields ...string) {
	t.Helper()
	find, targets := findCalls(t, "vfs_write")
	target := targets[0]
	var filter *expr.Filter
	var err error
	if where != "" {
		if filter, err = target.Scope().Filter(where); err != nil {
			t.Fatal(err)
		}
	}
	var captured []*expr.Field
	for _, text := range fields {
		field, err := target.Scope().Field(text)
		if err != nil {
			t.Fatal(err)
		}
		captured = append(captured, field)
	}
	if filter != nil || captured != nil {
		if target.Program, err = expr.Compile(filter, captured); err != nil {
			t.Fatal(err)
		}
	}
	w := &Calls{via: Kretprobe, options: o, targets: targets, gen: 1}
	if w.spec, err = loadCall(); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.configure(find.types); err != nil {
		t.Fatal(err)
	}
	if err := w.loadBase(find); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"call_kprobe", "call_kretprobe"} {
		program, err := w.copyFor(name, 0, target)
		if err != nil {
			t.Fatal(err)
		}
		own := &ebpf.CollectionSpec{Maps: w.spec.Maps, Types: w.spec.Types, ByteOrder: w.spec.ByteOrder, Programs: map[string]*ebpf.ProgramSpec{name: program}}
		loaded, err := ebpf.NewCollectionWithOptions(own, find.collectionOptions(w.collection.Maps))
		if err != nil {
			refused := new(ebpf.VerifierError)
			if errors.As(err, &refused) {
				t.Log(strings.Join(refused.Log[max(len(refused.Log)-60, 0):], "\n"))
			}
			t.Errorf("%s: %v", name, err)
			continue
		}
		info, err := loaded.Programs[name].Info()
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := info.VerifiedInstructions(); ok {
			t.Logf("%s: %d instructions verified", name, n)
		}
		loaded.Close()
	}
}

// TestTheVerifierTakesCalls, whatever is asked of them.
func TestTheVerifierTakesCalls(t *testing.T) {
	all := CallBy{Process: true, Thread: true, CPU: true, Comm: true, Cgroup: true, Stack: true}
	for name, c := range map[string]struct {
		o      CallOptions
		where  string
		fields []string
	}{
		"sums":            {o: CallOptions{Sums: true}},
		"all keys":        {o: CallOptions{Sums: true, By: all, KeyWords: 2}, fields: []string{"count", "ret"}},
		"records":         {o: CallOptions{Records: true}},
		"records, fields": {o: CallOptions{Records: true}, where: "count == 7", fields: []string{"file->f_path.dentry->d_name.name", "count", "ret"}},
		"records, stacks": {o: CallOptions{Records: true, Stacks: true, Slower: 1, UsesComm: true}, where: `comm == "dd" && ret < 0`, fields: []string{"file", "buf", "count", "pos"}},
		"inside":          {o: CallOptions{Records: true, Inside: true}, fields: []string{"file", "buf", "count", "pos"}},
		"by hash":         {o: CallOptions{Sums: true, Records: true, hash: true, Comm: "dd", Follow: true}, fields: []string{"file->f_inode->i_ino"}},
	} {
		t.Run(name, func(t *testing.T) { loadCopies(t, c.o, c.where, c.fields...) })
	}
}

// TestTheVerifierTakesTypedCalls: what fentry and fexit would run, on a tracepoint that has types too,
// as some hosts let nobody load those.
func TestTheVerifierTakesTypedCalls(t *testing.T) {
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"call_fentry", "call_fexit"} {
		w := &Calls{via: Fexit, options: CallOptions{Sums: true, By: CallBy{Comm: true}}, gen: 1}
		if w.spec, err = loadCall(); err != nil {
			t.Fatal(err)
		}
		if err := w.configure(find.types); err != nil {
			t.Fatal(err)
		}
		program, err := w.copyFor(name, 0, &CallTarget{Name: "sched_switch"})
		if err != nil {
			t.Fatal(err)
		}
		program.AttachType = ebpf.AttachTraceRawTp
		w.spec.Programs = map[string]*ebpf.ProgramSpec{name: program}
		loaded, err := ebpf.NewCollectionWithOptions(w.spec, find.collectionOptions(nil))
		if err != nil {
			t.Errorf("%s: %+v", name, err)
			continue
		}
		loaded.Close()
	}
}
