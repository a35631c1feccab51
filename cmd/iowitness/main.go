// SPDX-License-Identifier: Apache-2.0

// Command iowitness shows who waits for I/O, on what, and why.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/probe"
)

// Exit codes; a command's own status is passed on as it is.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitUnsupported = 3
	exitCannotRun   = 126
	exitNotFound    = 127
	exitSignal      = 128
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

// usageError is a mistake in the call: exit status 2.
type usageError struct{ error }

// exitStatus ends the program with a command's status, of which nothing needs to be said.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

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
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "help") {
		fmt.Fprint(s.out, verbs(parser))
		args = []string{"watch", "--help"} // whose flags are those of a call without a command
	}
	if err := emptyValue(args); err != nil {
		return fail(s.err, usageError{err})
	}
	ctx, err := parse(parser, args)
	if errors.As(err, new(helpShown)) {
		return exitOK
	}
	if err != nil {
		return fail(s.err, usageError{err})
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
		verb.take(command)
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

// commander is a verb that runs a command and witnesses it.
type commander interface{ take(command []string) }

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

// fail says an error in one sentence and returns its exit status.
func fail(w io.Writer, err error) int {
	var status exitStatus
	switch {
	case err == nil, isClosedPipe(err):
		return exitOK
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(w, "iowitness: %s\n", sentence(err))
	var cannot cannotRunError
	switch {
	case errors.As(err, &cannot):
		return cannot.status
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.Is(err, probe.ErrUnsupported), errors.Is(err, probe.ErrFSUnsupported), errors.Is(err, probe.ErrCallsUnsupported), errors.Is(err, probe.ErrProfileUnsupported), errors.Is(err, kmod.ErrUnsupported):
		return exitUnsupported
	}
	return exitError
}

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// sentence keeps an error on one line.
func sentence(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
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
