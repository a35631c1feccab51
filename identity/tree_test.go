// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a root directory from paths and contents; "-> x" makes a link to
// x. Such trees are made, not kept, since names with colons as in
// /sys/dev/block are not allowed in a Go module.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		put(t, root, path, content)
	}
	return root
}

func put(t *testing.T, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(full)
	if target, link := strings.CutPrefix(content, "-> "); link {
		if err := os.Symlink(target, full); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
