// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// What samples come by.
const (
	EventCPUClock = "cpu-clock" // a timer on each CPU, which interrupts must be on for
	EventCycles   = "cycles"    // the CPU's own counter, which counts while it does not rest
)

// maxSampleRate is where the kernel keeps how many samples of a CPU it allows in a second.
const maxSampleRate = "/proc/sys/kernel/perf_event_max_sample_rate"

// cpuEvents are the perf events of samples, one on each CPU that is online.
type cpuEvents struct {
	attr    unix.PerfEventAttr
	name    string
	period  time.Duration // between samples of one CPU; 0: they do not come by time
	program *ebpf.Program
	fds     map[int]int // by CPU
	notes   []string
	said    []string
	refused uint64 // CPUs that came online and could not be sampled
}

// newCPUEvents chooses what samples come by.
func newCPUEvents(o *ProfileOptions) (*cpuEvents, error) {
	if rate, err := readNumber(maxSampleRate); err == nil && uint64(o.Frequency) > rate {
		return nil, fmt.Errorf("the kernel allows %d samples a second, not %d (kernel.perf_event_max_sample_rate)", rate, o.Frequency)
	}
	if o.Event != EventCPUClock {
		e := &cpuEvents{name: EventCycles, fds: map[int]int{}, attr: unix.PerfEventAttr{
			Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES, Sample: uint64(o.Frequency),
			Bits: unix.PerfBitFreq | unix.PerfBitDisabled, Size: unix.PERF_ATTR_SIZE_VER1,
		}}
		fd, err := unix.PerfEventOpen(&e.attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			unix.Close(fd)
			e.notes = append(e.notes, "samples come by CPU cycles: a CPU that rests has none, and gaps between them are not told")
			return e, nil
		}
		if o.Event == EventCycles {
			return nil, fmt.Errorf("the CPU's cycles cannot be counted, so samples come only by --event %s: %w", EventCPUClock, noCounter(err))
		}
	}
	period := time1e9 / int64(o.Frequency)
	return &cpuEvents{name: EventCPUClock, period: time.Duration(period), fds: map[int]int{}, attr: unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: uint64(period),
		Bits: unix.PerfBitDisabled, Size: unix.PERF_ATTR_SIZE_VER1,
	}}, nil
}

// noCounter says in words why the kernel does not count what the CPU does.
func noCounter(err error) error {
	why := ""
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
		why = "this machine has no performance counters, or keeps them from this kernel as many virtual machines do"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		why = "the kernel does not allow it to this process (CAP_PERFMON, kernel.perf_event_paranoid)"
	case errors.Is(err, unix.EBUSY):
		why = "somebody else has them to himself"
	default:
		return err
	}
	return fmt.Errorf("%s (%w)", why, err)
}

// attach lets a program sample all CPUs that are online.
func (e *cpuEvents) attach(program *ebpf.Program) error {
	e.program = program
	online, err := onlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range online {
		if err := e.open(cpu); err != nil {
			return fmt.Errorf("sampling CPU %d: %w", cpu, err)
		}
	}
	return nil
}

func (e *cpuEvents) open(cpu int) error {
	fd, err := unix.PerfEventOpen(&e.attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, e.program.FD())
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	e.fds[cpu] = fd
	return nil
}

// follow goes with CPUs that come online or go: an event does not come back with its CPU. came is
// called before those that came are sampled.
func (e *cpuEvents) follow(came func() error) error {
	online, err := onlineCPUs()
	if err != nil || e.program == nil {
		return err
	}
	is := map[int]bool{}
	for _, cpu := range online {
		is[cpu] = true
	}
	for cpu, fd := range e.fds {
		if !is[cpu] {
			unix.Close(fd)
			delete(e.fds, cpu)
			e.said = append(e.said, fmt.Sprintf("CPU %d went offline", cpu))
		}
	}
	for _, cpu := range online {
		if _, known := e.fds[cpu]; known {
			continue
		}
		if err := came(); err != nil {
			return err
		}
		if err := e.open(cpu); err != nil {
			e.refused++
			continue
		}
		e.said = append(e.said, fmt.Sprintf("CPU %d came online, and is sampled since", cpu))
	}
	return nil
}

func (e *cpuEvents) losses() []Loss {
	return []Loss{{ID: "cpu_refused", Title: "times that a CPU could not be sampled", Count: e.refused}}
}

func (e *cpuEvents) close() error {
	var errs []error
	for cpu, fd := range e.fds {
		errs = append(errs, unix.Close(fd))
		delete(e.fds, cpu)
	}
	e.program = nil
	return errors.Join(errs...)
}

func onlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	cpus, ok := parseCPUList(string(text))
	if !ok {
		return nil, fmt.Errorf("the list of CPUs online was not understood: %q", text)
	}
	return cpus, nil
}

// maxCPUs bounds a list of CPUs: no kernel has more.
const maxCPUs = 1 << 16

// parseCPUList reads a list such as "0-3,8".
func parseCPUList(text string) (cpus []int, ok bool) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to >= maxCPUs || len(cpus)+to-from >= maxCPUs {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, true
}

func readNumber(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}
