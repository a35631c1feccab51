// SPDX-License-Identifier: Apache-2.0

// Command report makes a document of what tests measured on the lab's kernels:
//
//	go run ./lab/report [-o docs/KERNELS.md] [-formats DIRECTORY] FACTS...
//	go run ./lab/report -calls docs/CALLCOST.md FACTS...
//
// FACTS is what lab/run writes by --facts. It also prints the agreement of the means.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/iowitness/iowitness/lab/fact"
)

func main() {
	out := flag.String("o", "", "file to write; standard output if none is given")
	formats := flag.String("formats", "", "directory for the format files of events, by line of kernels")
	calls := flag.String("calls", "", "file to write what a call costs to, and nothing else")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: report [-o FILE] FACTS...")
		os.Exit(2)
	}
	if err := run(flag.Args(), *out, *formats, *calls); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(files []string, out, formats, calls string) error {
	var kernels []fact.Kernel
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var some []fact.Kernel
		if err := json.Unmarshal(text, &some); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		kernels = append(kernels, some...)
	}
	measured, err := sorted(kernels)
	if err != nil {
		return err
	}
	if calls != "" {
		return os.WriteFile(calls, []byte(callCost(measured)), 0o644)
	}
	if formats != "" {
		if err := writeFormats(formats, measured); err != nil {
			return err
		}
	}
	document := document(measured)
	if out == "" {
		fmt.Print(document)
		return nil
	}
	if err := os.WriteFile(out, []byte(document), 0o644); err != nil {
		return err
	}
	fmt.Print(agreement(measured))
	return nil
}
