// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/lab/kernels"
	"github.com/iowitness/iowitness/lab/modules"
)

// withModule are the lines on which the module has to build.
var withModule = []kernels.Line{"5.10", "6.1", "6.12"}

// moduleDir is where a guest has the modules of lab/modules.
const moduleDir = "/lab/modules"

// buildModules builds our kernel module and those of lab/modules for a kernel, or takes what was
// built from the same source: files by their place in the guest. Ours is "" where it cannot be built.
func buildModules(ctx context.Context, k *kernels.Kernel) (ours string, others map[string]string, err error) {
	if ours, err = buildModule(ctx, k, kmod.Options{Out: filepath.Join(k.Root, "iowitness-"+kmod.Digest()+".ko"), Strict: true}); ours == "" || err != nil {
		return ours, nil, err
	}
	others = map[string]string{}
	for _, name := range modules.Names {
		source, digest, err := modules.Source(name)
		if err != nil {
			return ours, nil, err
		}
		built, err := buildModule(ctx, k, kmod.Options{Source: source, Module: name, Out: filepath.Join(k.Root, name+"-"+digest+".ko")})
		if err != nil {
			return ours, nil, err
		}
		if built != "" {
			others[path.Join(moduleDir, name+".ko")] = built
		}
	}
	return ours, others, nil
}

// buildModule builds one; "" where its headers are not served.
func buildModule(ctx context.Context, k *kernels.Kernel, o kmod.Options) (string, error) {
	if _, err := os.Stat(o.Out); err == nil {
		return o.Out, nil
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
	o.Release, o.Headers, o.CC = k.Release, headers, "gcc-12"
	built, err := kmod.Build(ctx, o)
	if err != nil && !slices.Contains(withModule, k.Line) {
		fmt.Printf("%s: no kernel module: %v\n", k.Line, err)
		return "", nil
	}
	return built, err
}
