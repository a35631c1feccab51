// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Params are the module's parameters. The zero value of a field is the module's default.
type Params struct {
	MaxActive  uint32        // returns that can be awaited at once; default: from the number of threads and CPUs
	Processes  uint32        // places in the table of processes; default 4,096
	Probes     []string      // further functions to probe, of the module's own list
	Heartbeat  time.Duration // do nothing without a heartbeat for so long; default: none is needed
	Ratio      uint32        // take one wait in so many; default 1
	DutyOn     time.Duration // look for so long
	DutyEvery  time.Duration // in each so long; default: always
	GateClosed bool          // do not look before the gate is opened
	Transient  bool          // loaded for one run of the program: see RemoveLeftover
}

// String gives the parameters as the kernel takes them.
func (p Params) String() string {
	var words []string
	number := func(name string, n uint64) {
		if n != 0 {
			words = append(words, name+"="+strconv.FormatUint(n, 10))
		}
	}
	number("maxactive", uint64(p.MaxActive))
	number("processes", uint64(p.Processes))
	number("heartbeat_ms", uint64(p.Heartbeat.Milliseconds()))
	number("ratio", uint64(p.Ratio))
	number("duty_on_ms", uint64(p.DutyOn.Milliseconds()))
	number("duty_every_ms", uint64(p.DutyEvery.Milliseconds()))
	if len(p.Probes) > 0 {
		words = append(words, "probes="+strings.Join(p.Probes, ","))
	}
	if p.GateClosed {
		words = append(words, "gate=0")
	}
	if p.Transient {
		words = append(words, "transient=1")
	}
	return strings.Join(words, " ")
}

// check refuses what could be read as another parameter.
func (p Params) check() error {
	for _, name := range p.Probes {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return fmt.Errorf("%q is no name of a kernel function", name)
		}
	}
	return nil
}

// Load loads a built module. Its errors say what is in the way; one that wraps
// ErrUnsupported, that this kernel or these privileges do not allow it.
func Load(path string, p Params) error {
	if err := p.check(); err != nil {
		return err
	}
	f, err := os.Open(path)
	if reasons := Obstacles("/"); err != nil && len(reasons) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(reasons, "; "), ErrUnsupported)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no module %s: build it first, with \"iowitness kmod build\"", path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return explainLoad("/", path, unix.FinitModule(int(f.Fd()), p.String(), 0))
}

// explainLoad says in words what the kernel's answer means.
func explainLoad(root, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EEXIST):
		return errors.New("the kernel module iowitness is loaded already: unload it first, with \"iowitness kmod unload\"")
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("this kernel takes no modules (CONFIG_MODULES): %w", ErrUnsupported)
	case errors.Is(err, unix.ENOEXEC):
		return fmt.Errorf("%s was not built for the running kernel: build it anew, with \"iowitness kmod build\"", path)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("the kernel has no io_schedule or io_schedule_timeout that can be probed; see its log: %w", ErrUnsupported)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("the module does not take these parameters; the kernel's log says which: %w", err)
	case errors.Is(err, unix.EKEYREJECTED), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOKEY), errors.Is(err, unix.EACCES):
		if reasons := Obstacles(root); len(reasons) > 0 {
			return fmt.Errorf("the kernel refuses the module: %s: %w", strings.Join(reasons, "; "), ErrUnsupported)
		}
		return fmt.Errorf("the kernel refuses the module (%w), as it is not signed with a key that it trusts, or a security module forbids it: %w", err, ErrUnsupported)
	}
	return fmt.Errorf("loading %s: %w", path, err)
}

// Unload removes the module. It waits for so long while the module is in use,
// then says by whom. Threads that sleep in a probed function are no hindrance.
func Unload(wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		err := unix.DeleteModule(Name, unix.O_NONBLOCK)
		switch {
		case errors.Is(err, unix.ENOENT):
			return ErrNotLoaded
		case errors.Is(err, unix.ENOSYS):
			return fmt.Errorf("this kernel takes no modules (CONFIG_MODULES): %w", ErrUnsupported)
		case errors.Is(err, unix.EPERM):
			return fmt.Errorf("unloading a module needs CAP_SYS_MODULE: run it with sudo: %w", ErrUnsupported)
		case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EBUSY):
			if time.Now().After(deadline) {
				return heldError(Holders("/"))
			}
			time.Sleep(20 * time.Millisecond)
			continue
		case err != nil:
			return fmt.Errorf("unloading the kernel module: %w", err)
		}
		return nil
	}
}

func heldError(holders []Holder) error {
	if len(holders) == 0 {
		return errors.New("the kernel module is in use, by whom cannot be seen: try again later")
	}
	var who []string
	for _, h := range holders {
		who = append(who, fmt.Sprintf("%s (pid %d)", strconv.QuoteToASCII(h.Comm), h.PID))
	}
	return fmt.Errorf("the kernel module is in use by %s: stop that first", strings.Join(who, ", "))
}

// RemoveLeftover unloads a module that was loaded for one run of the program, if
// that run has been killed.
func RemoveLeftover() error {
	s, err := Status("/")
	if err != nil || !s.Loaded || s.Parameters["transient"] != "Y" || len(s.Holders) > 0 {
		return err
	}
	return Unload(0)
}

// Holder is a process that keeps the module from being unloaded.
type Holder struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm"`
}

// Holders finds the processes that steer the module: those that have the control
// file open for writing.
func Holders(root string) []Holder {
	var holders []Holder
	dirs, _ := filepath.Glob(filepath.Join(root, "proc/[0-9]*"))
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, file := range files {
			target, err := os.Readlink(filepath.Join(dir, "fd", file.Name()))
			if err != nil || target != "/proc/iowitness/control" || !writes(filepath.Join(dir, "fdinfo", file.Name())) {
				continue
			}
			comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
			holders = append(holders, Holder{PID: pid, Comm: strings.TrimSuffix(string(comm), "\n")})
			break
		}
	}
	return holders
}

// writes says whether a descriptor is open for writing, from its file in fdinfo.
func writes(info string) bool {
	text, err := os.ReadFile(info)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 32)
			return err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return true
}
