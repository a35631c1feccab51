// SPDX-License-Identifier: Apache-2.0

// Package kmod builds, loads, steers and reads the return-probe kernel module:
// the means for kernels where BPF cannot witness waits. The module's source is
// in the program; it is built against the headers of the kernel at hand.
package kmod

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Name is the module's, as lsmod and modprobe know it.
const Name = "iowitness"

//go:embed src
var source embed.FS

// Digest names the source: a loaded module tells it as its version.
func Digest() string {
	sum := sha256.New()
	names, _ := fs.Glob(source, "src/*")
	for _, name := range names {
		text, _ := source.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// WriteSource writes the module's source into a directory, for a build by hand.
func WriteSource(dir string) error {
	files, err := fs.Sub(source, "src")
	if err != nil {
		return err
	}
	return writeFiles(files, dir)
}

func writeFiles(files fs.FS, dir string) error {
	names, err := fs.Glob(files, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
