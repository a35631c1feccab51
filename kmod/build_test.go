// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

const release = "6.1.0-57-cloud-amd64"

// headersTree is a directory that looks like a kernel's headers.
func headersTree(t *testing.T, config string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"Makefile":                       "modules:\n\t@echo \"error: no kernel here\" >&2; exit 1\n",
		"include/generated/utsrelease.h": "#define UTS_RELEASE \"" + release + "\"\n",
		"include/config/kernel.release":  "6.1.192\n",
		"include/config/auto.conf":       config,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const goodConfig = "CONFIG_MODULES=y\nCONFIG_KRETPROBES=y\nCONFIG_PROC_FS=y\nCONFIG_CC_VERSION_TEXT=\"x86_64-linux-gnu-gcc-12 (Debian 12.2.0-14) 12.2.0\"\n"

func distribution(t *testing.T, text string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/os-release"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestMissingHeadersNameThePackage(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\n":                    "install the package linux-headers-" + release,
		"ID=ubuntu\nID_LIKE=debian\n":    "install the package linux-headers-" + release,
		"ID=\"rocky\"\nID_LIKE=\"rhel\"": "install the package kernel-devel-" + release,
		"ID=unknown\n":                   "headers of Linux " + release,
	} {
		_, err := Build(t.Context(), Options{Root: distribution(t, text), Release: release})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("on %q: %v", text, err)
		}
	}
}

func TestBuildSaysWhatIsInTheWay(t *testing.T) {
	good := headersTree(t, goodConfig)
	unprepared := headersTree(t, goodConfig)
	if err := os.Remove(filepath.Join(unprepared, "include/generated/utsrelease.h")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    Options
		path string
		want string
	}{
		"another kernel's headers": {Options{Release: "6.1.0-1-amd64", Headers: good}, "", "not of 6.1.0-1-amd64"},
		"not prepared":             {Options{Release: release, Headers: unprepared}, "", "modules_prepare"},
		"no make":                  {Options{Release: release, Headers: good}, "/nowhere", "install the package make"},
		"no such compiler":         {Options{Release: release, Headers: good, CC: "gcc-0"}, "", "no compiler gcc-0"},
		"the build fails":          {Options{Release: release, Headers: good, CC: "true", Out: filepath.Join(t.TempDir(), "x.ko")}, "", "error: no kernel here"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.path != "" {
				t.Setenv("PATH", c.path)
			} else if _, err := exec.LookPath("make"); err != nil && c.o.CC != "" {
				t.Skip("there is no make here")
			}
			var log bytes.Buffer
			c.o.Log = &log
			path, err := Build(t.Context(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, %v", path, err)
			}
			if c.o.CC == "true" && !strings.Contains(log.String(), "no kernel here") {
				t.Errorf("the log has %q", log.String())
			}
		})
	}
}

func TestKernelThatCannot(t *testing.T) {
	for missing, config := range map[string]string{
		"CONFIG_MODULES":    "CONFIG_KRETPROBES=y\nCONFIG_PROC_FS=y\n",
		"CONFIG_KRETPROBES": "CONFIG_MODULES=y\nCONFIG_PROC_FS=y\n",
	} {
		_, err := Build(t.Context(), Options{Release: release, Headers: headersTree(t, config)})
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

func TestCompiler(t *testing.T) {
	for _, c := range []struct {
		text, clang string
		have        []string
		want        string
	}{
		{"x86_64-linux-gnu-gcc-12 (Debian 12.2.0-14) 12.2.0", "", []string{"gcc", "gcc-12"}, "gcc-12"},
		{"gcc-10 (Debian 10.2.1-6) 10.2.1 20210110", "", []string{"gcc"}, "gcc"},
		{"gcc (GCC) 11.5.0 20240719 (Red Hat 11.5.0-5)", "", []string{"gcc", "gcc-11"}, "gcc-11"},
		{"Ubuntu clang version 16.0.6", "y", []string{"gcc", "clang-16"}, "clang-16"},
		{"Ubuntu clang version 16.0.6", "y", []string{"clang"}, "clang"},
		{"gcc-12 (Debian 12.2.0-14) 12.2.0", "", nil, ""},
	} {
		h := &headers{release: release, config: map[string]string{"CC_VERSION_TEXT": c.text, "CC_IS_CLANG": c.clang}}
		got, err := h.compiler(func(name string) (string, error) {
			for _, have := range c.have {
				if have == name {
					return "/usr/bin/" + name, nil
				}
			}
			return "", os.ErrNotExist
		})
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q with %v: %q, %v", c.text, c.have, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "install the package gcc-12") {
			t.Error(err)
		}
	}
}

func TestSource(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSource(dir); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("src")
	skipWithoutSource(t, err)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join("src", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the source: %v", f.Name(), err)
		}
	}
	if len(Digest()) != 12 {
		t.Errorf("digest %q", Digest())
	}
}

func skipWithoutSource(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, fs.ErrNotExist) && lab.Guest() {
		t.Skip("a guest has the test and its data, not the source")
	}
}

// What the module refuses is in its source alone: the list must be the same.
func TestFunctionsAreThoseOfTheSource(t *testing.T) {
	text, err := os.ReadFile("src/handlers.h")
	skipWithoutSource(t, err)
	if err != nil {
		t.Fatal(err)
	}
	var inSource []string
	for _, m := range regexp.MustCompile(`(?m)^\t\{ "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		inSource = append(inSource, m[1])
	}
	if want := append([]string{"io_schedule", "io_schedule_timeout"}, Functions()...); !slices.Equal(inSource, want) {
		t.Errorf("the source has %v, the list %v", inSource, want)
	}
}
