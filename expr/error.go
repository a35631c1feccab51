// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Error tells what is wrong in a text, and where.
type Error struct {
	Text    string
	At      int      // offset in bytes within Text, or its length: something is missing at the end
	Problem string   // a clause: `struct sock has no field "x"`
	Near    []string // what could have been meant, the likeliest first
}

// What a sentence shows at most: names, of which Near has all, and bytes of the text.
const (
	shownNear = 8
	shownText = 100
)

// Error is one sentence.
func (e *Error) Error() string {
	out := fmt.Sprintf("character %d: %s", utf8.RuneCountInString(e.Text[:e.At])+1, e.Problem)
	if len(e.Text) <= shownText {
		out = fmt.Sprintf("%q, %s", e.Text, out)
	}
	if len(e.Near) == 0 {
		return out
	}
	shown := e.Near[:min(len(e.Near), shownNear)]
	out += " (there is " + strings.Join(shown, ", ")
	if more := len(e.Near) - len(shown); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out + ")"
}

// Marked is the text, and below it a caret at what is wrong.
func (e *Error) Marked() string {
	printable := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	before := uniseg.StringWidth(strings.Map(printable, e.Text[:e.At]))
	return strings.Map(printable, e.Text) + "\n" + strings.Repeat(" ", before) + "^\n"
}
