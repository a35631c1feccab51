// SPDX-License-Identifier: Apache-2.0

//go:build !amd64

package kernel

// No table yet: system calls have no names here, and files behind descriptors
// are not looked up.
var (
	syscallRuns []syscallRun
	fdCalls     map[string]uint8
)
