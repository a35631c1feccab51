// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/identity"
)

const statTail = " S 7 28647 2922 0 -1 4194304 99 0 0 0 0 0 0 0 20 0 1 0 435303 3133440 384\n"

func TestParseProcStat(t *testing.T) {
	for comm, text := range map[string]string{
		"cat":             "12 (cat)" + statTail,
		"a) R 1 (b":       "12 (a) R 1 (b)" + statTail,
		"x\n\x1b[2J":      "12 (x\n\x1b[2J)" + statTail,
		"":                "12 ()" + statTail,
		"abc\xe5\x8a":     "12 (abc\xe5\x8a)" + statTail,
		"kworker/0:1-evt": "12 (kworker/0:1-evt)" + strings.Replace(statTail, "4194304", "2129984", 1),
	} {
		got, err := identity.ParseProcStat(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		want := identity.ProcStat{Comm: comm, PPID: 7, StartTime: 4_353_030_000_000, Kernel: strings.HasPrefix(comm, "kworker")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	for _, bad := range []string{"", "12 cat", "12 )cat(", "12 (cat) S 1", "12 (cat)" + strings.Replace(statTail, "435303", "x", 1)} {
		if _, err := identity.ParseProcStat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseProcStatus(t *testing.T) {
	uid, nsPID, err := identity.ParseProcStatus("Name:\tx\nUid:\t999\t0\t0\t0\nNSpid:\t4711\t12\t1\n")
	if uid != 999 || nsPID != 1 || err != nil {
		t.Errorf("user %d, pid %d, %v", uid, nsPID, err)
	}
	if _, _, err := identity.ParseProcStatus("Name:\tx\nNSpid:\t1\n"); err == nil {
		t.Error("no user, yet no error")
	}
	if _, _, err := identity.ParseProcStatus("Uid:\tx\n"); err == nil {
		t.Error("the user x was accepted")
	}
}

func TestParseCgroup(t *testing.T) {
	for _, c := range []struct {
		text, path string
		v1, ok     bool
	}{
		{"0::/user.slice/a.scope\n", "/user.slice/a.scope", false, true},
		{"0::/\n", "/", false, true},
		{"9:name=systemd:/s\n8:pids:/p\n7:blkio:/b\n4:memory:/m\n0::/\n", "/m", true, true},
		{"9:name=systemd:/s\n8:pids:/p\n7:blkio:/b\n4:memory:/\n0::/\n", "/b", true, true},
		{"9:name=systemd:/s\n4:cpu,cpuacct:/c\n", "/c", true, true},
		{"4:memory:/m\n0::/unified\n", "/unified", false, true},
		{"4:memory:/\n", "/", true, true},
		{"0::/a:b c (deleted)\n", "/a:b c", false, true},
		{"3:net_cls:/n\n0::/\n", "/", false, true},
		{"", "", false, false},
		{"nonsense\n0::relative\n", "", false, false},
	} {
		path, v1, ok := identity.ParseCgroup(c.text)
		if path != c.path || v1 != c.v1 || ok != c.ok {
			t.Errorf("%q: %q %v %v, want %q %v %v", c.text, path, v1, ok, c.path, c.v1, c.ok)
		}
	}
}

func FuzzParseProcStat(f *testing.F) {
	f.Add("12 (a) R 1 (b)" + statTail)
	f.Add("(")
	f.Add(")(" + statTail)
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := identity.ParseProcStat(text); err == nil && !strings.Contains(text, "("+s.Comm+")") {
			t.Errorf("%q holds no command %q", text, s.Comm)
		}
	})
}

func FuzzParseProcStatus(f *testing.F) {
	f.Add("Uid:\t999\t0\t0\t0\nNSpid:\t4711\t12\t1\n")
	f.Add("Uid:\nNSpid:\n")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _, _ = identity.ParseProcStatus(text)
	})
}

func FuzzParseCgroup(f *testing.F) {
	f.Add("9:name=systemd:/s\n8:pids:/p\n4:memory:/m\n0::/\n")
	f.Add("0::/a:b c (deleted)\n0:")
	f.Fuzz(func(t *testing.T, text string) {
		if path, _, ok := identity.ParseCgroup(text); ok && !strings.HasPrefix(path, "/") && path != "" {
			t.Errorf("%q is no path", path)
		}
	})
}
