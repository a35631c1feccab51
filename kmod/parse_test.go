// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"testing"
)

func TestNothing(t *testing.T) {}
