// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"

	"github.com/iowitness/iowitness/lab/fact"
)

// writeFacts writes what was measured, by kernel, as lab/report reads it.
func writeFacts(file string, outcomes []outcome, accel string) error {
	var all []fact.Kernel
	for _, r := range outcomes {
		if r.kernel != nil && r.outcome != nil {
			all = append(all, fact.Kernel{Line: string(r.line), Release: r.kernel.Release, Accel: accel, Facts: r.outcome.Facts})
		}
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
