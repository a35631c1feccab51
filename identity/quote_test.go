// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/iowitness/iowitness/identity"
)

func TestQuote(t *testing.T) {
	for raw, want := range map[string]string{
		"":                          "",
		"postgres: walwriter":       "postgres: walwriter",
		"Grüße 日本語 🐧":               "Grüße 日本語 🐧",
		"a\u3000b":                  "a\u3000b", // a space that Japanese file names use
		"\ufffd":                    "\ufffd",   // the real character, not a broken byte
		"\x1b[2Jx":                  `\x1b[2Jx`,
		"a\nb\tc\rd\x00":            `a\nb\x09c\x0dd\x00`,
		"\x7f":                      `\x7f`,
		`a\nb`:                      `a\\nb`,
		`\`:                         `\\`,
		"abc\xe5\x8a":               `abc\xe5\x8a`, // cut at 15 bytes within a character
		"\xff\xfe":                  `\xff\xfe`,
		"\u202egnp.exe":             `\u202egnp.exe`,
		"a\u200bb\u2066\ufeff":      `a\u200bb\u2066\ufeff`,
		"\u009b2J":                  `\u009b2J`,
		"a\u2028b":                  `a\u2028b`,
		"\U000e0041":                `\U000e0041`,
		"\u3164":                    `\u3164`,
		"<script>alert(1)</script>": "<script>alert(1)</script>", // HTML is the HTML view's to escape
	} {
		if got := identity.Quote(raw); got != want {
			t.Errorf("%q is quoted %q, want %q", raw, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"a", "\x1b[2J", "abc\xe5\x8a", `\x1b`, "\u202e", "\U000e0041", "\u009b", "\\\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		quoted := identity.Quote(raw)
		if !utf8.ValidString(quoted) {
			t.Errorf("%q: %q is not UTF-8", raw, quoted)
		}
		if strings.ContainsFunc(quoted, func(r rune) bool { return r < ' ' || (r >= 0x7f && r < 0xa0) }) {
			t.Errorf("%q: %q holds a control character", raw, quoted)
		}
		if back := unquote(t, quoted); back != raw {
			t.Errorf("%q is quoted %q, which says %q", raw, quoted, back)
		}
	})
}

// unquote shows that quoting loses nothing.
func unquote(t *testing.T, quoted string) string {
	t.Helper()
	back, err := strconv.Unquote(`"` + strings.ReplaceAll(quoted, `"`, `\"`) + `"`)
	if err != nil {
		t.Fatalf("%q: %v", quoted, err)
	}
	return back
}
