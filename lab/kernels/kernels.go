// SPDX-License-Identifier: Apache-2.0

// Package kernels fetches the kernels that tests run on: Debian's packages,
// unpacked and never installed, kept in a cache. The mirror is the one of the
// machine's own apt sources.
package kernels

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Line is a line of kernels, such as "6.1"; "7" is the newest that begins so.
type Line string

// Lines are the lines that the matrix of tests runs on, oldest first.
var Lines = []Line{"5.10", "6.1", "6.12", "6.18", "7"}

// pinned are the releases that the documents were made with. Mirrors drop old
// ones: then the newest served of the line is taken, and said.
var pinned = map[Line]string{
	"5.10": "5.10.0-46-cloud-amd64",
	"6.1":  "6.1.0-57-cloud-amd64",
	"6.12": "6.12.117+deb12-cloud-amd64",
	"6.18": "6.18.15+deb13-cloud-amd64",
	"7":    "7.3.4+deb13-cloud-amd64",
}

// ErrNotServed is wrapped where the mirror has no kernel of a line.
var ErrNotServed = errors.New("no such kernel is served")

// Kernel is an unpacked kernel.
type Kernel struct {
	Line    Line
	Release string // as uname -r tells it
	Pinned  bool   // the release that is asked for, not a newer one
	Root    string // of what the packages hold
}

// Image is the file to boot. From 7.2 on it lies beside the modules.
func (k *Kernel) Image() string {
	image := filepath.Join(k.Root, "boot", "vmlinuz-"+k.Release)
	if _, err := os.Stat(image); err != nil {
		return filepath.Join(k.Modules(), "vmlinuz")
	}
	return image
}

// Modules is the directory of the modules, with modules.dep.
func (k *Kernel) Modules() string { return filepath.Join(k.Root, "lib", "modules", k.Release) }

// Store keeps unpacked kernels in a directory. It is not safe for concurrent use
// by several processes: Open locks it.
type Store struct {
	dir string
	apt *apt
}

// Fetch gives the pinned kernel of a line, else the newest that is served.
func (s *Store) Fetch(line Line) (*Kernel, error) {
	if release, ok := pinned[line]; ok {
		if k := s.cached(line, release); k != nil {
			return k, nil
		}
	}
	packages, err := s.apt.names(`^linux-image-` + regexp.QuoteMeta(string(line)) + `[.][0-9].*-cloud-amd64(-unsigned)?$`)
	if err != nil {
		return nil, err
	}
	var refused error
	for _, release := range candidates(line, packages) {
		k := s.cached(line, release)
		if k == nil {
			if k, err = s.unpack(line, release, packages); err != nil {
				refused = err
				continue
			}
		}
		return k, nil
	}
	return nil, fmt.Errorf("%w: line %s: %w", ErrNotServed, line, errors.Join(refused))
}

// candidates are the releases of a line: the pinned one if it is served, then the newest first.
func candidates(line Line, packages []string) []string {
	var releases []string
	for _, name := range packages {
		release := strings.TrimSuffix(strings.TrimPrefix(name, "linux-image-"), "-unsigned")
		if !slices.Contains(releases, release) {
			releases = append(releases, release)
		}
	}
	slices.SortFunc(releases, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
	if i := slices.Index(releases, pinned[line]); i > 0 {
		releases = slices.Insert(slices.Delete(releases, i, i+1), 0, pinned[line])
	}
	return releases[:min(len(releases), 3)]
}

var digits = regexp.MustCompile(`\d+`)

func numbers(release string) []int {
	var n []int
	for _, d := range digits.FindAllString(release, -1) {
		i, _ := strconv.Atoi(d)
		n = append(n, i)
	}
	return n
}

const complete = ".complete" // in a kernel's root: nothing is missing

func (s *Store) cached(line Line, release string) *Kernel {
	k := &Kernel{Line: line, Release: release, Pinned: pinned[line] == release, Root: filepath.Join(s.dir, release)}
	if _, err := os.Stat(filepath.Join(k.Root, complete)); err != nil {
		return nil
	}
	return k
}

// unpack downloads a kernel's packages and unpacks them. From 7.2 on the image
// package only asks for others, which hold the kernel and its modules.
func (s *Store) unpack(line Line, release string, packages []string) (*Kernel, error) {
	name := "linux-image-" + release
	if !slices.Contains(packages, name) {
		name += "-unsigned"
	}
	k := &Kernel{Line: line, Release: release, Pinned: pinned[line] == release, Root: filepath.Join(s.dir, release)}
	if err := s.apt.unpack(k.Root, name); err != nil {
		return nil, err
	}
	if _, err := os.Stat(k.Image()); err != nil {
		if err := s.apt.unpack(k.Root, "linux-binary-"+release, "linux-modules-"+release); err != nil {
			return nil, err
		}
	}
	if err := k.index(); err != nil {
		return nil, err
	}
	return k, os.WriteFile(filepath.Join(k.Root, complete), nil, 0o644)
}

// index puts the modules where modprobe looks for them, uncompressed, with their dependencies.
func (k *Kernel) index() error {
	lib := filepath.Join(k.Root, "lib")
	if _, err := os.Stat(lib); err != nil {
		if err := os.Symlink("usr/lib", lib); err != nil {
			return err
		}
	}
	var compressed []string
	err := filepath.WalkDir(k.Modules()+"/", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".ko.xz") {
			compressed = append(compressed, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(compressed, 200) {
		if err := run("xz", append([]string{"--decompress", "--threads=0"}, part...)...); err != nil {
			return err
		}
	}
	return run("depmod", "-b", k.Root, k.Release)
}

func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(string(out)))
	}
	return nil
}

// tail is the last line of a command's output: where it says what went wrong.
func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// Dependencies are, by module name with underscores, its file and those it
// depends on, relative to Modules.
func (k *Kernel) Dependencies() (map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join(k.Modules(), "modules.dep"))
	if err != nil {
		return nil, err
	}
	depends := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		file, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".ko"), "-", "_")
		depends[name] = append([]string{file}, strings.Fields(needs)...)
	}
	return depends, nil
}
