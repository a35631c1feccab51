// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// host is a fixture of a host: its files, and how trials end there.
type host struct {
	files     map[string]string
	fails     map[Means]error  // of the smallest trial; else it works
	wholes    map[Means]error  // of iowitness's own programs
	verbs     map[string]error // of those of a verb by a means
	symbols   map[string]error // of trials on single functions
	has       bpfFeatures
	place     string // of tracefs
	traceable kernel.Listing
	asked     []string // what was tried
	noModule  error    // why none can be built
}

func (h *host) means(m Means) error {
	h.asked = append(h.asked, string(m))
	return h.fails[m]
}

func (h *host) whole(m Means) ([]string, error) { return nil, h.wholes[m] }

func (h *host) verb(id string, m Means) ([]string, error) {
	return []string{id + " by " + string(m)}, h.verbs[id+" "+string(m)]
}

func (h *host) function(m Means, symbol string, attach bool) error {
	h.asked = append(h.asked, fmt.Sprintf("%s %s %v", m, symbol, attach))
	return h.symbols[symbol]
}

func (h *host) together(symbols []string) error {
	for _, s := range symbols {
		if err := h.symbols[s]; err != nil {
			return err
		}
	}
	return nil
}

func (h *host) features() bpfFeatures { return h.has }

func (h *host) tracefs([]string) (string, kernel.Listing) { return h.place, h.traceable }

// usual is a host on which all works.
func usual() *host {
	symbols := ""
	for i, f := range Functions {
		symbols += fmt.Sprintf("ffffffff8100%04x T %s\n", i*16, f.Name)
	}
	return &host{
		files: map[string]string{
			"proc/sys/kernel/osrelease":                "6.12.1\n",
			"proc/sys/kernel/cap_last_cap":             "40\n",
			"proc/sys/kernel/ftrace_enabled":           "1\n",
			"proc/sys/kernel/task_delayacct":           "1\n",
			"proc/self/status":                         "CapEff:\t000001ffffffffff\nSeccomp:\t0\nNSpid:\t1\n",
			"proc/self/stat":                           "1 (x) R\n",
			"proc/self/mountinfo":                      "",
			"proc/self/ns/user":                        "-> user:[4026531837]",
			"proc/modules":                             "",
			"proc/kallsyms":                            symbols,
			"sys/kernel/btf/vmlinux":                   "btf",
			"sys/kernel/security/lockdown":             "[none] integrity confidentiality\n",
			"sys/kernel/security/lsm":                  "lockdown,capability,landlock",
			"sys/kernel/debug/kprobes/blacklist":       "0x1-0x2\tasm_exc_debug\n",
			"sys/kernel/debug/kprobes/enabled":         "1\n",
			"sys/module/module/parameters/sig_enforce": "N\n",
			"lib/modules/6.12.1/build/Makefile":        "",
		},
		fails: map[Means]error{}, wholes: map[Means]error{}, symbols: map[string]error{},
		has: bpfFeatures{
			RingBuffer: kernel.On, TaskStorage: kernel.On, ReadKernel: kernel.On, KprobeMulti: kernel.On,
			KprobeSession: kernel.On, MemlockCounts: kernel.Off, MemlockBytes: 8 << 20,
		},
		place: "/sys/kernel/tracing",
	}
}

// bpfRefused makes every trial by BPF fail, as a library tells it.
func (h *host) bpfRefused() *host {
	for _, m := range []Means{TPBTF, RawTP, TP, Fexit, Kretprobe} {
		h.fails[m] = fmt.Errorf("map create: %w"+memlockHint, unix.EPERM)
	}
	return h
}

func (h *host) with(file, text string) *host {
	h.files[file] = text
	return h
}

func (h *host) without(file string) *host {
	delete(h.files, file)
	return h
}

// root is a directory with the host's files.
func (h *host) root(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range h.files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, link := strings.CutPrefix(text, "-> "); link {
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func (h *host) diagnose(t *testing.T) *diagnosis.Report {
	t.Helper()
	e := gather(h.root(t), DiagnoseOptions{})
	e.noModule = h.noModule
	r := diagnose(e, h, DiagnoseOptions{Version: "test"})
	for i := range r.Means {
		if m := &r.Means[i]; (m.Verdict == diagnosis.Usable) == (m.Reason != "") {
			t.Errorf("%s is %s, because %q", m.ID, m.Verdict, m.Reason)
		}
	}
	return r
}

func meansOf(t *testing.T, r *diagnosis.Report, m Means) *diagnosis.Means {
	t.Helper()
	i := slices.IndexFunc(r.Means, func(d diagnosis.Means) bool { return d.ID == string(m) })
	if i < 0 {
		t.Fatalf("%s is missing", m)
	}
	return &r.Means[i]
}

func usableIDs(r *diagnosis.Report) string {
	var ids []string
	for i := range r.Means {
		if r.Means[i].Verdict == diagnosis.Usable {
			ids = append(ids, r.Means[i].ID)
		}
	}
	return strings.Join(ids, " ")
}
