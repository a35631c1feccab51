// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/tracefs"
)

// TestAStoppedProgramLosesAndCounts: while it does not read, the buffers fill, take
// nothing more and count; afterwards no wait is longer than a read was.
func TestAStoppedProgramLosesAndCounts(t *testing.T) {
	const delay = time.Millisecond
	device := lab.NullBlk(t, delay)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, "16", "400"}}.Start(t)
	w := openTraced(t, Options{PIDs: []uint32{child.PID()}, Functions: ioFunctions, RingBytes: 128 << 10, SampleEvery: 1})
	if w.reader == nil {
		t.Fatal("no reader")
	}
	child.Go()
	time.Sleep(5 * time.Second) // nobody reads
	r := &witnessed{tallies: map[uint32]*event.Tally{}}
	for range 20 {
		if err := w.Drain(time.Now().Add(100*time.Millisecond), r.take); err != nil {
			t.Fatal(err)
		}
	}
	truth := child.Wait()
	rest := finish(t, w)
	losses := lossesOf(t, w)
	checkBalance(t, w, true)
	waits := append(r.waits, rest.waits...)
	for _, wait := range waits {
		if wait.Runs-wait.Start > uint64(truth.Max) || wait.Runs < wait.Start {
			t.Errorf("a wait of %v, the longest read took %v", time.Duration(wait.Runs-wait.Start), truth.Max)
		}
	}
	t.Logf("%d reads, %d waits recorded, the longest read %v", truth.Ops, len(waits), truth.Max)
	if losses["buffer_full"].Count == 0 {
		t.Error("nothing was lost of more than fits")
	}
	if len(waits) == 0 {
		t.Error("what fitted was not told")
	}
	if losses["clock"].Count+losses["undecoded"].Count != 0 {
		t.Error("records were not understood")
	}
}

const stopVariable = "IOWITNESS_STOP"

// TestWitnessToBeStopped is no test but the process that others stop or kill.
func TestWitnessToBeStopped(t *testing.T) {
	ready := os.Getenv(stopVariable)
	if ready == "" {
		t.Skip("run by another test")
	}
	w := openTraced(t, Options{Functions: ioFunctions, Silence: time.Second, RingBytes: 128 << 10})
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err := w.Drain(time.Now().Add(100*time.Millisecond), func(any) {}); err != nil {
			t.Fatal(err)
		}
		closed, err := w.Heartbeat()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(ready + ".end"); closed || err == nil {
			break
		}
	}
	losses := lossesOf(t, w)
	text := ""
	for id, l := range losses {
		text += id + " " + strconv.FormatUint(l.Count, 10) + "\n"
	}
	if err := os.WriteFile(ready+".losses", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func startWitness(t *testing.T) (cmd *exec.Cmd, ready string) {
	t.Helper()
	if err := openTraced(t, Options{Functions: ioFunctions}).Close(); err != nil { // skips where the kernel cannot
		t.Fatal(err)
	}
	ready = filepath.Join(t.TempDir(), "ready")
	cmd = exec.Command(os.Args[0], "-test.run=^TestWitnessToBeStopped$", "-test.v")
	cmd.Env = append(os.Environ(), stopVariable+"="+ready)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 600 {
		if _, err := os.Stat(ready); err == nil {
			return cmd, ready
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the witness does not come up")
	return nil, ""
}

// TestSIGSTOPOnlyLosesAndCounts, and the program notices.
func TestSIGSTOPOnlyLosesAndCounts(t *testing.T) {
	device := lab.NullBlk(t, time.Millisecond)
	witness, ready := startWitness(t)
	if err := witness.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	child := lab.Workload{Name: "threads", Args: []string{device.Path, "16", "200"}}.Start(t)
	child.Go()
	child.Wait()
	time.Sleep(5 * time.Second)
	if err := errors.Join(os.WriteFile(ready+".end", nil, 0o600), witness.Process.Signal(syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	if err := witness.Wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ready + ".losses")
	if err != nil || !strings.Contains(string(text), "buffer_full ") || strings.Contains(string(text), "buffer_full 0\n") {
		t.Errorf("%v: %s", err, text)
	}
	leftOver(t, 0)
}

func leftOver(t *testing.T, want int) {
	t.Helper()
	fs, err := tracefs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	probes, err := fs.Probes()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, p := range probes {
		if _, _, ok := tracefs.ParseOwner(p.Group); ok {
			own++
		}
	}
	if own != want {
		t.Errorf("%d of our probes are there, not %d: %v", own, want, probes)
	}
}

// TestAKilledWitnessIsCleanedUpByTheNext, which works as if nothing had been.
func TestAKilledWitnessIsCleanedUpByTheNext(t *testing.T) {
	witness, _ := startWitness(t)
	leftOver(t, 4)
	witness.Process.Kill()
	witness.Wait()
	leftOver(t, 4)
	w := openTraced(t, Options{Functions: ioFunctions})
	leftOver(t, 4)
	probes, err := w.fs.Probes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		if o, _, _ := tracefs.ParseOwner(p.Group); o != w.owner {
			t.Errorf("left: %v", p)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	leftOver(t, 0)
}
