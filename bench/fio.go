// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	loadJobs  = 2
	untilDone = 3600 // seconds: a load that is stopped, not waited for
	fioEnds   = 30 * time.Second
)

// newFio prepares random reads that bypass the page cache: each sleeps until it is done.
func newFio(d *loopDevice, jobs, seconds int, more ...string) (*child, error) {
	if _, err := exec.LookPath("fio"); err != nil {
		return nil, fmt.Errorf("fio is not installed")
	}
	argv := []string{
		"fio", "--name=bench", "--filename=" + d.path, "--readonly", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=psync",
		fmt.Sprintf("--numjobs=%d", jobs), "--group_reporting", "--time_based", fmt.Sprintf("--runtime=%d", seconds), "--eta=never",
	}
	// At SIGTERM fio ends its jobs; killed, it would leave them running.
	return newChild(syscall.SIGTERM, append(argv, more...)...), nil
}

// startLoad starts a load and waits until the device does at least so many reads a second.
func startLoad(ctx context.Context, d *loopDevice, jobs int, rate float64, more ...string) (*child, error) {
	fio, err := newFio(d, jobs, untilDone, more...)
	if err != nil {
		return nil, err
	}
	if err := fio.start(); err != nil {
		return nil, err
	}
	if err := awaitRate(ctx, fio, d, rate); err != nil {
		fio.interrupt(fioEnds)
		return nil, err
	}
	return fio, nil
}

func awaitRate(ctx context.Context, fio *child, d *loopDevice, rate float64) error {
	const step = 250 * time.Millisecond
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		before, err := d.reads()
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := pause(ctx, step); err != nil {
			return err
		}
		after, err := d.reads()
		if err != nil {
			return err
		}
		if err := fio.alive(); err != nil {
			return err
		}
		if float64(after-before) >= rate*time.Since(begin).Seconds() {
			return nil
		}
	}
	return fmt.Errorf("fio does not reach %.0f reads a second", rate)
}

// startCPULoad is the load of the cost and overhead parts: as fast as it goes.
// Jobs that may move about do now 40,000 and now 70,000 reads a second, which
// hides what a tool costs, so each has its own CPU.
func startCPULoad(ctx context.Context, b *bench) (*child, error) {
	var more []string
	if b.pin {
		more = []string{"--cpus_allowed=" + allowedCPUs(), "--cpus_allowed_policy=split"}
	}
	return startLoad(ctx, b.device, loadJobs, 1000, more...)
}

// allowedCPUs are the first of the CPUs we may use, one for each job where there are enough.
func allowedCPUs() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return "0"
	}
	var cpus []string
	for cpu := 0; len(cpus) < min(loadJobs, set.Count()); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, strconv.Itoa(cpu))
		}
	}
	return strings.Join(cpus, ",")
}

// fioReads is what fio says it has completed.
func fioReads(file string) (uint64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return parseFioReads(b)
}

func parseFioReads(b []byte) (uint64, error) {
	var result struct {
		Jobs []struct {
			Error int `json:"error"`
			Read  struct {
				Total uint64 `json:"total_ios"`
			} `json:"read"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(b, &result); err != nil {
		return 0, fmt.Errorf("reading fio's result: %w", err)
	}
	var total uint64
	for _, j := range result.Jobs {
		if j.Error != 0 {
			return 0, fmt.Errorf("fio failed with error %d", j.Error)
		}
		total += j.Read.Total
	}
	return total, nil
}
