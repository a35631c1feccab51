// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/iowitness/iowitness/lab/fact"
	"github.com/iowitness/iowitness/lab/kernels"
)

// Machine is a virtual machine, ready to be run once.
type Machine struct {
	Kernel  *kernels.Kernel
	CPUs    int
	MemMiB  int
	Accel   string   // "tcg" or "kvm"
	Counted bool     // its clock counts its instructions: 1 ns each, whatever the host does beside. It needs one CPU
	Cmdline []string // added to the kernel's
	Tools   []string // programs of this machine, beside those that tests always have
	Disks   []Disk
	Init    string            // file of the program in lab/guest, linked statically
	Files   map[string]string // further files and directories: path in the guest to path here
	Plan    Plan
}

// Disk is a disk of a known truth. The guest finds it by its serial number.
type Disk struct {
	Serial   string // such as "throttled"
	Model    string // "nvme", "virtio-blk", or "nvme-multipath": by two controllers
	MiB      int
	IOPS     int // qemu's own throttle; 0: none
	BytesSec int
}

// Disks are those of every guest.
var Disks = []Disk{
	{Serial: "fast", Model: "nvme", MiB: 256},
	{Serial: "plain", Model: "virtio-blk", MiB: 256},
	{Serial: "throttled", Model: "virtio-blk", MiB: 256, IOPS: 50},
	{Serial: "shared", Model: "nvme-multipath", MiB: 256},
}

// Outcome is what a machine told.
type Outcome struct {
	Reports []Report
	Facts   []fact.Fact
	Log     []byte // the kernel's messages
	Ended   bool   // it powered off by itself
}

// Run boots the machine and copies the tests' output to out as it comes. An
// error is one of the machine, not of a test: ErrBoot where the guest's init never ran.
func (m *Machine) Run(ctx context.Context, out io.Writer) (*Outcome, error) {
	dir, err := os.MkdirTemp("", "iowitness-vm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args, err := m.prepare(dir)
	if err != nil {
		return nil, err
	}
	tests, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tests.Close()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", args...)
	cmd.ExtraFiles = []*os.File{told}
	var qemu bytes.Buffer
	cmd.Stderr = &qemu
	if err := cmd.Start(); err != nil {
		told.Close()
		return nil, err
	}
	told.Close()
	o := &Outcome{}
	readErr := o.read(tests, out)
	waitErr := cmd.Wait()
	o.Log, err = os.ReadFile(filepath.Join(dir, "kernel.log"))
	switch {
	case err != nil:
		return o, err
	case ctx.Err() != nil && len(o.Reports) == 0:
		return o, fmt.Errorf("%w: no sign of life in time: %s", ErrBoot, lastLine(o.Log))
	case ctx.Err() != nil:
		return o, fmt.Errorf("stopped, as its time was over: %w", ctx.Err())
	case waitErr != nil:
		return o, fmt.Errorf("qemu: %w: %s", waitErr, strings.TrimSpace(qemu.String()))
	case len(o.Reports) == 0:
		return o, fmt.Errorf("%w: %s", ErrBoot, lastLine(o.Log))
	}
	return o, readErr
}

// ErrBoot says that a guest did not come up: the only failure that is worth another try.
var ErrBoot = errors.New("the guest did not boot")

func lastLine(log []byte) string {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return strconv.QuoteToASCII(string(lines[len(lines)-1]))
}

// prepare writes the image and the disks, and gives qemu's arguments.
func (m *Machine) prepare(dir string) ([]string, error) {
	initrd := filepath.Join(dir, "initrd")
	f, err := os.Create(initrd)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(writeImage(buffered, m), buffered.Flush(), f.Close()); err != nil {
		return nil, err
	}
	cmdline := append([]string{"console=ttyS0", "panic=-1", "quiet", "loglevel=4", "random.trust_cpu=on", "nokaslr", "printk.time=1"}, m.Cmdline...)
	args := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "q35",
		"-accel", emulation(m.Accel), "-cpu", "max", "-smp", strconv.Itoa(m.CPUs), "-m", strconv.Itoa(m.MemMiB),
		"-kernel", m.Kernel.Image(), "-initrd", initrd, "-append", strings.Join(cmdline, " "),
		"-serial", "file:" + filepath.Join(dir, "kernel.log"),
		"-chardev", "file,id=tests,path=/dev/fd/3", "-serial", "chardev:tests",
	}
	if m.Counted {
		args = append(args, "-icount", "shift=0")
	}
	for i, d := range m.Disks {
		file := filepath.Join(dir, d.Serial+".img")
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, int64(d.MiB)<<20)); err != nil {
			return nil, err
		}
		drive := fmt.Sprintf("if=none,id=d%d,format=raw,cache=unsafe,file=%s", i, file)
		if d.IOPS > 0 {
			drive += fmt.Sprintf(",throttling.iops-total=%d", d.IOPS)
		}
		if d.BytesSec > 0 {
			drive += fmt.Sprintf(",throttling.bps-total=%d", d.BytesSec)
		}
		args = append(append(args, "-drive", drive), d.devices(i)...)
	}
	return args, nil
}

// devices are qemu's arguments for the disk, whose drive has a number.
func (d *Disk) devices(drive int) []string {
	switch d.Model {
	case "nvme-multipath":
		controller := fmt.Sprintf("nvme,subsys=%s,serial=%s", d.Serial, d.Serial)
		return []string{
			"-device", "nvme-subsys,id=" + d.Serial, "-device", controller + ",id=" + d.Serial + "0", "-device", controller + ",id=" + d.Serial + "1",
			"-device", fmt.Sprintf("nvme-ns,drive=d%d,bus=%s0,shared=on", drive, d.Serial),
		}
	case "virtio-blk":
		return []string{"-device", fmt.Sprintf("virtio-blk-pci,drive=d%d,serial=%s", drive, d.Serial)}
	}
	return []string{"-device", fmt.Sprintf("%s,drive=d%d,serial=%s", d.Model, drive, d.Serial)}
}

// emulation is qemu's argument for an accelerator. Its emulation by one thread a CPU
// runs breakpoints that the kernel has already taken out of its own code again, as
// when a tracepoint is switched on: "Oops: int3" in one boot of three.
func emulation(accel string) string {
	if accel == "tcg" {
		return "tcg,thread=single"
	}
	return accel
}

// read takes the reports out of the tests' output and copies the rest.
func (o *Outcome) read(from io.Reader, to io.Writer) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if text, ok := strings.CutPrefix(line, resultMark); ok {
			var r Report
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				return fmt.Errorf("a report of the guest: %w", err)
			}
			o.Reports = append(o.Reports, r)
			o.Ended = o.Ended || r.Package == "" && len(o.Reports) > 1
		} else if f, found, factErr := fact.Parse(line); found {
			if factErr != nil {
				return factErr
			}
			o.Facts = append(o.Facts, f)
		} else if line != "" || err == nil {
			fmt.Fprintln(to, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// trouble are the words by which a kernel says that something is wrong with it.
var trouble = []string{
	"WARNING:", "BUG:", "Oops", "general protection", "soft lockup", "hard LOCKUP", "blocked for more than", "rcu_sched self-detected",
	"rcu_preempt self-detected", "rcu: INFO", "Call Trace", "KASAN", "refcount_t", "Kernel panic", "unable to handle",
}

// Trouble are the lines of a kernel's log that tell of something wrong.
func (o *Outcome) Trouble() []string {
	var lines []string
	for line := range strings.Lines(string(o.Log)) {
		for _, word := range trouble {
			if strings.Contains(line, word) {
				lines = append(lines, strings.TrimSpace(line))
				break
			}
		}
	}
	return lines
}

// Accelerator is "kvm" where it really works, which only a probe boot shows; else "tcg".
func Accelerator(ctx context.Context, m Machine) string {
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return "tcg"
	}
	kvm.Close()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	m.Accel, m.Plan.Tests, m.Files = "kvm", nil, nil
	if o, err := m.Run(ctx, io.Discard); err != nil || !o.Ended {
		return "tcg"
	}
	return "kvm"
}
