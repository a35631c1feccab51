// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/kernel"
)

const configText = "#\n# Linux/x86 6.1.0 Kernel Configuration\n#\nCONFIG_KPROBES=y\n# CONFIG_FPROBE is not set\n" +
	"CONFIG_NULL_BLK=m\nCONFIG_LOCALVERSION=\"\"\nCONFIG_OFF=n\n"

var configOptions = []string{"CONFIG_KPROBES", "CONFIG_FPROBE", "CONFIG_NULL_BLK", "CONFIG_OFF", "CONFIG_ABSENT"}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestConfigPlaces(t *testing.T) {
	for _, c := range []struct{ path, text string }{
		{"proc/config.gz", zipped(t, configText)},
		{"boot/config-6.1.0", configText},
		{"lib/modules/6.1.0/config", configText},
		{"usr/lib/modules/6.1.0/config", zipped(t, configText)},
	} {
		config := kernel.ReadConfig(tree(t, map[string]string{c.path: c.text}), "6.1.0", configOptions)
		if config.Source != "/"+c.path {
			t.Errorf("read from %q, want %q", config.Source, c.path)
		}
		for name, want := range map[string]kernel.Setting{
			"CONFIG_KPROBES": kernel.On, "CONFIG_FPROBE": kernel.Absent, "CONFIG_NULL_BLK": kernel.On,
			"CONFIG_OFF": kernel.Absent, "CONFIG_ABSENT": kernel.Absent,
		} {
			if got := config.Option(name); got != want {
				t.Errorf("%s: %s is %s, want %s", c.path, name, got, want)
			}
		}
		if diff := cmp.Diff([]string{"CONFIG_FPROBE", "CONFIG_OFF"}, config.Without("CONFIG_KPROBES", "CONFIG_FPROBE", "CONFIG_OFF")); diff != "" {
			t.Error(diff)
		}
	}
}

// TestNoConfig: a stub, half a file, another kernel's or none at all tell nothing.
func TestNoConfig(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"none":           {},
		"another kernel": {"boot/config-6.2.0": configText},
		"stub":           {"boot/config-6.1.0": "This file is a placeholder.\n"},
		"cut":            {"proc/config.gz": zipped(t, configText)[:20]},
	} {
		config := kernel.ReadConfig(tree(t, files), "6.1.0", configOptions)
		if config.Source != "" || config.Option("CONFIG_KPROBES") != kernel.Unknown || config.Without("CONFIG_KPROBES") != nil {
			t.Errorf("%s: %+v", name, config)
		}
	}
	outside := tree(t, map[string]string{"etc/passwd": configText})
	if config := kernel.ReadConfig(outside, "/../../etc/passwd", configOptions); config.Source != "" {
		t.Errorf("a release led to %s", config.Source)
	}
}

func TestModuleFacts(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  kernel.ModuleFacts
	}{
		{"usual", map[string]string{
			"proc/modules": "", "proc/sys/kernel/modules_disabled": "0\n",
			"sys/module/module/parameters/sig_enforce": "N\n", "lib/modules/6.1.0/build/Makefile": "",
		}, kernel.ModuleFacts{Supported: kernel.On, Disabled: kernel.Off, Signed: kernel.Off, Headers: "/lib/modules/6.1.0/build"}},
		{"signed", map[string]string{
			"proc/modules": "", "proc/sys/kernel/modules_disabled": "1\n",
			"sys/module/module/parameters/sig_enforce": "Y\n", "usr/src/linux-headers-6.1.0/Makefile": "",
		}, kernel.ModuleFacts{Supported: kernel.On, Disabled: kernel.On, Signed: kernel.On, Headers: "/usr/src/linux-headers-6.1.0"}},
		{"no modules", nil, kernel.ModuleFacts{Supported: kernel.Absent, Disabled: kernel.Absent, Signed: kernel.Absent}},
		{
			"dangling link",
			map[string]string{"lib/modules/6.1.0/build": "-> /nowhere"},
			kernel.ModuleFacts{Supported: kernel.Absent, Disabled: kernel.Absent, Signed: kernel.Absent},
		},
	} {
		if diff := cmp.Diff(c.want, kernel.ReadModuleFacts(tree(t, c.files), "6.1.0")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestTracing(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/sys/kernel/ftrace_enabled":                                  "0\n",
		"proc/sys/debug/kprobes-optimization":                             "1\n",
		"proc/sys/kernel/perf_event_paranoid":                             "-1\n",
		"sys/kernel/debug/kprobes/enabled":                                "0\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"trace here/events/enable":                                        "0\n",
		"proc/self/mounts":                                                "tracefs /trace\\040here tracefs rw 0 0\ntracefs /gone tracefs rw 0 0\nx /y tmpfs rw 0 0\n",
	})
	want := kernel.Tracing{
		Ftrace: kernel.Off, Kprobes: kernel.Off, KprobesOptimised: kernel.On, PerfEventParanoid: 0, Clock: "tsc",
		Mounts: []string{"/trace here"},
	}
	if diff := cmp.Diff(want, kernel.ReadTracing(root, "none")); diff != "" {
		t.Error(diff)
	}
	nothing := kernel.Tracing{Ftrace: kernel.Absent, Kprobes: kernel.Unknown, KprobesOptimised: kernel.Absent, PerfEventParanoid: -1}
	if diff := cmp.Diff(nothing, kernel.ReadTracing(t.TempDir(), "unknown")); diff != "" {
		t.Error(diff)
	}
}
