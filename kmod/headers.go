// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// headers are what a kernel's build files say of it.
type headers struct {
	release string
	config  map[string]string // option without CONFIG_ to its value; text without quotes
}

// readHeaders checks that a module can be built with the headers.
func readHeaders(o *Options) (*headers, error) {
	if _, err := os.Stat(filepath.Join(o.Headers, "Makefile")); err != nil {
		return nil, fmt.Errorf("there are no headers of Linux %s in %s: install the package %s", o.Release, o.Headers, headersPackage(o.Root, o.Release))
	}
	// What a module is marked with, and the kernel compares: not include/config/kernel.release, which Debian leaves at the upstream version.
	release, err := os.ReadFile(filepath.Join(o.Headers, "include/generated/utsrelease.h"))
	if err != nil {
		return nil, fmt.Errorf("%s is not prepared for building modules: install the package %s, or run \"make modules_prepare\" in a source tree", o.Headers, headersPackage(o.Root, o.Release))
	}
	config, err := os.ReadFile(filepath.Join(o.Headers, "include/config/auto.conf"))
	if err != nil {
		return nil, fmt.Errorf("the headers do not tell the kernel's options: %w", err)
	}
	h := &headers{config: parseConfig(string(config))}
	if m := utsRelease.FindSubmatch(release); m != nil {
		h.release = string(m[1])
	}
	if h.release != o.Release {
		return nil, fmt.Errorf("%s has the headers of Linux %s, not of %s: install the package %s", o.Headers, h.release, o.Release, headersPackage(o.Root, o.Release))
	}
	for _, option := range []string{"MODULES", "KRETPROBES", "PROC_FS"} {
		if h.config[option] != "y" {
			return nil, fmt.Errorf("the kernel %s was built without CONFIG_%s: %w", h.release, option, ErrUnsupported)
		}
	}
	return h, nil
}

var utsRelease = regexp.MustCompile(`(?m)^#define UTS_RELEASE "([^"]+)"`)

// parseConfig reads lines of CONFIG_NAME=value.
func parseConfig(text string) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			config[strings.TrimPrefix(name, "CONFIG_")] = strings.Trim(value, `"`)
		}
	}
	return config
}

func (h *headers) clang() bool { return h.config["CC_IS_CLANG"] == "y" }

// compilerVersion finds the major version in texts such as "gcc-12 (Debian 12.2.0-14) 12.2.0".
var compilerVersion = regexp.MustCompile(`\b(\d+)\.\d+\.\d+`)

// compiler is the one that the kernel was built with, else any of its kind.
func (h *headers) compiler(look func(string) (string, error)) (string, error) {
	kind := "gcc"
	if h.clang() {
		kind = "clang"
	}
	first := kind
	if m := compilerVersion.FindStringSubmatch(h.config["CC_VERSION_TEXT"]); m != nil {
		first = kind + "-" + m[1]
	}
	for _, name := range []string{first, kind} {
		if _, err := look(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("building the module needs a C compiler: install the package %s, with which Linux %s was built", first, h.release)
}

// headersPackage names the package that holds a kernel's headers in the distribution at hand.
func headersPackage(root, release string) string {
	text, _ := os.ReadFile(filepath.Join(root, "etc/os-release"))
	likes := " "
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "ID" || key == "ID_LIKE" {
			likes += strings.Trim(value, `"`) + " "
		}
	}
	for _, family := range []struct{ id, name string }{
		{"debian", "linux-headers-" + release},
		{"ubuntu", "linux-headers-" + release},
		{"fedora", "kernel-devel-" + release},
		{"rhel", "kernel-devel-" + release},
		{"suse", "kernel-default-devel"},
		{"opensuse", "kernel-default-devel"},
		{"arch", "linux-headers"},
		{"alpine", "linux-lts-dev"},
	} {
		if strings.Contains(likes, " "+family.id+" ") {
			return family.name
		}
	}
	return "with the headers of Linux " + release
}
