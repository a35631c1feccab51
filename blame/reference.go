// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"fmt"
	"io"
	"strings"
)

// WriteReference writes docs/CAUSES.md.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Made by `make generate` from the table in blame/; do not edit. -->\n\n# Causes of waiting\n\n" +
		"Ids are stable: they are used in JSON and by `--cause`.\n\n| id | what | next |\n|---|---|---|\n")
	for _, c := range Causes() {
		fmt.Fprintf(&b, "| `%s` | **%s.** %s | %s |\n", c.ID(), c.Title(), c.Explain(), c.Next())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
