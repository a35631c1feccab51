// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/kernels"
	"github.com/iowitness/iowitness/lab/vm"
)

const module = "github.com/iowitness/iowitness"

// built is what every guest gets.
type built struct {
	init  string
	files map[string]string
	tests []vm.Test
}

// build compiles the guest's init and each package's tests.
func build(ctx context.Context, work string, o *options) (*built, error) {
	b := &built{init: filepath.Join(work, "init"), files: map[string]string{}}
	if err := compile(ctx, "build", "-o", b.init, "./lab/guest"); err != nil {
		return nil, err
	}
	program := filepath.Join(work, "iowitness")
	if err := compile(ctx, "build", "-o", program, "./cmd/iowitness"); err != nil {
		return nil, err
	}
	b.files[lab.Program] = program
	packages, err := withTests(ctx, o.packages)
	if err != nil {
		return nil, err
	}
	args := []string{"-test.v", "-test.count=1", "-test.timeout=" + o.timeout.String()}
	if o.skip != "" {
		args = append(args, "-test.skip="+o.skip)
	}
	if o.short {
		args = append(args, "-test.short")
	}
	if o.run != "" {
		args = append(args, "-test.run="+o.run)
	}
	for _, p := range packages {
		within := strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/")
		binary := filepath.Join(work, strings.ReplaceAll(within, "/", "_")+".test")
		if err := compile(ctx, "test", "-c", "-o", binary, p.path); err != nil {
			return nil, err
		}
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			continue // it has none
		}
		guest := path.Join("/lab", filepath.Base(binary))
		b.files[guest] = binary
		b.files[path.Join(vm.SourceRoot, within, "testdata")] = filepath.Join(p.dir, "testdata")
		if _, err := os.Stat(filepath.Join(p.dir, "testdata")); err != nil {
			delete(b.files, path.Join(vm.SourceRoot, within, "testdata"))
			b.files[path.Join(vm.SourceRoot, within, "go.mod")] = "go.mod" // so that its directory is there
		}
		b.tests = append(b.tests, vm.Test{Package: within, Binary: guest, Args: args})
	}
	if len(b.tests) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(o.packages, " "))
	}
	return b, nil
}

type goPackage struct{ path, dir string }

func withTests(ctx context.Context, patterns []string) ([]goPackage, error) {
	format := `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []goPackage
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" {
			packages = append(packages, goPackage{name, dir})
		}
	}
	return packages, nil
}

// compile calls the go command for a program that is linked statically.
func compile(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// machine is a guest for all of the tests, with the kernel module if there is one, and other files.
func (b *built) machine(k *kernels.Kernel, module string, others map[string]string, cmdline []string) *vm.Machine {
	files, tests := maps.Clone(b.files), slices.Clone(b.tests)
	maps.Copy(files, others)
	if module != "" {
		place := kmod.DefaultPath(k.Release)
		files[place] = module
		for i := range tests {
			tests[i].Env = append(tests[i].Env, vm.EnvModule+"="+place)
		}
	}
	return &vm.Machine{
		Kernel: k, CPUs: 2, MemMiB: 2048, Cmdline: cmdline, Disks: vm.Disks, Init: b.init, Files: files,
		Plan: vm.Plan{
			Line: string(k.Line), Tests: tests,
			Modules: []string{"virtio_pci", "virtio_blk", "loop", "ext4", "fuse"},
		},
	}
}
