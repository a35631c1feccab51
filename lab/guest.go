// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

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

// Module loads a module of lab/modules, with its parameters, until the test's end. It skips where the
// module could not be built.
func Module(t testing.TB, name string, parameters ...string) {
	t.Helper()
	needGuest(t)
	file := "/lab/modules/" + name + ".ko"
	if _, err := os.Stat(file); err != nil {
		t.Skip("the module was not built for this kernel")
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), strings.Join(parameters, " "), 0); err != nil {
		t.Fatalf("loading %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := unix.DeleteModule(name, 0); err != nil {
			t.Errorf("unloading %s: %v", name, err)
		}
	})
}
