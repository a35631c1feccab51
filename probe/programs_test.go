// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// tellPrograms tells what each program of a witness is and has cost so far. A
// means without programs has none to tell.
func tellPrograms(t *testing.T, w Witness) {
	t.Helper()
	b, ok := w.(*bpfWitness)
	if !ok {
		return
	}
	told := map[string]*fact.Program{}
	for name, p := range b.collection.Programs {
		addProgram(t, told, b, name, p)
	}
	for _, p := range b.calls.programs {
		info, err := p.Info()
		if err != nil {
			t.Fatal(err)
		}
		addProgram(t, told, b, info.Name, p)
	}
	for _, p := range told {
		lab.Fact(t, fact.KindProgram, p)
	}
}

func addProgram(t *testing.T, told map[string]*fact.Program, w *bpfWitness, name string, p *ebpf.Program) {
	t.Helper()
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	stats, err := p.Stats()
	if err != nil {
		t.Fatal(err)
	}
	one := told[name]
	if one == nil {
		one = &fact.Program{Via: string(w.means), Name: name, Point: pointOf(name, w.means)}
		told[name] = one
	}
	if verified, known := info.VerifiedInstructions(); known {
		one.Verified = max(one.Verified, verified)
	}
	one.Runs += stats.RunCount
	one.NS += uint64(stats.Runtime)
}

func pointOf(program string, via Means) string {
	for _, p := range Table {
		if p.Programs[via] == program {
			return p.Group + ":" + p.Point
		}
	}
	return ""
}

// TestFunctionsOfThisKernel tells which functions of the table there are. Those
// in which direct and buffered reads sleep are on each kernel.
func TestFunctionsOfThisKernel(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	var f fact.Functions
	for _, one := range Functions {
		if names := symbols()[one.Name]; len(names) > 0 {
			f.Present = append(f.Present, names...)
		} else {
			f.Absent = append(f.Absent, one.Name)
		}
	}
	for _, name := range sleepers {
		if !slices.Contains(f.Present, name) {
			t.Errorf("this kernel lacks %s", name)
		}
	}
	lab.Fact(t, fact.KindFunctions, f)
}
