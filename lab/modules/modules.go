// SPDX-License-Identifier: Apache-2.0

// Package modules has the source of kernel modules that do harm of a known kind, for tests in
// virtual machines. lab/run builds them for each guest.
package modules

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
)

//go:embed iw_busy iw_reader
var source embed.FS

// Names are those of the modules.
var Names = []string{"iw_busy", "iw_reader"}

// Source is a module's, and a digest of it.
func Source(name string) (files fs.FS, digest string, err error) {
	if files, err = fs.Sub(source, name); err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		sum.Write(append([]byte(path), text...))
		return err
	})
	return files, hex.EncodeToString(sum.Sum(nil))[:12], err
}
