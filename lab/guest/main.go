// SPDX-License-Identifier: Apache-2.0

// Command guest is the first process of a test's virtual machine: it makes the
// machine usable, runs the plan's test binaries one after the other, and powers off.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab/vm"
)

const testsPort = "/dev/ttyS1"

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: it is the init of a virtual machine")
		os.Exit(2)
	}
	defer unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	if err := mounts(); err != nil {
		fmt.Println("guest:", err)
		return
	}
	port, err := openPort()
	if err != nil {
		fmt.Println("guest:", err)
		return
	}
	defer port.Close()
	report(port, &vm.Report{}) // it lives
	plan, err := vm.ReadPlan()
	if err == nil {
		err = prepare(plan)
	}
	if err != nil {
		report(port, &vm.Report{Status: 1, Error: err.Error()})
		return
	}
	go reap()
	for _, test := range plan.Tests {
		report(port, run(port, plan, test))
	}
	report(port, &vm.Report{})
	unix.Sync()
	drain(port)
}

type mount struct{ fs, dir, options string }

func mounts() error {
	for _, m := range []mount{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devtmpfs", "/dev", ""},
		{"tmpfs", "/dev/shm", ""},
		{"devpts", "/dev/pts", ""},
		{"tmpfs", "/tmp", ""},
		{"tmpfs", "/run", ""},
		{"cgroup2", "/sys/fs/cgroup", ""},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.fs, m.dir, m.fs, 0, m.options); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mounting %s: %w", m.dir, err)
		}
	}
	// Not every kernel has these; tests that need them say so.
	for _, m := range []mount{{"tracefs", "/sys/kernel/tracing", ""}, {"debugfs", "/sys/kernel/debug", ""}, {"securityfs", "/sys/kernel/security", ""}} {
		_ = unix.Mount(m.fs, m.dir, m.fs, 0, m.options)
	}
	return nil
}

// openPort opens the serial port of results, as a plain stream of bytes.
func openPort() (*os.File, error) {
	port, err := os.OpenFile(testsPort, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	t, err := unix.IoctlGetTermios(int(port.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	return port, unix.IoctlSetTermios(int(port.Fd()), unix.TCSETS, t)
}

// drain waits until all has left the port.
func drain(port *os.File) {
	_ = unix.IoctlSetInt(int(port.Fd()), unix.TCSBRK, 1)
}

func prepare(plan *vm.Plan) error {
	os.Setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
	os.Setenv("HOME", "/root")
	os.Setenv("TERM", "dumb")
	os.Setenv(vm.EnvLine, plan.Line)
	if err := unix.Sethostname([]byte("guest")); err != nil {
		return err
	}
	// Shell and small programs; those that are there in full stay.
	if out, err := exec.Command("/bin/busybox", "--install", "-s", "/bin").CombinedOutput(); err != nil {
		return fmt.Errorf("busybox: %w: %s", err, out)
	}
	for _, name := range []string{"losetup", "mount", "umount", "mkswap", "swapon", "swapoff", "dd", "taskset", "sync", "env", "unshare", "script"} {
		for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				os.Remove("/bin/" + name)
			}
		}
	}
	// By this the kernel loads file systems and schedulers that are asked for.
	if err := os.WriteFile("/proc/sys/kernel/modprobe", []byte("/bin/modprobe"), 0); err != nil {
		return err
	}
	_ = exec.Command("/bin/busybox", "ip", "link", "set", "lo", "up").Run()
	for _, name := range plan.Modules {
		if out, err := exec.Command("/bin/busybox", "modprobe", name).CombinedOutput(); err != nil {
			fmt.Printf("guest: module %s: %v: %s\n", name, err, out)
		}
	}
	return nil
}

// reap takes the orphans, which process 1 inherits. Children of our own are waited for by os/exec.
func reap() {
	for range time.Tick(500 * time.Millisecond) {
		entries, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, file := range entries {
			var pid, ppid int
			var state byte
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			rest := text[lastIndex(text, ')')+1:]
			if _, err := fmt.Sscanf(string(text), "%d", &pid); err != nil {
				continue
			}
			if _, err := fmt.Sscanf(string(rest), " %c %d", &state, &ppid); err != nil || ppid != 1 || state != 'Z' || pid == running {
				continue
			}
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil)
		}
	}
}

func lastIndex(text []byte, b byte) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == b {
			return i
		}
	}
	return -1
}

var running int // the test's process, which is not an orphan

func run(port io.Writer, plan *vm.Plan, test vm.Test) *vm.Report {
	r := &vm.Report{Package: test.Package}
	began := time.Now()
	cmd := exec.Command(test.Binary, test.Args...)
	cmd.Dir = filepath.Join(vm.SourceRoot, test.Package)
	cmd.Stdout, cmd.Stderr = port, port
	cmd.Env = append(os.Environ(), test.Env...)
	err := cmd.Start()
	if err == nil {
		running = cmd.Process.Pid
		err = cmd.Wait()
	}
	r.Seconds = time.Since(began).Seconds()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.Status = exit.ExitCode()
		if r.Status < 0 {
			r.Status, r.Error = 1, exit.String()
		}
	case err != nil:
		r.Status, r.Error = 1, err.Error()
	}
	return r
}

func report(port io.Writer, r *vm.Report) { fmt.Fprint(port, "\n"+r.Line()) }
