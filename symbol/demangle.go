// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxMangled bounds what a hostile name may cost to demangle.
const maxMangled = 4 << 10

// readable is a C++ or Rust name as its programmer wrote it, without parameters, and one of Go
// without the mark of its calling convention, which Go's own table lacks too; other names are as they are.
func readable(name string) string {
	if len(name) > maxMangled || !(strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "__Z")) {
		return strings.TrimSuffix(name, ".abi0")
	}
	return demangle.Filter(name, demangle.NoParams, demangle.NoClones, demangle.MaxLength(14))
}
