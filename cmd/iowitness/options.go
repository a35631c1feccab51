// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
)

const commBytes = 15 // of a thread's name that the kernel keeps

// probeOptions are what the kernel side filters, in words too, and what there is to say of it.
func (c *watchCmd) probeOptions() (o probe.Options, scope string, notes []string, err error) {
	o = probe.Options{
		Slow: c.Slow, Min: c.Min, SampleEvery: c.Sample, RingBytes: c.Buffer << 10,
		PIDs: c.Pid, Comm: c.Comm, IncludeSelf: c.IncludeSelf,
		Silence: defaultSilent, Functions: c.Functions, FDArguments: kernel.FDArguments(), BTF: c.Btf, Via: c.via, Module: c.Module,
		Polls: c.Polls, PollBudget: pollBudget(c.MaxCost),
	}
	notes = cutName(c.Comm)
	if o.Cgroup, err = findCgroup("/", c.Cgroup); err != nil {
		return o, "", nil, err
	}
	for _, name := range c.User {
		if !isUser(name) {
			return o, "", nil, usageError{fmt.Errorf("--user: there is no user %q", name)}
		}
	}
	if len(c.User)+len(c.Cause) > 0 {
		notes = append(notes, "rows and the sentence are of --user and --cause only; head and foot tell of all that was witnessed")
	}
	scopes := whose(c.Pid, c.Comm, c.Cgroup, false)
	if c.Min > 0 {
		scopes = append(scopes, fmt.Sprintf("waits of at least %v", c.Min))
	}
	return o, strings.Join(scopes, ", "), notes, nil
}

// pollBudget is what of a budget polls may cost, in percent of one CPU: most is left for what is made of them,
// so that there are fewer of them before the guard sheds detail.
func pollBudget(maxCost float64) float64 {
	if maxCost == 0 {
		return 100 // no limit: one thread makes them
	}
	return maxCost / 5
}

// cutName says that a name is longer than those of threads, if it is.
func cutName(comm string) (notes []string) {
	if len(comm) > commBytes {
		notes = append(notes, fmt.Sprintf("the kernel keeps 15 bytes of a thread's name: --comm matches those that begin with %q", comm[:commBytes]))
	}
	return notes
}

// whose are the threads that are witnessed, in words; none: all.
func whose(pids []uint32, comm, cgroup string, runs bool) (scopes []string) {
	if len(pids) > 0 {
		scopes = append(scopes, "pid "+strings.Trim(fmt.Sprint(pids), "[]"))
	}
	if comm != "" {
		scopes = append(scopes, "threads named "+comm)
	}
	if cgroup != "" {
		scopes = append(scopes, "cgroup "+cgroup)
	}
	if runs {
		scopes = append(scopes, "the command and its children")
	}
	return scopes
}

// isUser says whether a user is known here by name, or is a number.
func isUser(name string) bool {
	if _, err := strconv.ParseUint(name, 10, 32); err == nil {
		return true
	}
	_, err := user.Lookup(name)
	return err == nil
}

// findCgroup finds a cgroup by its path within a hierarchy, the unified one
// first, or by its directory; none by no path.
func findCgroup(root, path string) (probe.Cgroup, error) {
	if path == "" {
		return probe.Cgroup{}, nil
	}
	mounts, err := kernel.ReadCgroupMounts(root)
	if err != nil {
		return probe.Cgroup{}, err
	}
	slices.SortStableFunc(mounts, func(a, b kernel.CgroupMount) int { return rank(a) - rank(b) })
	for _, m := range mounts {
		dir := filepath.Join(root, m.Path, path)
		if within := strings.TrimPrefix(path, m.Path); within != path && (within == "" || within[0] == '/') {
			dir = filepath.Join(root, path)
		}
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || len(m.Controllers) == 0 && !m.V2 {
			continue
		}
		if controller := controllerOf(m); controller != "" || m.V2 {
			return probe.Cgroup{
				ID: info.Sys().(*syscall.Stat_t).Ino, Controller: controller,
				Path: filepath.Join("/", m.Root, strings.TrimPrefix(dir, filepath.Join(root, m.Path))),
			}, nil
		}
	}
	return probe.Cgroup{}, usageError{fmt.Errorf("there is no cgroup %s", identity.Quote(path))}
}

// controllerOrder is the order in which v1 hierarchies are tried: the one in
// which the kernel side names a thread's cgroup.
var controllerOrder = []string{"memory", "blkio", "pids", "cpu", "cpuacct", "cpuset", "devices", "freezer"}

func controllerOf(m kernel.CgroupMount) string {
	for _, c := range controllerOrder {
		if slices.Contains(m.Controllers, c) {
			return c
		}
	}
	return ""
}

func rank(m kernel.CgroupMount) int {
	if m.V2 {
		return -1
	}
	if i := slices.Index(controllerOrder, controllerOf(m)); i >= 0 {
		return i
	}
	return len(controllerOrder)
}

// coarseReason says why waits are only polled, and what would be needed to witness them.
func coarseReason(refused []string) string {
	if lacks := kernel.Capabilities("/").Sentence(); lacks != "" {
		return "coarse, because no probe may be used; to be exact, " + lacks
	}
	var reasons []string
	for _, reason := range refused {
		_, reason, _ = strings.Cut(reason, ": ") // the means
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return "coarse, because no probe can be used: " + strings.Join(reasons, "; ")
}

// explain adds to an error of the witness what this process lacks: other reasons are in it.
// A function that is not there is a mistake in the call.
func explain(err error) error {
	if errors.Is(err, probe.ErrNoFunction) {
		return usageError{err}
	}
	unsupported := isUnsupported(err)
	if unsupported == nil {
		return err
	}
	if lacks := kernel.Capabilities("/").Sentence(); lacks != "" {
		return fmt.Errorf("%s: %w", lacks, unsupported)
	}
	return fmt.Errorf("%w; iowitness doctor tells more", err)
}
