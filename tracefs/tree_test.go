// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tree makes a machine's files below a directory; a name that ends in "/" is a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(root, name)
		dir := filepath.Dir(file)
		if strings.HasSuffix(name, "/") {
			dir = file
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == file {
			continue
		}
		if err := os.WriteFile(file, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func openTree(t *testing.T, files map[string]string) (*FS, string) {
	t.Helper()
	root := tree(t, files)
	f, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, root
}

const tracing = "sys/kernel/tracing/"

// TestOpenFindsWhereItIsMounted at the usual places, or anywhere.
func TestOpenFindsWhereItIsMounted(t *testing.T) {
	for _, files := range []map[string]string{
		{"sys/kernel/tracing/current_tracer": "nop"},
		{"sys/kernel/debug/tracing/current_tracer": "nop"},
		{"mnt/trace/current_tracer": "nop", "proc/self/mounts": "proc /proc proc rw 0 0\nnone /mnt/trace tracefs rw 0 0\n"},
	} {
		f, _ := openTree(t, files)
		if text, err := f.read("current_tracer"); err != nil || text != "nop" {
			t.Errorf("%v: %q, %v", files, text, err)
		}
	}
	if _, err := Open(tree(t, map[string]string{"proc/self/mounts": "proc /proc proc rw 0 0\n"})); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOwnersNamesAreReadBack(t *testing.T) {
	for _, o := range []Owner{{4711, "0a1b2c3d", 0}, {1, "ffffffff", 12}} {
		for _, role := range []string{"", "in"} {
			name := o.String()
			if role != "" {
				name += "_" + role
			}
			if got, gotRole, ok := ParseOwner(name); !ok || got != o || gotRole != role {
				t.Errorf("%s: %+v, %q, %v", name, got, gotRole, ok)
			}
		}
	}
	for _, name := range []string{
		"", "iowitness", "iowitness_1", "iowitness_0_0a1b2c3d", "iowitness_01_0a1b2c3d", "iowitness_1_0a1b2c3", "iowitness_1_0A1B2C3D",
		"iowitness_-1_0a1b2c3d", "iowitness_1_0a1b2c3d_1_in_x", "iowitness_99999999999_0a1b2c3d", "iowitness_1_0a1b2c3d_", "perf_1_0a1b2c3d", "xiowitness_1_0a1b2c3d",
	} {
		if o, role, ok := ParseOwner(name); ok {
			t.Errorf("%q was taken for ours: %+v, %q", name, o, role)
		}
	}
}

func FuzzParseOwner(f *testing.F) {
	f.Add("iowitness_4711_0a1b2c3d_2_in")
	f.Fuzz(func(t *testing.T, name string) {
		o, role, ok := ParseOwner(name)
		if !ok {
			return
		}
		again := o.String()
		if role != "" {
			again += "_" + role
		}
		if o.Number != 0 && again != name {
			t.Errorf("%q is read as %q", name, again)
		}
	})
}

// livingProbe is of a process that makes no instances, but lives.
const livingProbe = "r4096:iowitness_4714_0a1b2c3d_0123456789abcdef/r_io_schedule io_schedule\n"

const othersProbes = "p:kprobes/iowitness_1_0a1b2c3d vfs_read\nr4:perf_probe/x vfs_write\np:iowitness/x vfs_open arg=%di\n"

// TestCleanupRemovesOnlyWhatIsOurs, and not even what is ours while it is in use.
func TestCleanupRemovesOnlyWhatIsOurs(t *testing.T) {
	f, root := openTree(t, map[string]string{
		tracing + "kprobe_events": othersProbes +
			"r4096:iowitness_4711_0a1b2c3d/io_schedule_out_4711_0 io_schedule\np:iowitness_4711_0a1b2c3d/io_schedule_in_4711_0 io_schedule sp=$stack\n" +
			"p:iowitness_4712_0a1b2c3d/y_4712_0 io_schedule\n" + livingProbe,
		"proc/sys/kernel/random/boot_id":                  "0a1b2c3d-4e5f-4000-8000-000000000000\n",
		tracing + "instances/iowitness_4711_0a1b2c3d_in/": "",
		tracing + "instances/iowitness_4713_0a1b2c3d/":    "",
		tracing + "instances/someone/":                    "",
		tracing + "instances/iowitness/":                  "",
	})
	for pid, exe := range map[string]string{"self": "/usr/bin/iowitness", "4714": "/opt/iowitness (deleted)", "4712": "/usr/bin/postgres"} {
		if err := errors.Join(os.Mkdir(filepath.Join(root, "proc", pid), 0o755), os.Symlink(exe, filepath.Join(root, "proc", pid, "exe"))); err != nil {
			t.Fatal(err)
		}
	}
	found, err := f.Cleanup()
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	for _, l := range found {
		if l.InUse != (l.Owner.PID == 4714) || l.Err != nil {
			t.Error(l)
		}
		if l.Removed() {
			removed++
		}
	}
	if removed != 5 {
		t.Errorf("%d removed: %v", removed, found)
	}
	left, err := os.ReadDir(filepath.Join(root, tracing, "instances"))
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
	written, err := f.read(probesFile)
	if err != nil {
		t.Fatal(err)
	}
	commands := written[max(strings.Index(written, "-:"), 0):]
	want := "-:iowitness_4711_0a1b2c3d/io_schedule_out_4711_0\n-:iowitness_4711_0a1b2c3d/io_schedule_in_4711_0\n-:iowitness_4712_0a1b2c3d/y_4712_0\n"
	if commands != want || !strings.HasPrefix(written, othersProbes) {
		t.Errorf("commands: %q", commands)
	}
}

func TestProbesAreReadAsTheKernelListsThem(t *testing.T) {
	f, _ := openTree(t, map[string]string{tracing + "kprobe_events": othersProbes + "nonsense\n"})
	probes, err := f.Probes()
	want := []Probe{
		{Group: "kprobes", Event: "iowitness_1_0a1b2c3d", Symbol: "vfs_read"},
		{Group: "perf_probe", Event: "x", Symbol: "vfs_write", Return: true, MaxActive: 4},
		{Group: "iowitness", Event: "x", Symbol: "vfs_open", Fetch: "arg=%di"},
	}
	if err != nil || !slices.Equal(probes, want) {
		t.Errorf("%+v, %v", probes, err)
	}
	for i, p := range want {
		if line := strings.Split(othersProbes, "\n")[i]; p.String() != line {
			t.Errorf("%q, not %q", p.String(), line)
		}
	}
	none, _ := openTree(t, map[string]string{tracing + "current_tracer": "nop"})
	if _, err := none.Probes(); !errors.Is(err, ErrNoProbes) {
		t.Error(err)
	}
	if err := func() error { _, err := none.AddProbe(want[0]); return err }(); !errors.Is(err, ErrNoProbes) {
		t.Error(err)
	}
}

// TestAddProbeNeverTruncates: a file that is emptied takes everyone's probes with it.
func TestAddProbeNeverTruncates(t *testing.T) {
	f, _ := openTree(t, map[string]string{tracing + "kprobe_events": othersProbes})
	p := Probe{Group: "g", Event: "e", Symbol: "f.isra.0", Return: true, MaxActive: 4096}
	made, err := f.AddProbe(p)
	if err != nil || made != p {
		t.Errorf("%+v, %v", made, err)
	}
	if text, _ := f.read(probesFile); text != othersProbes+"r4096:g/e f.isra.0\n" {
		t.Errorf("%q", text)
	}
	if _, err := f.AddProbe(p); !errors.Is(err, unix.EEXIST) {
		t.Errorf("the same name twice: %v", err)
	}
}

const errorLogText = `[    2.948128] trace_kprobe: error: Failed to register probe event
  Command: p:iotest/z int3_magic
                      ^
[    2.952768] trace_kprobe: error: The symbol is not unique
  Command: p:iotest/z cleanup_module
                      ^
`

func TestTheKernelsOwnWordsAreFound(t *testing.T) {
	for command, want := range map[string]string{
		"p:iotest/z int3_magic": "Failed to register probe event", "p:iotest/z cleanup_module": "The symbol is not unique", "p:iotest/z other": "",
	} {
		if got := lastError(errorLogText, command); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestCountsOfTheKernel(t *testing.T) {
	got := parseProfiles("  io_schedule_out                                            12               3\n\nbroken line here too\n  a x 1\n  io_schedule_in  15  0\n")
	want := map[string]Profile{"io_schedule_out": {12, 3}, "io_schedule_in": {15, 0}}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	s := parseStats("entries: 5\noverrun: 1\ncommit overrun: 2\nbytes: 480\noldest event ts:  1.5\nnow ts: 12281.470632\ndropped events: 4\nread events: 9\n")
	if s != (CPUStats{Entries: 5, Overrun: 1, CommitFailed: 2, Dropped: 4, Read: 9}) || s.Lost() != 7 {
		t.Errorf("%+v", s)
	}
}

func TestSwitchesThatSilenceProbesAreToldWithTheRemedy(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		off   string
	}{
		{map[string]string{"proc/sys/kernel/ftrace_enabled": "1\n", "sys/kernel/debug/kprobes/enabled": "1\n"}, ""},
		{map[string]string{"proc/sys/kernel/ftrace_enabled": "0\n"}, "sysctl kernel.ftrace_enabled=1"},
		{map[string]string{"sys/kernel/debug/kprobes/enabled": "0\n"}, "kprobes/enabled"},
		{map[string]string{tracing + "tracing_on": "0\n"}, ""}, // of the global buffer, which we do not use
	} {
		c.files[tracing+"current_tracer"] = "function_graph\n"
		f, _ := openTree(t, c.files)
		err := f.CheckSwitches()
		if c.off == "" && err != nil || c.off != "" && (!errors.Is(err, ErrSwitchedOff) || !strings.Contains(err.Error(), c.off)) {
			t.Errorf("%v: %v", c.files, err)
		}
		if notes := f.Others(); len(notes) != 1 || !strings.Contains(notes[0], "function_graph") {
			t.Errorf("%v", notes)
		}
	}
}

func TestEventNamesAreUniqueToTheirOwnerAndShortEnough(t *testing.T) {
	o := Owner{PID: 4711, Boot: "0a1b2c3d", Number: 2}
	if name := EventName(o, "finish_task_switch.isra.0", "in"); name != "finish_task_switch_isra_0_in_4711_2" {
		t.Error(name)
	}
	if name := EventName(o, strings.Repeat("f", 200), "out"); len(name) != maxEventName || !strings.HasSuffix(name, "_out_4711_2") {
		t.Error(name)
	}
}
