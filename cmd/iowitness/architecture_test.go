// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

// mayImport is the picture of ARCHITECTURE.md: what each package may import of ours.
var mayImport = map[string][]string{
	"event":                     {},
	"kernel":                    {"spelling"},
	"diagnosis":                 {},
	"diagnosis/diagnosistest":   {"diagnosis"},
	"blame":                     {"event", "spelling"},
	"identity":                  {"event"},
	"probe":                     {"event", "kernel", "diagnosis", "tracefs", "kmod", "taskstats", "expr", "spelling"},
	"call":                      {"event", "expr", "snapshot", "diagnosis"},
	"call/calltest":             {"event", "expr", "snapshot", "call"},
	"failure":                   {"event", "snapshot", "diagnosis"},
	"failure/failuretest":       {"event", "snapshot", "failure"},
	"snapshot":                  {"event", "blame", "spelling"},
	"snapshot/snapshottest":     {"event", "blame", "snapshot"},
	"filesystem":                {"event", "blame", "snapshot", "diagnosis"},
	"filesystem/filesystemtest": {"event", "blame", "snapshot", "filesystem"},
	"scheduling":                {"event", "snapshot", "diagnosis", "profile", "symbol"},
	"scheduling/schedulingtest": {"event", "snapshot", "profile", "symbol", "scheduling"},
	"request":                   {"event", "snapshot", "spelling"},
	"request/requesttest":       {"event", "snapshot/snapshottest", "request"},
	"view/text":                 {"event", "blame", "snapshot", "request", "filesystem", "call", "failure", "identity", "diagnosis", "symbol", "profile", "scheduling"},
	"view/json":                 {"event", "blame", "snapshot", "request", "filesystem", "call", "failure", "identity", "diagnosis", "symbol", "profile", "scheduling"},
	"view/csv":                  {"event", "snapshot", "request", "identity"},
	"view/folded":               {"symbol", "profile", "identity"},
	"view/pprof":                {"symbol", "profile", "identity"},
	"view/flame":                {"symbol", "profile", "identity"},
	"symbol":                    {},
	"profile":                   {"symbol", "diagnosis"},
	"profile/profiletest":       {"symbol", "profile"},
	"taskstats":                 {"event", "identity"},
	"lab":                       {"event", "lab/fact"},
	"lab/fact":                  {},
	"lab/report":                {"lab/fact"},
	"lab/kernels":               {},
	"lab/vm":                    {"lab/fact", "lab/kernels"},
	"lab/guest":                 {"lab/vm"},
	"lab/run":                   {"lab", "lab/fact", "lab/kernels", "lab/vm", "lab/modules", "kmod"},
	"lab/modules":               {},
	"kmod":                      {"kernel"},
	"tracefs":                   {"kernel"},
	"bench":                     {},
	"blktrace":                  {"event"},
	"expr":                      {"spelling"},
	"spelling":                  {},
	"cmd/iowitness/signals":     {},
	"cmd/iowitness":             {"cmd/iowitness/signals", "event", "kernel", "blame", "identity", "probe", "snapshot", "request", "filesystem", "view/text", "view/json", "view/csv", "kmod", "diagnosis", "tracefs", "blktrace", "call", "failure", "expr", "symbol", "profile", "view/folded", "view/pprof", "view/flame", "scheduling", "spelling"},
}

// TestDataFlowsOneWay: probe, event, blame, snapshot, view; and blame does no I/O.
func TestDataFlowsOneWay(t *testing.T) {
	const module = "github.com/iowitness/iowitness/"
	if lab.Guest() {
		t.Skip("needs the go command")
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}:{{join .Imports " "}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		name := strings.TrimPrefix(path, module)
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("package %s has no place in the picture", name)
		}
		for _, imported := range strings.Fields(imports) {
			if ours, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s", name, ours)
			}
			if name == "blame" && slices.Contains([]string{"os", "net", "os/exec", "io/fs", "syscall"}, imported) {
				t.Errorf("blame imports %s: it is values in, values out", imported)
			}
		}
	}
}
