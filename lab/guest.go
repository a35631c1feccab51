// SPDX-License-Identifier: Apache-2.0

package lab

import "os"

// GuestLine is the line of the kernel where a test runs in one of the lab's
// virtual machines, such as "6.1"; else empty.
func GuestLine() string { return os.Getenv("IOWITNESS_GUEST") }

// Program is the product, in a guest.
const Program = "/lab/iowitness"

// Guest says whether a test runs in one of the lab's virtual machines, where
// what a kernel of that line offers must work.
func Guest() bool { return GuestLine() != "" }

// GuestModule is the file of the kernel module that was built for this guest, or
// empty. lab/run sets it.
func GuestModule() string { return os.Getenv("IOWITNESS_KMOD") }
