// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"

	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// doctorCmd says what works on this host, and why other things do not.
type doctorCmd struct {
	Json     bool   `help:"Print a JSON document." xor:"form"`
	Schema   bool   `help:"Print the JSON schema of the document, and try nothing." xor:"form"`
	Markdown bool   `help:"Print the page that describes the document, and try nothing." xor:"form" hidden:""`
	Btf      string `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	Output   string `short:"o" help:"Write to this file instead." placeholder:"FILE"`
}

// Run tries each means and prints what became of it. Exit status 3: none works.
func (c *doctorCmd) Run(s *streams) error {
	switch {
	case c.Schema:
		return writeTo(c.Output, s, json.WriteDoctorSchema)
	case c.Markdown:
		return writeTo(c.Output, s, probe.WriteReference)
	}
	if c.Btf != "" {
		if _, err := os.Stat(c.Btf); err != nil {
			return err
		}
	}
	r := probe.Diagnose("/", probe.DiagnoseOptions{BTF: c.Btf, Version: version()})
	err := writeTo(c.Output, s, func(w io.Writer) error {
		if c.Json {
			return json.WriteDoctor(w, r)
		}
		terminal := text.Inspect(s.out, os.Getenv)
		return text.Doctor(w, r, terminal.Apply(text.Options{}))
	})
	if err == nil && !r.AnyUsable() {
		err = exitStatus(exitUnsupported)
	}
	return err
}
