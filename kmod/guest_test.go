// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"os"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(m.Run())
}

func TestSmoke(t *testing.T) {
	if lab.GuestModule() == "" {
		t.Skip("needs a guest with the kernel module beside")
	}
	if err := Load(lab.GuestModule(), Params{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	s, _ := Status("/")
	t.Logf("%+v", s)
	for _, f := range []string{"summary", "waits", "control"} {
		b, err := os.ReadFile("/proc/iowitness/" + f)
		t.Logf("%v\n%s", err, b)
	}
	st, err := Read("/")
	t.Logf("%v %+v", err, st)
	if err := Unload(time.Second); err != nil {
		t.Fatal(err)
	}
}
