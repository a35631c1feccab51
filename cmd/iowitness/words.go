// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/spelling"
)

// choose finds one of the values from first up to last by its name; what says in words that there is none.
func choose[T interface {
	~uint8
	fmt.Stringer
}](what, name string, first, last T) (T, error) {
	var names []string
	for v := first; v <= last; v++ {
		if v.String() == name {
			return v, nil
		}
		names = append(names, v.String())
	}
	return 0, spelling.Unknown(what, name, names)
}

// oneOf checks the word that a flag was given.
func oneOf(flag, word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return spelling.Unknown(flag+": there is no", word, words)
}

// parseVia reads a means by its id; none by no id.
func parseVia(id string, parse func(string) (probe.Means, error)) (probe.Means, error) {
	if id == "" {
		return "", nil
	}
	means, err := parse(id)
	if err != nil {
		return "", fmt.Errorf("--via: %w", err)
	}
	return means, nil
}

// said is what the parser says in words of its own, and what is meant by it.
var said = []struct {
	by   *regexp.Regexp
	mean string
}{
	{regexp.MustCompile(`expected \S+ value but got "EOL".*|missing value, expecting .*`), "its value is missing"},
	{regexp.MustCompile(`expected \S+ value but got "(\S+)" \((?:long|short) flag\).*`), "its value is missing: $1 follows"},
	{regexp.MustCompile(`^flag (\S+) applies to the default command "watch", not "(\S+)"`), "$1: write it after $2"},
}

// plain is what a verb's own check says, without the verb before it, which may not have been written; or
// what the parser says, in words that need no knowledge of it.
func plain(err error) error {
	var parsing *kong.ParseError
	if !errors.As(err, &parsing) {
		return err
	}
	text := err.Error()
	if verb := parsing.Context.Selected(); verb != nil {
		text = strings.TrimPrefix(text, verb.Path()+": ")
	}
	for _, s := range said {
		text = s.by.ReplaceAllString(text, s.mean)
	}
	return errors.New(text)
}

// unknownVerb is the error for a first argument that is no command, but was to be one; nil if it is one.
func unknownVerb(parser *kong.Kong, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	var names []string
	for _, c := range parser.Model.Children {
		names = append(names, c.Name)
	}
	if slices.Contains(names, args[0]) {
		return nil
	}
	return spelling.Unknown("there is no command", args[0], names)
}
