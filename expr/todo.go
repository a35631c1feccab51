// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"github.com/cilium/ebpf/btf"
)

// Render shows captured bytes: numbers in decimal, enums by name, pointers in
// hex, strings as they are (unquoted), structs as Render does.
func (f *Field) Render(raw []byte) string { return "" }

// Render shows a value of a type from its little-endian bytes, bounded in depth and length.
func Render(t btf.Type, raw []byte) string { return "" }
