// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/tracefs"
)

// evidence is what files say of a host. It explains what trials found.
type evidence struct {
	root         string
	facts        kernel.Facts
	rights       kernel.Rights
	tracing      kernel.Tracing
	config       kernel.Config
	modules      kernel.ModuleFacts
	cgroups      []kernel.CgroupMount
	noCgroups    error
	targets      []kernel.Target // in the order of Functions
	noTargets    error
	symbols      string // shown, hidden, absent or unknown
	blacklist    kernel.Listing
	traceable    kernel.Listing
	tracefs      string // where it is, or "private"
	btfFile      string // of --btf
	btfBytes     int64
	noModule     error // why there is no module to load, and none can be built
	procReadable bool
	has          bpfFeatures
}

// gatherHost reads below root what explains why a means fails. What cannot be read is unknown.
func gatherHost(root string, o DiagnoseOptions) *evidence {
	e := &evidence{root: root, facts: kernel.Read(root), rights: kernel.Capabilities(root), btfFile: o.BTF}
	e.tracing = kernel.ReadTracing(root, e.facts.Lockdown)
	e.config = kernel.ReadConfig(root, e.facts.Release, configOptions())
	e.modules = kernel.ReadModuleFacts(root, e.facts.Release)
	fs, err := tracefs.Open(root)
	if err != nil {
		e.traceable.Why = err.Error()
		return e
	}
	defer fs.Close()
	e.tracefs = cmp.Or(fs.Place(), "private")
	return e
}

// gather reads all that can be read below root.
func gather(root string, o DiagnoseOptions) *evidence {
	e := gatherHost(root, o)
	e.cgroups, e.noCgroups = kernel.ReadCgroupMounts(root)
	names := functionNames()
	e.targets, e.noTargets = kernel.FindTargets(root, names)
	e.symbols = e.symbolsWord()
	e.blacklist = kernel.ReadKprobeBlacklist(root, e.facts.Lockdown, e.taken(names))
	_, err := os.Stat(filepath.Join(root, "proc/self/stat"))
	e.procReadable = err == nil
	btf := filepath.Join(root, "sys/kernel/btf/vmlinux")
	if o.BTF != "" {
		btf = o.BTF
	}
	if info, err := os.Stat(btf); err == nil {
		e.btfBytes = info.Size()
	}
	if _, err := os.Stat(filepath.Join(root, kmod.DefaultPath(e.facts.Release))); err != nil {
		e.noModule = kmod.CheckBuild(kmod.Options{Root: root, Release: e.facts.Release})
	}
	return e
}

// ask adds what only the running kernel can tell.
func (e *evidence) ask(t trial) {
	e.has = t.features()
	e.tracefs, e.traceable = t.tracefs(e.taken(functionNames()))
}

func functionNames() []string {
	names := make([]string, len(Functions))
	for i := range Functions {
		names[i] = Functions[i].Name
	}
	return names
}

// taken adds the symbols that the functions go by.
func (e *evidence) taken(names []string) []string {
	for _, t := range e.targets {
		for _, s := range t.Taken() {
			names = append(names, s.Name)
		}
	}
	return names
}

func (e *evidence) symbolsWord() string {
	switch {
	case errors.Is(e.noTargets, kernel.ErrNoSymbols), errors.Is(e.noTargets, os.ErrNotExist):
		return "absent"
	case e.noTargets != nil:
		return "unknown"
	case kernel.SymbolsShown(e.root):
		return "shown"
	}
	return "hidden"
}

// ownBTF says whether the kernel itself offers its types.
func (e *evidence) ownBTF() bool { return e.facts.BTF == kernel.On }
