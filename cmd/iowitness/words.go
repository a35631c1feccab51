// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
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

// withoutVerb is what a verb's own check says, without the verb before it, which may not have been written.
func withoutVerb(err error) error {
	var parsing *kong.ParseError
	if !errors.As(err, &parsing) || parsing.Context.Selected() == nil {
		return err
	}
	return errors.New(strings.TrimPrefix(err.Error(), parsing.Context.Selected().Path()+": "))
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
