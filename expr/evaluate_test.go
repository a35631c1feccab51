// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func compileText(t *testing.T, where string, fields ...string) *Program {
	t.Helper()
	scope := made(cInt)
	var filter *Filter
	var captured []*Field
	if where != "" {
		var err error
		if filter, err = scope.Filter(where); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	for _, text := range fields {
		field, err := scope.Field(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		captured = append(captured, field)
	}
	p, err := Compile(filter, captured)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestWhatTheTracerCanTest: the parts of a filter that are comparisons of registers.
func TestWhatTheTracerCanTest(t *testing.T) {
	for where, want := range map[string]string{
		"size > 4K":                          "arg2 > 4096",
		"size == 7 && arg1 != 0":             "arg2 == 7 && arg1 != 0",
		"flags < 0 || tiny >= 3":             "(arg3_s32 < 0 || arg6_u8 >= 3)",
		"!(flags == 5 || size > 1)":          "arg3_s32 != 5 && arg2 <= 1",
		"!(flags == 5 && size > 1)":          "(arg3_s32 != 5 || arg2 <= 1)",
		"(int)arg4 == -1":                    "arg4_s32 == -1",
		"(long)arg4 < -1":                    "arg4_s64 < -1",
		"size > 1 && ret < 0":                "arg2 > 1",
		`size > 1 && comm == "dd"`:           "arg2 > 1",
		"size > 1 || ret < 0":                "",
		"(size & 3) == 1":                    "",
		"size > arg1":                        "",
		"pid == 1":                           "",
		"latency > 1ms":                      "",
		"size > 1 && (flags == 1 || pid==1)": "arg2 > 1",
	} {
		if got, _ := compileText(t, where).TraceFilter(); got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
}

func TestWhatReadsMemory(t *testing.T) {
	for text, reads := range map[string]bool{"size": false, "p": false, "uid.val": false, "comm": false, "s": true, "p->n": true} {
		if got := compileText(t, "", text).Reads() != ""; got != reads {
			t.Errorf("%s: %v", text, got)
		}
	}
	if compileText(t, "p->n == 1 && size > 1").Reads() == "" || compileText(t, "size > 1").Reads() != "" {
		t.Error("the filter is not looked at")
	}
}

// TestEvaluateMeansTheSame as the interpreter, to which compiled code is held, and the
// tracer's part of a filter lets no wanted call go.
func TestEvaluateMeansTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, where := range []string{
		"size > 4K", "flags < 0", "flags == -1 || tiny == 255", `comm == "dd"`, `comm ~ "d*" && size != 0`, `comm != "dd"`, "ret < 0 && flags > 3",
		"latency > 1us || pid == 7", "(size & 3) == 1", "size - arg1 > 5", "!(tiny > 7)", "(u8)flags == tiny", "uid.val == 5", "cpu == 1 && tid > 2", "-flags < 3", "(long)size < 0",
	} {
		p := compileText(t, where, "ret", "size", "comm", "flags", "uid.val", "size + 1")
		if p.Reads() != "" {
			t.Fatalf("%s reads memory", where)
		}
		for range 2000 {
			c := &call{}
			for i := range c.Args {
				c.Args[i] = number8(r)
			}
			c.Ret, c.Latency = number8(r), pick(r, 0, 1000, 1001, uint64(r.Uint32()))
			c.Tgid, c.Tid, c.CPU = pick[uint32](r, 7, 8), pick[uint32](r, 1, 3), pick[uint32](r, 0, 1)
			name := pick(r, "dd", "d", "cat", "")
			copy(c.Comm[:], name)
			in := &Input{Args: c.Args, Ret: c.Ret, Latency: c.Latency, TGID: c.Tgid, TID: c.Tid, CPU: c.CPU, Comm: name}
			truth := interpreter{call: c}
			want, _ := truth.value(p.filter.root)
			out := make([]byte, p.Size)
			if got := p.Evaluate(in, out); got != (want != 0) {
				t.Fatalf("%s of %+v: %v", where, in, got)
			}
			if want == 0 {
				continue
			}
			for _, slot := range p.Slots {
				raw, ok := slot.Raw(out)
				if !ok {
					t.Fatalf("%s is unreadable", slot.Field.Text)
				}
				if slot.Field.how == copyComm {
					if string(cut(raw)) != name {
						t.Errorf("%q, not %q", raw, name)
					}
				} else if value, _ := truth.value(slot.Field.from); binary.LittleEndian.Uint64(append(raw[:len(raw):len(raw)], 0, 0, 0, 0)[:8]) != value && slot.Field.Size == 8 {
					t.Errorf("%s: %x, not %x", slot.Field.Text, raw, value)
				}
			}
		}
	}
}
