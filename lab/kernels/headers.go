// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ErrNoHeaders is wrapped where the mirror has a kernel but not its headers.
var ErrNoHeaders = errors.New("the kernel's headers are not served")

// Headers fetches the build files of a kernel, for modules, and gives their directory.
func (s *Store) Headers(k *Kernel) (string, error) {
	root := filepath.Join(s.dir, "headers-"+k.Release)
	name := "linux-headers-" + k.Release
	dir := filepath.Join(root, "usr/src", name)
	if _, err := os.Stat(filepath.Join(root, complete)); err != nil {
		packages, err := s.apt.headers(name)
		if err != nil {
			return "", err
		}
		if err := s.apt.unpack(root, packages...); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoHeaders, err)
		}
		if err := os.WriteFile(filepath.Join(root, complete), nil, 0o644); err != nil {
			return "", err
		}
	}
	return dir, rootMakefile(filepath.Join(dir, "Makefile"), root)
}

var installed = regexp.MustCompile(`(^|[\s=])(/usr/src/linux-)`)

// rootMakefile makes a Makefile name its parts where they are. The packages are
// made to be installed: it names them by their places then.
func rootMakefile(file, root string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, installed.ReplaceAll(text, []byte("${1}"+root+"${2}")), 0o644)
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
