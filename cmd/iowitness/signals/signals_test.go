// SPDX-License-Identifier: Apache-2.0

package signals

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// role is what this program does when the test starts it.
const role = "IOWITNESS_SIGNALS_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		catch()
	}
	switch os.Getenv(role) {
	case "waits": // nobody takes signals
		os.Stdout.WriteString("ready")
		time.Sleep(time.Minute)
	case "takes":
		to := make(chan os.Signal, 1)
		Take(to)
		os.Stdout.WriteString("ready")
		if <-to == syscall.SIGTERM {
			os.Exit(7)
		}
	case "leaves":
		Leave()
		os.Stdout.WriteString("ready")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// statusOf is how a command in a role ends that gets signals as soon as it is ready.
func statusOf(t *testing.T, cmd *exec.Cmd, in string, signals ...syscall.Signal) int {
	t.Helper()
	cmd.Env = append(os.Environ(), role+"="+in)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	for _, sig := range signals {
		cmd.Process.Signal(sig)
	}
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// TestWhoHearsASignal: the program ends with the status that shells give, until somebody takes signals.
func TestWhoHearsASignal(t *testing.T) {
	for _, c := range []struct {
		role   string
		signal syscall.Signal
		status int // -1: the signal's own end
	}{
		{"waits", syscall.SIGINT, 130},
		{"waits", syscall.SIGTERM, 143},
		{"waits", syscall.SIGHUP, 129},
		{"takes", syscall.SIGTERM, 7},
		{"leaves", syscall.SIGINT, -1},
	} {
		if got := statusOf(t, exec.Command(os.Args[0]), c.role, c.signal); got != c.status {
			t.Errorf("%s: %v ends it with status %d, not %d", c.role, c.signal, got, c.status)
		}
	}
}

// TestNohupIsRespected: an ignored SIGHUP ends nothing.
func TestNohupIsRespected(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0])
	if got := statusOf(t, cmd, "waits", syscall.SIGHUP, syscall.SIGTERM); got != 143 {
		t.Errorf("status %d", got)
	}
}
