// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/view/json"
)

// fsCmd watches calls to file systems.
type fsCmd struct {
	Paths   []string `arg:"" optional:"" help:"Only the file systems on which these are: mount points, or any file or directory."`
	Compare bool     `help:"Set two file systems side by side: the first is A, the second B."`

	For      time.Duration `help:"Watch for this long, then print one report." placeholder:"10s"`
	Interval time.Duration `type:"interval" help:"Length of an interval of the live view." placeholder:"1s"`
	Pid      []uint32      `help:"Only these processes."`
	Comm     string        `help:"Only threads of this name." placeholder:"NAME"`
	Top      *int          `type:"rows" help:"Show this many rows of files and processes (0: all)." placeholder:"N"`
	Json     bool          `help:"Print JSON: one document for each interval."`
	Schema   bool          `help:"Print the JSON schema of the documents, and watch nothing."`
	Markdown bool          `help:"Print the page that describes the documents, and watch nothing." hidden:""`
	Output   string        `short:"o" help:"Write to this file instead." placeholder:"FILE"`
	MaxCost  float64       `type:"percent" help:"Percent of one CPU that witnessing may cost before it leaves out causes, then detaches; 0: no limit." default:"5" placeholder:"PERCENT"`
	MaxTime  time.Duration `help:"End by itself after this long, whatever happens." placeholder:"10m"`
	Via      string        `help:"Witness only by this means: tp_btf or raw_tp." placeholder:"MEANS"`
	Btf      string        `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`

	via probe.Means
}

// Validate checks what the flags' types cannot say.
func (c *fsCmd) Validate() (err error) {
	if c.Compare && len(c.Paths) != 2 {
		return fmt.Errorf("--compare: give two mount points, not %d", len(c.Paths))
	}
	c.via, err = parseVia(c.Via, probe.ParseMeans)
	return err
}

// Run watches until it is told to end.
func (c *fsCmd) Run(s *streams) error {
	switch {
	case c.Schema:
		return writeTo(c.Output, s, json.WriteFilesystemSchema)
	case c.Markdown:
		return writeTo(c.Output, s, filesystem.WriteReference)
	}
	mounts, err := findMounts("/", c.Paths)
	if err != nil {
		return err
	}
	if c.Compare && mounts.asked[0].Dev == mounts.asked[1].Dev {
		return usageError{fmt.Errorf("%q and %q are on the same file system: there is nothing to compare", c.Paths[0], c.Paths[1])}
	}
	var view fsView
	return runSession(s, c.Output, false, func(out *os.File, _ *ending) (*fsSession, error) {
		view = c.newView(out)
		return c.openSession(mounts)
	}, func(session *fsSession, s *streams, end *ending) error { return c.watch(session, view, end, s.err) })
}

// watch closes interval after interval, shows each in the live view, and all together at the end.
func (c *fsCmd) watch(s *fsSession, view fsView, end *ending, messages *os.File) error {
	defer end.after(c.For, c.MaxTime)()
	if err := s.start(); err != nil {
		return err
	}
	if !view.each {
		end.announce(messages, "calls to file systems")
	}
	all := filesystem.NewAccumulator(s.names)
	var failed error
	for begin := s.opened; !end.reached() && !s.guard.stopped; {
		for until := end.by(intervalOf(c.Interval)); !end.reached() && !s.guard.stopped && time.Now().Before(until); {
			if err := s.gather(until); err != nil {
				return err
			}
		}
		iv, err := s.interval(begin)
		if err != nil {
			return err
		}
		begin = iv.End
		all.Add(iv)
		if !view.each {
			continue
		}
		one := filesystem.NewAccumulator(s.names)
		one.Add(iv)
		if failed = reporting(view.show(s.report(one))); failed != nil {
			break
		}
	}
	err := errors.Join(failed, end.tell(func(out *os.File) error { return c.newView(out).end(s.report(all)) }))
	if s.guard.stopped {
		err = errors.Join(err, errTooCostly)
	}
	return err
}
