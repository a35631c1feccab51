// SPDX-License-Identifier: Apache-2.0

// Package identity turns ids into names: processes, executables, files,
// devices, users, cgroups and containers. It never guesses: what is not known
// is said to be unknown. Every reader takes a root directory ("/" normally),
// so that a fixture tree tests it.
package identity

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote makes a name that a hostile process may have chosen safe for any view,
// and valid UTF-8. Printable text passes. A backslash is doubled, so that what
// is quoted is never mistaken for what was there; newline becomes \n, other
// control characters and bytes that are no UTF-8 become \xNN, invisible or
// direction-changing characters \uNNNN or \UNNNNNNNN.
func Quote(raw string) string {
	if plain(raw) {
		return raw
	}
	var out strings.Builder
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		writeQuoted(&out, r, raw[i:i+size])
		i += size
	}
	return out.String()
}

// ValidUTF8 is Quote, by the name under which a JSON value wants it.
func ValidUTF8(raw string) string { return Quote(raw) }

func plain(raw string) bool {
	for i := range len(raw) {
		if raw[i] < ' ' || raw[i] >= 0x7f || raw[i] == '\\' {
			return false
		}
	}
	return true
}

func writeQuoted(out *strings.Builder, r rune, raw string) {
	switch {
	case r == '\\':
		out.WriteString(`\\`)
	case r == '\n':
		out.WriteString(`\n`)
	case r < ' ' || r == 0x7f || (r == utf8.RuneError && len(raw) == 1):
		fmt.Fprintf(out, `\x%02x`, raw[0])
	case visible(r):
		out.WriteString(raw)
	case r > 0xffff:
		fmt.Fprintf(out, `\U%08x`, r)
	default:
		fmt.Fprintf(out, `\u%04x`, r)
	}
}

// visible leaves out C1 controls, bidirectional and zero-width characters,
// line and paragraph separators, and letters that show nothing.
func visible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0:
		return false
	}
	return unicode.IsGraphic(r)
}
