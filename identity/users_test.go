// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"testing"

	"github.com/iowitness/iowitness/identity"
)

func TestUsers(t *testing.T) {
	root := tree(t, map[string]string{"etc/passwd": fixture(t, "passwd")})
	users := identity.NewUsers(root)
	for uid, want := range map[uint32]string{0: "root", 999: "postgres", 5: "5", 4294967295: "4294967295"} {
		if got := users.Name(uid); got != want {
			t.Errorf("user %d is %q, want %q", uid, got, want)
		}
	}
	if got := identity.NewUsers(t.TempDir()).Name(0); got != "0" {
		t.Errorf("without a file user 0 is %q", got)
	}
}

func FuzzParsePasswd(f *testing.F) {
	f.Add(fixture(f, "passwd"))
	f.Add("a:b:4294967296:1\n:x:1:1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for uid, name := range identity.ParsePasswd(text) {
			if name == "" {
				t.Errorf("user %d has an empty name", uid)
			}
		}
	})
}
