// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText bounds what is parsed at all, in bytes.
const maxText = 4096

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenNumber
	tokenString
	tokenSign // an operator or a bracket
)

type token struct {
	kind  tokenKind
	at    int
	text  string // a word, a sign, or the string that is meant
	value uint64 // of a number
}

// signs are tried in this order: longer ones first.
var signs = []string{
	"&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "->",
	"&", "|", "^", "<", ">", "+", "-", "*", "~", "!", "(", ")", "[", "]", ".",
}

// wordSigns are operators that are written as words.
var wordSigns = map[string]string{"and": "&&", "or": "||", "not": "!"}

// scan divides a text into tokens; the last one is the end.
func scan(text string) ([]token, *Error) {
	if len(text) > maxText {
		return nil, problem(text, maxText, "the text is longer than %d bytes", maxText)
	}
	var out []token
	for at := 0; ; {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\r\n"))
		if at == len(text) {
			return append(out, token{kind: tokenEnd, at: at}), nil
		}
		next, length, err := scanOne(text, at)
		if err != nil {
			return nil, err
		}
		out = append(out, next)
		at += length
	}
}

// scanOne takes the token that begins at an offset, and tells its length in the text.
func scanOne(text string, at int) (token, int, *Error) {
	rest := text[at:]
	switch c := rest[0]; {
	case isLetter(c):
		word := rest[:wordLength(rest)]
		if sign, ok := wordSigns[word]; ok {
			return token{kind: tokenSign, at: at, text: sign}, len(word), nil
		}
		return token{kind: tokenWord, at: at, text: word}, len(word), nil
	case isDigit(c):
		word := rest[:wordLength(rest)]
		if next := rest[len(word):]; len(next) > 1 && next[0] == '.' && isDigit(next[1]) {
			return token{}, 0, problem(text, at+len(word), "numbers are whole: write 1500us for 1.5ms")
		}
		value, wrong := parseNumber(word)
		if wrong != "" {
			return token{}, 0, problem(text, at, "%s", wrong)
		}
		return token{kind: tokenNumber, at: at, value: value, text: word}, len(word), nil
	case c == '"' || c == '\'':
		return scanQuoted(text, at)
	}
	for _, sign := range signs {
		if strings.HasPrefix(rest, sign) {
			return token{kind: tokenSign, at: at, text: sign}, len(sign), nil
		}
	}
	switch rest[0] {
	case '=':
		return token{}, 0, problem(text, at, "a comparison is written ==")
	case '/', '%':
		return token{}, 0, problem(text, at, "there is no division: the kernel's side would have to guard it")
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, 0, problem(text, at, "%q means nothing here", r)
}

// scanQuoted takes "text", or a character in single quotes, which is a number.
func scanQuoted(text string, at int) (token, int, *Error) {
	quote := text[at]
	var out strings.Builder
	for i := at + 1; i < len(text); {
		if text[i] == quote {
			return quoted(text, at, out.String(), i+1-at)
		}
		c, length := unescape(text[i:])
		if length == 0 {
			return token{}, 0, problem(text, i, `only \\, \", \', \n, \t and \xNN are known after a backslash`)
		}
		if c == 0 {
			return token{}, 0, problem(text, i, "strings of the kernel end before a NUL, so none can hold it")
		}
		out.WriteByte(c)
		i += length
	}
	return token{}, 0, problem(text, at, "the quotation is not closed")
}

func quoted(text string, at int, value string, length int) (token, int, *Error) {
	if text[at] == '"' {
		return token{kind: tokenString, at: at, text: value}, length, nil
	}
	if len(value) != 1 {
		return token{}, 0, problem(text, at, "single quotes hold one character; a string is written in double quotes")
	}
	return token{kind: tokenNumber, at: at, value: uint64(value[0]), text: text[at : at+length]}, length, nil
}

// unescape takes one character, and tells how many bytes wrote it; 0: wrong.
func unescape(text string) (byte, int) {
	if text[0] != '\\' {
		return text[0], 1
	}
	if len(text) < 2 {
		return 0, 0
	}
	switch text[1] {
	case '\\', '"', '\'':
		return text[1], 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'x':
		if len(text) >= 4 {
			if value, err := strconv.ParseUint(text[2:4], 16, 8); err == nil {
				return byte(value), 4
			}
		}
	}
	return 0, 0
}

// units multiply a decimal number: sizes in bytes, times in nanoseconds.
var units = map[string]uint64{
	"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9,
}

// parseNumber takes decimal, hexadecimal (0x) and octal (0) numbers, C's
// suffixes U and L, and units. What is wrong is told as a clause.
func parseNumber(word string) (value uint64, wrong string) {
	base, digits := 10, word
	switch {
	case strings.HasPrefix(word, "0x"), strings.HasPrefix(word, "0X"):
		base, digits = 16, strings.TrimRight(word[2:], "uUlL")
	case len(word) > 1 && word[0] == '0' && isDigit(word[1]):
		base, digits = 8, strings.TrimRight(word[1:], "uUlL")
	}
	unit := uint64(1)
	if base == 10 {
		length := 0
		for length < len(word) && isDigit(word[length]) {
			length++
		}
		digits = word[:length]
		known := true
		if suffix := word[length:]; strings.Trim(suffix, "uUlL") != "" {
			unit, known = units[suffix]
		}
		if !known {
			return 0, fmt.Sprintf("%q is no number (units are K, M, G, T for sizes and ns, us, ms, s for times)", word)
		}
	}
	value, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		if digits != "" && strings.Trim(digits, "0123456789abcdefABCDEF") == "" && base != 8 {
			return 0, fmt.Sprintf("%s does not fit in 64 bits", word)
		}
		return 0, fmt.Sprintf("%q is no number", word)
	}
	high, low := bits.Mul64(value, unit)
	if high != 0 {
		return 0, fmt.Sprintf("%s does not fit in 64 bits", word)
	}
	return low, ""
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func wordLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	return n
}

func problem(text string, at int, format string, a ...any) *Error {
	return &Error{Text: text, At: min(at, len(text)), Problem: fmt.Sprintf(format, a...)}
}
