// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cilium/ebpf/btf"
)

var update = flag.Bool("update", false, "write golden files anew")

// wrongFilters are mistakes; testdata/errors.txt has what is told of them.
var wrongFilters = []string{
	"", "   ", "size >", "size > 1024 &&", "(size > 4", "size > 4)", "size = 4", "size / 2 == 1", "size > 4 4",
	"siz > 4", "sizes > 4", "EIOO == 4", "p->nam == 1", "p->flag == 1", "p.n == 1", "size->n == 1", "uid->val == 1",
	"size.n == 1", "p->next.n", "p->name == 5", "p->name", "p->n == \"x\"", "\"a\" == \"b\"", "comm == comm", "comm > \"a\"",
	"comm == 'dd'", "comm == \"dd", "comm == \"a\\q\"", "comm == \"a\\x00\"", "comm == \"0123456789abcdef\"", "comm ~ \"a*b*\"", "comm ~ \"*\"",
	"s == \"" + strings.Repeat("y", 64) + "\"", "p->name == \"0123456789abcdefg\"",
	"flags & 0x10 == 0", "1 < size < 5", "size < 0", "size >= 0", "size > -1", "arg2 < 0", "arg2 == -1", "arg1->n", "arg1 == \"x\"",
	"p + 1 == 2", "-p", "~p->on", "size << 64", "p->table[4] == 1", "p->table[x]", "p->table[-1]", "p->n[1]", "p->table", "p->low == 9", "tiny == 256",
	"12x", "0x", "0xg", "08", "99999999999999999999", "99999999999G", "5 ms", "1.5ms > latency", "@", "é > 4", "a\x00b",
	"(struct inode *)arg1->i_ino == 4", "(struct node)p == 4", "(int)p->name == 1", "(unsigned unsigned)size", "(float)size", "*size", "big.a", "late", "seventh",
	"arg.nothing == 1", "ret == 1", strings.Repeat("(", 60) + "1", strings.Repeat("!", 60) + "1",
	"per->n == 1", "void_p->x", "*void_p == 1", "p->", "p->4", "[1]", "&size == 4", "size == \"4\"", "p == \"x\"", "size ~ \"4\"", "not", "and 4",
}

// mistaken is a function that gives more to be mistaken about.
func mistaken() *Scope {
	out := made(&btf.Void{})
	proto := out.Function.Type.(*btf.FuncProto)
	node := proto.Params[0].Type.(*btf.Pointer).Target
	big := &btf.Struct{Name: "big", Size: 16, Members: []btf.Member{{Name: "a", Type: cU64}}}
	proto.Params = []btf.FuncParam{
		proto.Params[0], proto.Params[1], proto.Params[2], proto.Params[3], proto.Params[4], proto.Params[5],
		{Name: "seventh", Type: cInt},
	}
	proto.Params[5] = btf.FuncParam{Name: "per", Type: &btf.Pointer{Target: &btf.TypeTag{Type: node, Value: "percpu"}}}
	proto.Params = append(proto.Params[:6:6], btf.FuncParam{Name: "void_p", Type: &btf.Pointer{Target: &btf.Void{}}}, proto.Params[6])
	proto.Params[4], proto.Params[6] = proto.Params[6], proto.Params[4]
	proto.Params = append(proto.Params, btf.FuncParam{Name: "tiny", Type: cU8}, btf.FuncParam{Name: "big", Type: big}, btf.FuncParam{Name: "late", Type: cInt})
	return out
}

// TestErrors: each mistake is told in one sentence, with its place marked.
func TestErrors(t *testing.T) {
	var got strings.Builder
	scope := mistaken()
	for _, text := range wrongFilters {
		_, err := scope.Filter(text)
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q was accepted", text)
			continue
		}
		fmt.Fprintf(&got, "%s%s\n\n", wrong.Marked(), wrong)
	}
	const golden = "testdata/errors.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s differs: -update writes it anew; got\n%s", golden, got.String())
	}
}

// TestWrongFieldListsTheStruct: all fields, the nearest first, through anonymous ones too.
func TestWrongFieldListsTheStruct(t *testing.T) {
	_, err := made(cInt).Filter("p->wid > 4")
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.At != 3 || len(wrong.Near) != 15 || wrong.Near[0] != "wide" {
		t.Fatalf("%+v", wrong)
	}
}

// TestAWrongNameListsTheArguments: those of the function in their order, behind what is near.
func TestAWrongNameListsTheArguments(t *testing.T) {
	for text, want := range map[string]string{
		"nosuch > 1":     "p size flags s void_p per uid seventh tiny big late ret latency pid tid cpu comm",
		"sise > 1":       "size p flags s void_p per uid seventh tiny big late ret latency pid tid cpu comm",
		"tru == 1":       "true p size flags s void_p per uid seventh tiny big late ret latency pid tid cpu comm",
		"arg.nosuch > 1": "p size flags s void_p per uid seventh tiny big late",
	} {
		_, err := mistaken().Filter(text)
		var wrong *Error
		if !errors.As(err, &wrong) || strings.Join(wrong.Near, " ") != want {
			t.Errorf("%s: %+v", text, wrong)
		}
	}
}

// FuzzFilter: whatever is written, there is no panic, and an error has its
// place within the text. What is accepted compiles, or is told to be too much.
func FuzzFilter(f *testing.F) {
	for _, text := range wrongFilters {
		f.Add(text)
	}
	for _, text := range exampleFilters {
		f.Add(text)
	}
	f.Add("(struct task_struct *)arg1->signal->rlim[7].rlim_cur == PIDTYPE_PID")
	scopes := []*Scope{made(cInt), mistaken(), {}}
	if types, err := btf.LoadKernelSpec(); err == nil {
		scopes = append(scopes, &Scope{Types: types})
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, scope := range scopes {
			filter, err := scope.Filter(text)
			checkError(t, text, err)
			field, err := scope.Field(text)
			checkError(t, text, err)
			var fields []*Field
			if field != nil {
				fields = append(fields, field)
			}
			if _, err := Compile(filter, fields); err != nil && !errors.Is(err, errTooDeep) && !errors.Is(err, errTooLong) && !strings.Contains(err.Error(), "are the most") {
				t.Fatal(err)
			}
		}
	})
}

func checkError(t *testing.T, text string, err error) {
	t.Helper()
	var wrong *Error
	if err == nil {
		return
	}
	if !errors.As(err, &wrong) || wrong.Text != text || wrong.At < 0 || wrong.At > len(text) || wrong.Problem == "" {
		t.Fatalf("%q: %+v", text, err)
	}
	if sentence := wrong.Error(); strings.ContainsAny(sentence, "\n\x00\x1b") || !utf8.ValidString(sentence) {
		t.Fatalf("%q: %q", text, sentence)
	}
	if marked := wrong.Marked(); !utf8.ValidString(marked) || strings.Count(marked, "\n") != 2 || strings.Contains(marked, "\x1b") {
		t.Fatalf("%q: %q", text, marked)
	}
}
