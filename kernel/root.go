// SPDX-License-Identifier: Apache-2.0

// Package kernel reads facts about the kernel that iowitness runs on: version,
// settings, symbols, capabilities, CPU time and pressure. Every reader takes a
// root directory ("/" normally), so that a fixture tree tests it; what cannot
// be read is said to be unknown.
package kernel

import (
	"bytes"
	"os"
	"path/filepath"
)

// readText reads a small file below root, without white space at its ends.
func readText(root, path string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, path))
	return string(bytes.TrimSpace(raw)), err
}
