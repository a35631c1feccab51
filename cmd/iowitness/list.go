// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// listCmd says what can be probed.
type listCmd struct {
	Patterns []string `arg:"" optional:"" help:"Functions by name or pattern; 'ext4:*' are the functions of a module and the tracepoints of a group."`

	Tracepoints bool     `help:"Patterns are of tracepoints alone; without any, all are listed."`
	Fields      bool     `aliases:"struct" help:"Show the fields of the structs that the functions get and return, as --where takes them; of tracepoints those of their records."`
	Of          []string `help:"Show the fields of this instead, such as 'file->f_path.dentry'." placeholder:"EXPRESSION" sep:"none"`
	Json        bool     `help:"Print a JSON document." xor:"form"`
	Schema      bool     `help:"Print the JSON schema of the document, and look at nothing." xor:"form"`
	Markdown    bool     `help:"Print the page that describes the document, and look at nothing." xor:"form" hidden:""`
	Btf         string   `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	Output      string   `short:"o" help:"Write to this file instead." placeholder:"FILE"`
}

// Validate checks what the flags' types cannot say.
func (c *listCmd) Validate() error {
	switch {
	case c.Schema || c.Markdown:
		return nil
	case len(c.Of) > 0 && c.Tracepoints:
		return errors.New("--of is of functions' arguments; tracepoints are listed with their fields")
	case (c.Fields && !c.Tracepoints || len(c.Of) > 0) && len(c.Patterns) == 0:
		return errors.New("--fields and --of: name the function, such as vfs_read")
	}
	return nil
}

// Run prints what there is.
func (c *listCmd) Run(s *streams) error {
	switch {
	case c.Schema:
		return writeTo(c.Output, s, json.WriteCatalogSchema)
	case c.Markdown:
		return writeTo(c.Output, s, diagnosis.WriteCatalogReference)
	}
	found, err := probe.List("/", probe.ListOptions{
		Patterns: c.Patterns, Tracepoints: c.Tracepoints, Fields: c.Fields, Of: c.Of, BTF: c.Btf, Version: version(),
	})
	if errors.Is(err, probe.ErrNoFunction) || errors.As(err, new(*expr.Error)) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	return writeTo(c.Output, s, func(w io.Writer) error {
		if c.Json {
			return json.WriteCatalog(w, found)
		}
		terminal := text.Inspect(s.out, os.Getenv)
		if err := text.Catalog(w, found, terminal.Apply(text.Options{})); err != nil || len(c.Patterns) > 0 || c.Tracepoints {
			return err
		}
		_, err := fmt.Fprint(w, "\niowitness list 'ext4_*' lists functions, 'block:*' those of a module and tracepoints of a group, --tracepoints all\n"+
			"tracepoints, vfs_read --fields what can be asked of its arguments\n")
		return err
	})
}
