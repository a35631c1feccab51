// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

const referenceHead = `<!-- Made by ` + "`make generate`" + ` from the tables in probe/ and diagnosis/; do not edit. -->

# What works on a host, and why other things do not

` + "`iowitness doctor`" + ` tries each means of witnessing waits on the running kernel: it loads and attaches the smallest program or
probe of its kind, sees that the kernel runs it, and detaches it; then it opens what iowitness itself attaches, with nothing
witnessed yet. Files only explain what the trial has found. It needs no privileges, and says what it could not try without them.
Exit status 0: some means works; 3: none does.

Under lockdown it leaves debugfs alone. A limit of locked memory is blamed only where a trial has shown that it counts. What it puts
into the tracing file system has iowitness's name and is removed at once, or by the next run if it is killed in between.
`

// WriteReference writes docs/DOCTOR.md.
func WriteReference(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, referenceHead)
	writeMeans(b)
	writeDocument(b)
	writeDenials(b)
	return b.Flush()
}

func writeMeans(w io.Writer) {
	fmt.Fprint(w, "\n## Means\n\nIn order of preference. What is lost is against the first.\n\n| id | what | needs | loses |\n|---|---|---|---|\n")
	for i := range Descriptions {
		d := &Descriptions[i]
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", d.Means, d.Title, strings.Join(d.Needs, "; "), strings.Join(d.Loses, "; "))
	}
}

func writeDocument(w io.Writer) {
	fmt.Fprint(w, "\n## The document of `--json`\n\n`iowitness doctor --schema` prints its JSON schema. Ids and keys are stable; what is not known is null.\n")
	for _, t := range []struct {
		title  string
		fields []diagnosis.Field
	}{
		{"The document", diagnosis.DocumentFields},
		{"An element of means", diagnosis.MeansFields},
		{"An element of verbs", diagnosis.VerbFields},
		{"An element of functions", diagnosis.FunctionFields},
		{"A fact", diagnosis.FactFields},
		{"Facts", diagnosis.FactTable},
	} {
		fmt.Fprintf(w, "\n### %s\n\n| key | type | meaning |\n|---|---|---|\n", t.title)
		for i := range t.fields {
			f := &t.fields[i]
			kind := string(f.Kind)
			if f.Nullable {
				kind += ", null"
			}
			fmt.Fprintf(w, "| `%s` | %s | %s |\n", f.ID, kind, f.Help)
		}
	}
}

func writeDenials(w io.Writer) {
	fmt.Fprint(w, "\n## Functions that are never probed\n\nBeside the kernel's own blacklist. `*` stands for any characters.\n\n| names | because |\n|---|---|\n")
	for i := range Denials {
		patterns := make([]string, len(Denials[i].Patterns))
		for j, p := range Denials[i].Patterns {
			patterns[j] = "`" + p + "`"
		}
		fmt.Fprintf(w, "| %s | %s |\n", strings.Join(patterns, " "), Denials[i].Reason)
	}
}
