// SPDX-License-Identifier: Apache-2.0

package expr

import "slices"

// syntax is what was written, before names mean anything.
type syntax struct {
	kind syntaxKind
	at   int    // the operator or the name, in bytes
	text string // operator, name, or string
	x, y *syntax

	value uint64    // of a number
	cast  *typeName // of a cast
}

type syntaxKind uint8

const (
	syntaxNumber syntaxKind = iota
	syntaxString
	syntaxName
	syntaxArrow // x->text
	syntaxDot   // x.text
	syntaxIndex // x[y]
	syntaxCast  // (cast)x
	syntaxUnary
	syntaxBinary
)

// typeName is a type as it was written: "const struct sock **".
type typeName struct {
	at    int
	tag   string   // struct, union, enum, or none
	words []string // the name, or C's words for a number
	stars int
}

// maxDepth bounds how deep brackets and signs nest.
const maxDepth = 48

type parser struct {
	text   string
	tokens []token
	depth  int
	isType func(word string) bool // the name of a type, and of nothing else
}

// parse takes a whole text as one expression.
func parse(text string, isType func(string) bool) (*syntax, *Error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, tokens: tokens, isType: isType}
	if p.peek().kind == tokenEnd {
		return nil, problem(text, len(text), "nothing is written here")
	}
	out, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if next := p.peek(); next.kind != tokenEnd {
		return nil, problem(text, next.at, "an operator or the end belongs here, not %s", p.shown(next))
	}
	return out, nil
}

// levels are the binary operators, those that bind least first, as in C.
var levels = [][]string{
	{"||"},
	{"&&"},
	{"|"},
	{"^"},
	{"&"},
	{"==", "!=", "~"},
	{"<", "<=", ">", ">="},
	{"<<", ">>"},
	{"+", "-"},
	{"*"},
}

func (p *parser) binary(level int) (*syntax, *Error) {
	if level == len(levels) {
		return p.unary()
	}
	x, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		sign := p.peek()
		if sign.kind != tokenSign || !slices.Contains(levels[level], sign.text) {
			return x, nil
		}
		p.take()
		y, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		x = &syntax{kind: syntaxBinary, at: sign.at, text: sign.text, x: x, y: y}
	}
}

// unarySigns stand before an operand.
var unarySigns = []string{"-", "+", "!", "~", "*"}

func (p *parser) unary() (*syntax, *Error) {
	if p.depth++; p.depth > maxDepth {
		return nil, problem(p.text, p.peek().at, "brackets and signs nest deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	sign := p.peek()
	if sign.kind == tokenSign && slices.Contains(unarySigns, sign.text) {
		p.take()
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &syntax{kind: syntaxUnary, at: sign.at, text: sign.text, x: x}, nil
	}
	if name, ok := p.castName(); ok {
		return p.cast(sign.at, name)
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	return p.postfix(x)
}

// cast is C's, but for registers: they have no fields, so that in
// (struct inode *)arg1->i_ino the register is what is cast.
func (p *parser) cast(at int, name *typeName) (*syntax, *Error) {
	if next := p.peek(); next.kind == tokenWord && registerNumber(next.text) >= 0 {
		p.take()
		register := &syntax{kind: syntaxName, at: next.at, text: next.text}
		return p.postfix(&syntax{kind: syntaxCast, at: at, cast: name, x: register})
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &syntax{kind: syntaxCast, at: at, cast: name, x: x}, nil
}

func (p *parser) primary() (*syntax, *Error) {
	next := p.take()
	switch {
	case next.kind == tokenNumber:
		return &syntax{kind: syntaxNumber, at: next.at, value: next.value, text: next.text}, nil
	case next.kind == tokenString:
		return &syntax{kind: syntaxString, at: next.at, text: next.text}, nil
	case next.kind == tokenWord:
		return &syntax{kind: syntaxName, at: next.at, text: next.text}, nil
	case next.kind == tokenSign && next.text == "(":
		x, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		return x, p.expect(")")
	}
	return nil, problem(p.text, next.at, "a value belongs here, not %s", p.shown(next))
}

func (p *parser) postfix(x *syntax) (*syntax, *Error) {
	for {
		sign := p.peek()
		if sign.kind != tokenSign {
			return x, nil
		}
		switch sign.text {
		case "->", ".":
			p.take()
			name := p.take()
			if name.kind != tokenWord {
				return nil, problem(p.text, name.at, "the name of a field belongs here, not %s", p.shown(name))
			}
			kind := syntaxDot
			if sign.text == "->" {
				kind = syntaxArrow
			}
			x = &syntax{kind: kind, at: name.at, text: name.text, x: x}
		case "[":
			p.take()
			at := p.peek().at
			y, err := p.binary(0)
			if err != nil {
				return nil, err
			}
			x = &syntax{kind: syntaxIndex, at: at, x: x, y: y}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		default:
			return x, nil
		}
	}
}

func (p *parser) expect(sign string) *Error {
	next := p.take()
	if next.kind == tokenSign && next.text == sign {
		return nil
	}
	return problem(p.text, next.at, "%s belongs here, not %s", sign, p.shown(next))
}

// tags and cWords are the words that can only begin a type.
var (
	tags   = []string{"struct", "union", "enum"}
	cWords = []string{"unsigned", "signed", "char", "short", "int", "long", "void", "_Bool", "bool"}
)

// castName takes a type in brackets, if that is what comes.
func (p *parser) castName() (*typeName, bool) {
	rest := p.tokens
	if rest[0].kind != tokenSign || rest[0].text != "(" {
		return nil, false
	}
	out := &typeName{at: rest[1].at}
	words := 1
	for ; rest[words].kind == tokenWord; words++ {
		switch word := rest[words].text; {
		case word == "const" || word == "volatile":
		case slices.Contains(tags, word) && out.tag == "" && len(out.words) == 0:
			out.tag = word
		default:
			out.words = append(out.words, word)
		}
	}
	end := words
	for ; rest[end].kind == tokenSign && rest[end].text == "*"; end++ {
		out.stars++
	}
	if len(out.words) == 0 || rest[end].kind != tokenSign || rest[end].text != ")" {
		return nil, false
	}
	first := out.words[0]
	if out.tag == "" && !slices.Contains(cWords, first) && out.stars == 0 && !p.isType(first) {
		return nil, false
	}
	p.tokens = rest[end+1:]
	return out, true
}

func (p *parser) peek() token { return p.tokens[0] }

// take moves on, but never past the end.
func (p *parser) take() token {
	next := p.tokens[0]
	if next.kind != tokenEnd {
		p.tokens = p.tokens[1:]
	}
	return next
}

func (p *parser) shown(t token) string {
	switch {
	case t.kind == tokenEnd:
		return "the end"
	case t.kind == tokenString:
		return "a string"
	case t.kind == tokenNumber && t.text[0] == '\'':
		return "a character"
	}
	return t.text
}

// registerNumber is 0 for arg1 to 5 for arg6, -1 for other words.
func registerNumber(word string) int {
	if len(word) == 4 && word[:3] == "arg" && word[3] >= '1' && word[3] <= '6' {
		return int(word[3] - '1')
	}
	return -1
}
