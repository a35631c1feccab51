// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// symbols are the kernel's functions that bear a name of the table, or are a
// variant of one that the compiler made.
var symbols = sync.OnceValue(func() map[string]string {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil
	}
	defer f.Close()
	return functionSymbols(f)
})

// variants are the marks of functions that the compiler has changed but still
// are entered and left as in the source; ".cold" is only a part of one.
var variants = []string{".isra.", ".constprop.", ".part."}

// functionSymbols finds the table's functions in /proc/kallsyms: the symbol by name.
func functionSymbols(kallsyms io.Reader) map[string]string {
	found := map[string]string{}
	wanted := map[string]bool{}
	for _, f := range Functions {
		wanted[f.Name] = true
	}
	for lines := bufio.NewScanner(kallsyms); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || fields[1] != "t" && fields[1] != "T" {
			continue
		}
		symbol := fields[2]
		name, _, changed := strings.Cut(symbol, ".")
		if !wanted[name] || changed && !isVariant(symbol) {
			continue
		}
		if _, have := found[name]; !have || !changed {
			found[name] = symbol
		}
	}
	return found
}

func isVariant(symbol string) bool {
	for _, v := range variants {
		if strings.Contains(symbol, v) && !strings.Contains(symbol, ".cold") {
			return true
		}
	}
	return false
}

// ownGroup names what we make in tracefs, so that what a killed run leaves behind is known as ours.
var ownGroup = sync.OnceValue(func() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.ReplaceAll(strings.TrimSpace(string(boot)), "-", "")
	return fmt.Sprintf("iowitness_%d_%.8s", os.Getpid(), id)
})
