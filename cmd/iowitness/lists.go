// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/view/json"
)

// causesCmd lists the causes.
type causesCmd struct {
	Markdown bool   `help:"As a document."`
	Output   string `short:"o" help:"Write to this file instead." placeholder:"FILE"`
}

// Run prints them.
func (c *causesCmd) Run(s *streams) error {
	if c.Markdown {
		return writeTo(c.Output, s, blame.WriteReference)
	}
	return writeTo(c.Output, s, func(out io.Writer) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, cause := range blame.Causes() {
			fmt.Fprintf(w, "%s\t%s\n\t%s\n\tNext: %s\n", cause.ID(), cause.Title(), cause.Explain(), cause.Next())
		}
		return w.Flush()
	})
}

// fieldsCmd describes the output.
type fieldsCmd struct {
	Of     string `help:"What the output is of: waits, a request (a line of block I/O), or a summary of requests." default:"waits" placeholder:"WHAT"`
	Schema bool   `help:"The JSON schema of its documents, or of its lines."`
	Output string `short:"o" help:"Write to this file instead." placeholder:"FILE"`
}

// Validate checks what the flags' types cannot say.
func (c *fieldsCmd) Validate() error { return oneOf("--of", c.Of, "waits", "request", "summary") }

// Run prints it.
func (c *fieldsCmd) Run(s *streams) error { return writeTo(c.Output, s, c.writer()) }

func (c *fieldsCmd) writer() func(io.Writer) error {
	switch {
	case !c.Schema && c.Of == "waits":
		return snapshot.WriteFieldReference
	case !c.Schema:
		return request.WriteReference
	case c.Of == "request":
		return json.WriteLineSchema
	case c.Of == "summary":
		return json.WriteRequestsSchema
	}
	return json.WriteSchema
}
