// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Listing is which of some functions are in a list of the kernel's.
type Listing struct {
	Known bool
	Why   string // in words, if it is not known
	names map[string]bool
}

// Has says whether a function is in the list: On, Off or Unknown.
func (l Listing) Has(name string) Setting {
	switch {
	case !l.Known:
		return Unknown
	case l.names[name]:
		return On
	}
	return Off
}

// Of the kernel's lists of functions; the second is below tracefs.
const (
	blacklistFile = "sys/kernel/debug/kprobes/blacklist"
	traceableFile = "available_filter_functions"
)

// ReadKprobeBlacklist looks functions up in the list of those that the kernel
// refuses to probe. Under lockdown it leaves debugfs alone, which is closed then.
func ReadKprobeBlacklist(root, lockdown string, names []string) Listing {
	if why := DebugfsClosed(lockdown); why != "" {
		return Listing{Why: why}
	}
	f, err := os.Open(filepath.Join(root, blacklistFile))
	return readListing(f, err, "/"+blacklistFile, names, blacklisted)
}

// DebugfsClosed says why debugfs cannot be read; "" if nothing is known against it.
func DebugfsClosed(lockdown string) string {
	if lockdown == "integrity" || lockdown == "confidentiality" {
		return "kernel lockdown (" + lockdown + ") closes debugfs"
	}
	return ""
}

// ReadTraceable looks functions up in the list of those whose entry ftrace can
// witness, which fexit and kprobe.multi need, in the tracing file system.
func ReadTraceable(tracefs fs.FS, names []string) Listing {
	f, err := tracefs.Open(traceableFile)
	return readListing(f, err, traceableFile, names, traceable)
}

func readListing(f io.ReadCloser, err error, path string, names []string, name func([]byte) []byte) Listing {
	if err != nil {
		return Listing{Why: path + ": " + plainError(err)}
	}
	defer f.Close()
	found, err := parseListing(f, names, name)
	if err != nil {
		return Listing{Why: path + ": " + plainError(err)}
	}
	return Listing{Known: true, names: found}
}

// plainError says what happened without the path, which stands beside it.
func plainError(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

func parseListing(r io.Reader, names []string, name func([]byte) []byte) (map[string]bool, error) {
	found := make(map[string]bool, len(names))
	for _, n := range names {
		found[n] = false
	}
	lines := 0
	err := eachLine(r, func(line []byte) {
		if n := name(line); len(n) > 0 {
			lines++
			if _, wanted := found[string(n)]; wanted {
				found[string(n)] = true
			}
		}
	})
	if err == nil && lines == 0 {
		err = fmt.Errorf("the list is empty")
	}
	return found, err
}

// blacklisted reads "0xffffffff81000000-0xffffffff81000010\tname".
func blacklisted(line []byte) []byte {
	_, name, _ := bytes.Cut(line, []byte{'\t'})
	return firstWord(name)
}

// traceable reads "name" or "name [module]".
func traceable(line []byte) []byte { return firstWord(line) }

func firstWord(text []byte) []byte {
	word, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{' '})
	return word
}
