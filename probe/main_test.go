// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(m.Run())
}
