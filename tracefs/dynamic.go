// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MaxActive is the most calls in flight that the kernel lets a return probe have.
const MaxActive = 4096

// Probe is an event that kprobe_events makes at a function's begin or return.
type Probe struct {
	Group, Event string
	Symbol       string // the function's exact name, compiler's suffixes included
	Return       bool
	MaxActive    int    // calls in flight that a return probe can follow; 0: the kernel's default, which is about two a CPU
	Fetch        string // arguments to fetch, in the kernel's notation
}

// String is the line by which the kernel makes the probe.
func (p Probe) String() string {
	kind := "p"
	if p.Return {
		kind = "r"
		if p.MaxActive > 0 {
			kind += strconv.Itoa(p.MaxActive)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%s:%s/%s %s %s", kind, p.Group, p.Event, p.Symbol, p.Fetch))
}

const (
	probesFile  = "kprobe_events"
	profileFile = "kprobe_profile"
	errorFile   = "error_log"
)

// ErrNoProbes tells that this kernel has no kprobe_events.
var ErrNoProbes = errors.New("the kernel has no kprobe_events (CONFIG_KPROBE_EVENTS)")

// Probes are all probes that anyone has made. Lines of other shapes are passed over.
func (t *FS) Probes() ([]Probe, error) {
	text, err := t.read(probesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoProbes
	}
	return parseProbes(text), err
}

var probeLine = regexp.MustCompile(`^([pr])(\d*):([^/ ]+)/([^ ]+) ([^ ]+)(?: (.*))?$`)

func parseProbes(text string) (probes []Probe) {
	for line := range strings.Lines(text) {
		m := probeLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		active, _ := strconv.Atoi(m[2])
		probes = append(probes, Probe{Return: m[1] == "r", MaxActive: active, Group: m[3], Event: m[4], Symbol: m[5], Fetch: m[6]})
	}
	return probes
}

// AddProbe makes a probe, which is not enabled yet. Where the kernel does not
// take MaxActive (before 4.12), it is made without, and the result says so.
func (t *FS) AddProbe(p Probe) (made Probe, err error) {
	err = t.define(p)
	if err != nil && p.MaxActive > 0 && errors.Is(err, unix.EINVAL) {
		plain := p
		plain.MaxActive = 0
		if t.define(plain) == nil {
			return plain, nil
		}
	}
	if err != nil {
		return p, &ProbeError{p, t.reason(p, err)}
	}
	return p, nil
}

// define adds a line and looks whether the event has come out of it: kernels
// before 4.12 take the number for a part of the kind and choose a name themselves.
func (t *FS) define(p Probe) error {
	before, err := t.Probes()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(before, p.sameName) {
		return unix.EEXIST
	}
	if err := t.write(probesFile, p.String()+"\n"); err != nil {
		return err
	}
	after, err := t.Probes()
	if err != nil || slices.ContainsFunc(after, p.sameName) {
		return err
	}
	for _, other := range after {
		if other.Symbol == p.Symbol && !slices.ContainsFunc(before, other.sameName) {
			err = t.RemoveProbe(other.Group, other.Event)
		}
	}
	return errors.Join(unix.EINVAL, err)
}

func (p Probe) sameName(other Probe) bool { return p.Group == other.Group && p.Event == other.Event }

// RemoveProbe removes a probe. unix.EBUSY says that someone has it enabled.
func (t *FS) RemoveProbe(group, event string) error {
	return t.write(probesFile, "-:"+group+"/"+event+"\n")
}

// ProbeError says why a function cannot be probed.
type ProbeError struct {
	Probe  Probe
	Reason error
}

func (e *ProbeError) Error() string { return fmt.Sprintf("%s: %v", e.Probe.Symbol, e.Reason) }

func (e *ProbeError) Unwrap() error { return e.Reason }

// reason says in words what an error number means here; the kernel's own words,
// where it keeps them, come with it.
func (t *FS) reason(p Probe, err error) error {
	if errors.Is(err, ErrNoProbes) {
		return err
	}
	words := ""
	switch {
	case errors.Is(err, unix.ENOENT):
		words = "the kernel has no such function: inlined, or its module is not loaded"
	case errors.Is(err, unix.EADDRNOTAVAIL):
		words = "several functions have this name"
	case errors.Is(err, unix.EEXIST):
		words = "there already is such a probe"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		words = "not permitted (lockdown, or missing privileges)"
	case errors.Is(err, unix.EINVAL):
		words = "the kernel has no such function, or allows no probe on it" // before 6.6 the former is ENOENT
	default:
		return err
	}
	if log, logErr := t.read(errorFile); logErr == nil {
		if own := lastError(log, p.String()); own != "" {
			words += " (" + own + ")"
		}
	}
	return fmt.Errorf("%s: %w", words, err)
}

var errorLine = regexp.MustCompile(`^\[[^\]]*\] \w+: error: (.*)$`)

// lastError finds what the kernel last said of a command in its error log.
func lastError(log, command string) (last string) {
	said := ""
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\n")
		if m := errorLine.FindStringSubmatch(line); m != nil {
			said = m[1]
		}
		if strings.TrimSpace(line) == "Command: "+command {
			last = said
		}
	}
	return last
}

// Profile is what the kernel counts of a probe.
type Profile struct {
	Hits   uint64 // also those that no buffer took
	Misses uint64 // older kernels leave out the returns for which MaxActive was too small
}

// Profiles are the counts of all probes, by event: the kernel does not tell the group.
func (t *FS) Profiles() (map[string]Profile, error) {
	text, err := t.read(profileFile)
	if err != nil {
		return nil, err
	}
	return parseProfiles(text), nil
}

func parseProfiles(text string) map[string]Profile {
	profiles := map[string]Profile{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		hits, err1 := strconv.ParseUint(words[1], 10, 64)
		misses, err2 := strconv.ParseUint(words[2], 10, 64)
		if err1 == nil && err2 == nil {
			profiles[words[0]] = Profile{Hits: hits, Misses: misses}
		}
	}
	return profiles
}

// EventName makes a name that the kernel takes for an event from a function's,
// unique to its owner: kprobe_profile tells no groups.
func EventName(o Owner, function, role string) string {
	tail := fmt.Sprintf("_%s_%d_%d", role, o.PID, o.Number)
	name := []byte(function)
	for i, c := range name {
		if !isWord(rune(c)) {
			name[i] = '_'
		}
	}
	return string(name[:min(len(name), maxEventName-len(tail))]) + tail
}

const maxEventName = 63 // MAX_EVENT_NAME_LEN without the end of the string

func eventPath(group, event string) string { return path.Join("events", group, event) }
