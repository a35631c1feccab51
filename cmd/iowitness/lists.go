// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/view/json"
)

// causesCmd lists the causes.
type causesCmd struct {
	Markdown bool `help:"As a document."`
}

// Run prints them.
func (c *causesCmd) Run(s *streams) error {
	if c.Markdown {
		return blame.WriteReference(s.out)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, cause := range blame.Causes() {
		fmt.Fprintf(w, "%s\t%s\n\t%s\n\tNext: %s\n", cause.ID(), cause.Title(), cause.Explain(), cause.Next())
	}
	return w.Flush()
}

// fieldsCmd describes the output.
type fieldsCmd struct {
	Schema bool `help:"The JSON schema of the documents of --json."`
}

// Run prints it.
func (c *fieldsCmd) Run(s *streams) error {
	if c.Schema {
		_, err := s.out.Write(json.Schema())
		return err
	}
	return snapshot.WriteFieldReference(s.out)
}
