// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/spelling"
	"github.com/iowitness/iowitness/view/json"
)

// errorsCmd tells what fails, and where in the kernel it began.
type errorsCmd struct {
	Functions []string      `help:"Witness the returns of these functions, by name or pattern, instead of those that iowitness knows." placeholder:"PATTERN"`
	Families  []string      `help:"Witness only these families of functions: exec, path, file, socket, mount, process." placeholder:"ID"`
	Attach    time.Duration `help:"Attach to functions for no longer than this; the rest is left out, and told." name:"attach-for" default:"10s" placeholder:"10s"`
	For       time.Duration `help:"Witness for this long." placeholder:"10s"`
	Pid       []uint32      `help:"Only these processes."`
	Comm      string        `help:"Only threads of this name." placeholder:"NAME"`
	Cgroup    string        `help:"Only threads in this cgroup or below." placeholder:"PATH"`
	Json      bool          `help:"Print JSON."`
	Schema    bool          `help:"Print the JSON schema, and witness nothing."`
	Markdown  bool          `help:"Print the page that describes the document, and witness nothing." hidden:""`
	Output    string        `short:"o" help:"Write to this file instead." placeholder:"FILE"`
	MaxRate   uint32        `type:"count" help:"Failed calls told one by one in a second, for each CPU; those beyond it are only counted." default:"1000" placeholder:"N"`
	MaxCost   float64       `type:"percent" help:"Percent of one CPU that witnessing may cost before it leaves out stacks, then detaches; 0: no limit." default:"10" placeholder:"PERCENT"`
	MaxTime   time.Duration `help:"End by itself after this long, whatever happens." placeholder:"10m"`
	Via       string        `help:"Witness functions only by this means: fexit, kprobe_multi or kretprobe; none: only system calls and signals." placeholder:"MEANS"`
	Btf       string        `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	Buffer    uint32        `type:"buffer" help:"KiB of the ring between kernel and program, a power of two." default:"4096"`

	command  []string // after "--"
	via      probe.Means
	families []probe.Family
}

func (c *errorsCmd) take(command []string) error {
	c.command = command
	return nil
}

// Validate checks what the flags' types cannot say.
func (c *errorsCmd) Validate() (err error) {
	if c.via, err = parseVia(c.Via, probe.ParseErrorMeans); err != nil {
		return err
	}
	if len(c.Families) > 0 && len(c.Functions) > 0 {
		return errors.New("--families and --functions exclude each other")
	}
	c.families, err = chooseFamilies(c.Families)
	return err
}

// chooseFamilies finds families by id; all if none is named.
func chooseFamilies(ids []string) ([]probe.Family, error) {
	if len(ids) == 0 {
		return probe.Families, nil
	}
	var chosen []probe.Family
	var known []string
	for _, f := range probe.Families {
		known = append(known, f.ID)
		if slices.Contains(ids, f.ID) {
			chosen = append(chosen, f)
		}
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return nil, spelling.Unknown("--families: no family", id, known)
		}
	}
	return chosen, nil
}

// Run witnesses until it is told to end.
func (c *errorsCmd) Run(s *streams) error {
	switch {
	case c.Markdown:
		return writeTo(c.Output, s, failure.WriteReference)
	case c.Schema:
		return writeTo(c.Output, s, json.WriteFailuresSchema)
	}
	return runSession(s, c.Output, c.command != nil, func(_ *os.File, end *ending) (*errorsSession, error) {
		find, targets, err := c.resolve()
		if err != nil {
			return nil, err
		}
		r := &errorsSession{flags: c, facts: kernel.Read("/")}
		return r, r.open(find, targets, end)
	}, (*errorsSession).watch)
}

// resolve finds the functions whose returns are witnessed.
func (c *errorsCmd) resolve() (find *probe.CallTargets, targets []*probe.CallTarget, err error) {
	if find, err = probe.NewCallTargets(c.Btf); err != nil || c.via == probe.NoFunctions {
		return find, nil, err
	}
	if len(c.Functions) == 0 {
		targets, err = find.FindFamilies(c.families)
		if errors.Is(err, kernel.ErrNoSymbols) {
			return find, nil, nil // which opening tells
		}
		return find, targets, err
	}
	if targets, _, err = find.Find(c.Functions); err != nil {
		return find, nil, err
	}
	if targets = probe.ErrorTargets(targets); len(targets) == 0 {
		return find, nil, fmt.Errorf("%s %w: none of these functions returns an error", strings.Join(c.Functions, ", "), probe.ErrNoFunction)
	}
	return find, targets, nil
}
