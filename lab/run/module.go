// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/lab/kernels"
)

// withModule are the lines on which the module has to build.
var withModule = []kernels.Line{"5.10", "6.1", "6.12"}

// buildModule builds the kernel module for a kernel, or takes the one that was
// built from the same source; "" where its headers are not served.
func buildModule(ctx context.Context, k *kernels.Kernel) (string, error) {
	out := filepath.Join(k.Root, "iowitness-"+kmod.Digest()+".ko")
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	dir, err := kernels.DefaultDir()
	if err != nil {
		return "", err
	}
	store, err := kernels.Open(dir)
	if err != nil {
		return "", err
	}
	defer store.Close()
	headers, err := store.Headers(k)
	if errors.Is(err, kernels.ErrNoHeaders) {
		fmt.Printf("%s: no kernel module: %v\n", k.Line, err)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// One compiler for all lines: the older ones are no longer packaged, the newer ones not yet.
	built, err := kmod.Build(ctx, kmod.Options{Release: k.Release, Headers: headers, Out: out, CC: "gcc-12", Strict: true})
	if err != nil && !slices.Contains(withModule, k.Line) {
		fmt.Printf("%s: no kernel module: %v\n", k.Line, err)
		return "", nil
	}
	return built, err
}
