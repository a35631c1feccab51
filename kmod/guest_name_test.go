// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"os"
	"unsafe"
)

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// renameProcess names the process, that is its first thread; a write to comm keeps every byte.
func renameProcess(name string) error {
	return os.WriteFile("/proc/self/comm", []byte(name), 0)
}
