// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/iowitness/iowitness/kernel"
)

// symbols are, for each function of the table that this kernel has, the names to
// probe it by: its own, or all that the compiler made of it.
var symbols = sync.OnceValue(func() map[string][]string {
	targets, err := kernel.FindTargets("/", functionNames())
	if err != nil {
		return nil
	}
	return functionSymbols(targets)
})

func functionSymbols(targets []kernel.Target) map[string][]string {
	found := map[string][]string{}
	for _, t := range targets {
		for _, s := range t.Taken() {
			if _, denied := Denied(s.Name); !denied {
				found[t.Name] = append(found[t.Name], s.Name)
			}
		}
	}
	return found
}

// ownGroup names what we make in tracefs, so that what a killed run leaves behind is known as ours.
var ownGroup = sync.OnceValue(func() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
	return fmt.Sprintf("iowitness_%d_%.8s", os.Getpid(), id)
})
