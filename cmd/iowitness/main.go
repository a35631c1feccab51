// SPDX-License-Identifier: Apache-2.0

// Command iowitness shows who waits for I/O, on what, and why.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// memoryLimit makes the garbage collector work harder from here on; it is no hard limit.
const memoryLimit = 24 << 20

func main() {
	// Writing to a closed pipe is an error like another, so that what is attached is detached first.
	// It is caught and not ignored: a command that we run must find it as it was.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Little lives from one interval to the next: collect rarely, within a bound.
	debug.SetGCPercent(300)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the files that a run reads and writes.
type streams struct{ in, out, err *os.File }

// run is the whole program: it returns the exit status.
func run(args []string, s streams) int {
	args, command := splitCommand(args)
	var flags cli
	parser, err := kong.New(&flags, kongOptions(s)...)
	if err != nil {
		panic(err)
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-V") {
		fmt.Fprintln(s.out, "iowitness", version())
		return exitOK
	}
	if len(args) > 1 && args[0] == "help" {
		args = append(args[1:], "--help")
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "help") {
		fmt.Fprint(s.out, verbs(parser))
		args = []string{"watch", "--help"} // whose flags are those of a call without a command
	}
	if err := emptyValue(args); err != nil {
		return fail(s.err, usageError{err})
	}
	if err := unknownVerb(parser, args); err != nil {
		return fail(s.err, usageError{err})
	}
	ctx, err := parse(parser, withNegatives(args))
	if errors.As(err, new(helpShown)) {
		return exitOK
	}
	if err != nil {
		return fail(s.err, usageError{plain(err)})
	}
	if flags.Version {
		fmt.Fprintln(s.out, "iowitness", version())
		return exitOK
	}
	if command != nil {
		verb, ok := ctx.Selected().Target.Addr().Interface().(commander)
		if !ok {
			return fail(s.err, usageError{fmt.Errorf("%s takes no command to run", ctx.Command())})
		}
		if len(command) == 0 {
			return fail(s.err, usageError{errors.New("no command after --")})
		}
		if err := verb.take(command); err != nil {
			return fail(s.err, usageError{err})
		}
	}
	return fail(s.err, ctx.Run(&s))
}

// emptyValue refuses flags with an empty value, such as that of a variable that is not set:
// a filter that is not there would let everything pass.
func emptyValue(args []string) error {
	for i, a := range args {
		name, value, found := strings.Cut(a, "=")
		if strings.HasPrefix(a, "--") && found && value == "" {
			return fmt.Errorf("%s: its value is empty", name)
		}
		if a == "" && i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") {
			return fmt.Errorf("%s: its value is empty", args[i-1])
		}
	}
	return nil
}

// commander is a verb that runs a command and witnesses it. Its error says which flag does not go with that.
type commander interface{ take(command []string) error }

// parse turns kong's way of ending the program after a help text into an error.
func parse(parser *kong.Kong, args []string) (ctx *kong.Context, err error) {
	defer func() {
		if shown, ok := recover().(helpShown); ok {
			err = shown
		}
	}()
	return parser.Parse(args)
}

// splitCommand cuts the arguments at the first "--": what follows is not ours.
func splitCommand(args []string) (own, command []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// verbs list what there is beside the main job.
func verbs(parser *kong.Kong) string {
	var b strings.Builder
	b.WriteString("Commands, each with a --help of its own:\n")
	for _, c := range parser.Model.Children {
		if !c.Hidden {
			fmt.Fprintf(&b, "  %-9s %s\n", c.Name, c.Help)
		}
	}
	b.WriteString("\nWithout a command it watches:\n\n")
	return b.String()
}
