// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoHeaders is wrapped where the mirror has a kernel but not its headers.
var ErrNoHeaders = errors.New("the kernel's headers are not served")

// Headers fetches the build files of a kernel, for modules, and gives their directory.
func (s *Store) Headers(k *Kernel) (string, error) {
	root := filepath.Join(s.dir, "headers-"+k.Release)
	name := "linux-headers-" + k.Release
	dir := filepath.Join(root, "usr/src", name)
	if _, err := os.Stat(filepath.Join(root, complete)); err == nil {
		return dir, nil
	}
	packages, err := s.apt.headers(name)
	if err != nil {
		return "", err
	}
	if err := s.apt.unpack(root, packages...); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoHeaders, err)
	}
	// The packages are made to be installed: their Makefile names the common part by its place then.
	makefile := filepath.Join(dir, "Makefile")
	text, err := os.ReadFile(makefile)
	if err != nil {
		return "", err
	}
	text = bytes.ReplaceAll(text, []byte(" /usr/src/"), []byte(" "+filepath.Join(root, "usr/src")+"/"))
	if err := os.WriteFile(makefile, text, 0o644); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(root, complete), nil, 0o644)
}

// headers are the packages that make up a kernel's headers, without compilers and what else they ask for.
func (a *apt) headers(name string) ([]string, error) {
	if err := a.update(); err != nil {
		return nil, err
	}
	out, err := a.command("apt-cache", "depends", "--important", name).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoHeaders, tail(string(out)))
	}
	packages := []string{name}
	for line := range strings.Lines(string(out)) {
		_, needed, _ := strings.Cut(strings.TrimSpace(line), "Depends: ")
		if strings.HasPrefix(needed, "linux-kbuild-") || strings.HasPrefix(needed, "linux-headers-") {
			packages = append(packages, needed)
		}
	}
	return packages, nil
}
