// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
)

// writeFormats writes format files, as parsers' tests read them:
// DIRECTORY/LINE/EVENT.format. What a kernel does not have has no file.
func writeFormats(dir string, kernels []kernel) error {
	for _, k := range kernels {
		if len(k.formats) == 0 {
			continue
		}
		of := filepath.Join(dir, k.Line)
		if err := os.RemoveAll(of); err != nil {
			return err
		}
		if err := os.MkdirAll(of, 0o755); err != nil {
			return err
		}
		for _, f := range k.formats {
			if err := os.WriteFile(filepath.Join(of, filepath.Base(f.Event)+".format"), []byte(f.Text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
