// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
)

// witness is a running iowitness that writes JSON to a file.
type witness struct {
	*child
	file string
}

// startWitness starts iowitness as a collector would run it, and waits until it is attached.
func startWitness(ctx context.Context, b *bench, name string) (*witness, error) {
	w := &witness{file: filepath.Join(b.scratch, name+".json")}
	w.child = newChild(syscall.SIGKILL, b.iowitness, "--json", "--interval", "1s", "-o", w.file)
	if err := w.start(); err != nil {
		return nil, err
	}
	if _, err := awaitPrograms(ctx, w.child); err != nil {
		w.interrupt(toolEnds)
		return nil, err
	}
	return w, nil
}

// finish ends it and reads what it wrote.
func (w *witness) finish() ([]document, error) {
	if err := w.alive(); err != nil {
		return nil, fmt.Errorf("too early: %w", err)
	}
	if err := w.interrupt(toolEnds); err != nil {
		return nil, err
	}
	if !w.cmd.ProcessState.Success() {
		return nil, fmt.Errorf("iowitness failed: %s", w.lastWords())
	}
	return readDocuments(w.file)
}
