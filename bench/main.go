// SPDX-License-Identifier: Apache-2.0

// Command bench measures what iowitness costs and how exact it is, beside what
// a user would run instead. It measures and does not judge: missed bars are
// printed and the exit status is still 0.
//
//	go run ./bench [flags] [part…]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		if hidden, ok := hiddenCommands[os.Args[1]]; ok {
			exit(hidden(os.Args[2:]))
		}
	}
	exit(run(os.Args[1:]))
}

// hiddenCommands are what this binary runs itself as.
var hiddenCommands = map[string]func(args []string) error{
	threadsCommand: runThreads,
	tracefsCommand: runWithTracefs,
}

func exit(err error) {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func run(args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	// Debian keeps libbpf-tools where a user's PATH does not lead.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer b.close()
	r := report{Facts: machineFacts(ctx, o.iowitness)}
	r.Sections = b.measure(ctx)
	if err := o.write(os.Stdout, &r); err != nil {
		return err
	}
	return context.Cause(ctx)
}
