// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/iowitness/iowitness/tracefs"
)

// cleanupCmd removes what killed runs have left behind. A new run by the tracing
// file system does so by itself.
type cleanupCmd struct{}

// Run removes and prints it.
func (c *cleanupCmd) Run(s *streams) error {
	fs, err := tracefs.Open("/")
	if err != nil {
		return err
	}
	defer fs.Close()
	found, err := fs.Cleanup()
	return errors.Join(err, tellLeftovers(s.out, found))
}

// tellLeftovers prints what was found and what became of each; what could not be
// removed is an error.
func tellLeftovers(w io.Writer, found []tracefs.Leftover) error {
	failed := 0
	for _, l := range found {
		if l.Err != nil {
			failed++
		}
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d left-overs could not be removed: run it as root, when nothing traces by them", failed, len(found))
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "nothing was left behind")
		return err
	}
	return nil
}
