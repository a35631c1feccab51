// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrUnsupported is wrapped where this kernel, or its settings, cannot take the module.
var ErrUnsupported = errors.New("the kernel module cannot be used here")

// Options is what to build, for which kernel. The zero value of a field means its default.
type Options struct {
	Root    string    // of the file system; default "/"
	Release string    // of the kernel, as uname -r prints it; default: the running one's
	Headers string    // directory of the kernel's build files; default /lib/modules/RELEASE/build
	Out     string    // file to write; default DefaultPath(Release)
	CC      string    // C compiler; default: the one that built the kernel, else gcc
	Strict  bool      // ask for all warnings, and take each as an error
	Log     io.Writer // gets what make prints; nil: nowhere

	// Of another module than ours, for tests: its source and name.
	Source fs.FS
	Module string
}

// DefaultPath is where a built module is kept, and looked for.
func DefaultPath(release string) string {
	return filepath.Join("/var/lib/iowitness/kmod", release, Name+".ko")
}

func (o *Options) fill() error {
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Release == "" {
		release, err := RunningRelease()
		if err != nil {
			return err
		}
		o.Release = release
	}
	if o.Headers == "" {
		o.Headers = filepath.Join(o.Root, "lib/modules", o.Release, "build")
	}
	if o.Out == "" {
		o.Out = DefaultPath(o.Release)
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Source == nil {
		var err error
		o.Module = Name
		if o.Source, err = fs.Sub(source, "src"); err != nil {
			return err
		}
	}
	return nil
}

// RunningRelease is the running kernel's, as uname -r prints it.
func RunningRelease() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// Build builds the module and gives the file's path. Its errors say what is
// missing and how to get it; one that wraps ErrUnsupported, that the kernel cannot take it.
func Build(ctx context.Context, o Options) (string, error) {
	headers, err := o.prepare()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "iowitness-kmod")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := writeFiles(o.Source, dir); err != nil {
		return "", err
	}
	if err := o.make(ctx, dir, headers); err != nil {
		return "", err
	}
	return o.Out, install(ctx, filepath.Join(dir, o.Module+".ko"), o.Out)
}

// CheckBuild says what Build lacks here; nil: nothing.
func CheckBuild(o Options) error {
	_, err := o.prepare()
	return err
}

// prepare fills in the options, and finds headers and tools.
func (o *Options) prepare() (*headers, error) {
	forRunning := o.Release == "" && o.Headers == ""
	if err := o.fill(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.Root, "proc/modules")); err != nil && forRunning {
		return nil, fmt.Errorf("the running kernel takes no modules (CONFIG_MODULES): %w", ErrUnsupported)
	}
	headers, err := readHeaders(o)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("make"); err != nil {
		return nil, fmt.Errorf("building the module needs make: install the package make")
	}
	if o.CC == "" {
		o.CC, err = headers.compiler(exec.LookPath)
		return headers, err
	}
	if _, err := exec.LookPath(o.CC); err != nil {
		return nil, fmt.Errorf("there is no compiler %s here: name another one, or install it", o.CC)
	}
	return headers, nil
}

// make runs the kernel's own build in a directory.
func (o *Options) make(ctx context.Context, dir string, h *headers) error {
	args := []string{
		"-C", o.Headers, "M=" + dir, "CC=" + o.CC, "SOURCE_DIGEST=" + Digest(),
		"CONFIG_DEBUG_INFO_BTF_MODULES=", // it would need pahole, and nothing reads it
	}
	if h.clang() {
		args = append(args, "LLVM=1")
	}
	if o.Strict {
		args = append(args, "W=1", "KCFLAGS=-Werror")
	}
	cmd := exec.CommandContext(ctx, "make", append(args, "modules")...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, o.Log)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("building the module for Linux %s with %s failed: %s", o.Release, o.CC, firstError(out.String()))
	}
	return nil
}

// firstError is the line in which a build says what went wrong.
func firstError(out string) string {
	last := "make said nothing"
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "error:") || strings.Contains(line, "not found") || strings.Contains(line, "ERROR:") || strings.Contains(line, "*** ") {
			return line
		}
		if line != "" {
			last = line
		}
	}
	return last
}

// install puts the built module in its place, at once, without debugging
// information, where there is a strip.
func install(ctx context.Context, from, to string) error {
	if strip, err := exec.LookPath("strip"); err == nil {
		if out, err := exec.CommandContext(ctx, strip, "--strip-debug", from).CombinedOutput(); err != nil {
			return fmt.Errorf("strip: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), Name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		os.Remove(f.Name())
		return err
	}
	return os.Rename(f.Name(), to)
}
