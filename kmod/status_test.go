// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// host is a root with files of /proc and /sys.
func host(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, file); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestStatus(t *testing.T) {
	root := host(t, map[string]string{
		"proc/modules":                          "ext4 1 2 - Live 0x0\niowitness 40960 1 - Live 0x0000000000000000 (OE)\n",
		"sys/module/iowitness/version":          "77ded76bb69e\n",
		"sys/module/iowitness/parameters/ratio": "4\n",
		"proc/41/comm":                          "watch er\n",
		"proc/41/fd/3":                          "-> /proc/iowitness/control",
		"proc/41/fdinfo/3":                      "pos:\t0\nflags:\t0100002\nmnt_id:\t22\n",
		"proc/42/comm":                          "cat\n",
		"proc/42/fd/3":                          "-> /proc/iowitness/control",
		"proc/42/fdinfo/3":                      "pos:\t0\nflags:\t0100000\nmnt_id:\t22\n",
	})
	s, err := Status(root)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Loaded || s.Uses != 1 || s.Size != 40960 || s.State != "Live" || s.Digest != "77ded76bb69e" || s.Parameters["ratio"] != "4" {
		t.Errorf("%+v", s)
	}
	if len(s.Holders) != 1 || s.Holders[0] != (Holder{41, "watch er"}) {
		t.Errorf("held by %+v", s.Holders)
	}
	if err := heldError(s.Holders); !strings.Contains(err.Error(), `"watch er" (pid 41)`) {
		t.Error(err)
	}
	for text, want := range map[string]bool{"ext4 1 2 - Live 0x0\n": true, "iowitness 1\n": false, "iowitness x 1 - Live 0x0\n": false} {
		s, err := Status(host(t, map[string]string{"proc/modules": text}))
		if (err == nil) != want || s.Loaded && want {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestObstacles(t *testing.T) {
	good := map[string]string{
		"proc/modules":     "",
		"proc/kallsyms":    "0000000000000000 T register_kretprobe\n0000000000000000 T x\n",
		"proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
	}
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"nothing":      {"proc/x", "", ""},
		"switched off": {"proc/sys/kernel/modules_disabled", "1\n", "until the next boot"},
		"lockdown":     {"sys/kernel/security/lockdown", "none [integrity] confidentiality\n", "locked down (integrity)"},
		"signatures":   {"sys/module/module/parameters/sig_enforce", "Y\n", "signed modules only"},
		"no kretprobe": {"proc/kallsyms", "0000000000000000 T x\n", "CONFIG_KRETPROBES"},
		"no rights":    {"proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n", "CAP_SYS_MODULE"},
	} {
		files := map[string]string{}
		for k, v := range good {
			files[k] = v
		}
		files[c.file] = c.text
		got := strings.Join(Obstacles(host(t, files)), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Obstacles(t.TempDir()); len(got) != 1 || !strings.Contains(got[0], "CONFIG_MODULES") {
		t.Errorf("without modules: %q", got)
	}
}

func TestLoadErrorsSayWhatTheyMean(t *testing.T) {
	root := host(t, map[string]string{"proc/modules": "", "sys/kernel/security/lockdown": "none [integrity] confidentiality\n"})
	for _, c := range []struct {
		err         error
		want        string
		unsupported bool
	}{
		{unix.EEXIST, "loaded already", false},
		{unix.ENOSYS, "CONFIG_MODULES", true},
		{unix.ENOEXEC, "build it anew", false},
		{unix.EPERM, "locked down (integrity)", true},
		{unix.EKEYREJECTED, "locked down (integrity)", true},
		{unix.ENOENT, "cannot be", false},
	} {
		err := explainLoad(root, "x.ko", c.err)
		if c.err == unix.ENOENT {
			if !errors.Is(err, ErrUnsupported) {
				t.Error(err)
			}
			continue
		}
		if !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrUnsupported) != c.unsupported {
			t.Errorf("%v: %v", c.err, err)
		}
	}
	if err := explainLoad(root, "x.ko", nil); err != nil {
		t.Error(err)
	}
	if err := Load(filepath.Join(root, "none.ko"), Params{}); err == nil || !errors.Is(err, ErrUnsupported) && !strings.Contains(err.Error(), "iowitness kmod build") {
		t.Error(err)
	}
}
