// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/iowitness/iowitness/identity"
)

func TestThisProcess(t *testing.T) {
	pid := uint32(os.Getpid())
	p := remember("/", 0)
	got := p.Process(pid)
	if got.Known == identity.FromNowhere {
		t.Skip("/proc here is not of the first pid namespace, so its pids are not trusted")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got.Exe != exe || got.ExeDeleted || got.UID != uint32(os.Getuid()) || got.Kernel || got.PPID != uint32(os.Getppid()) {
		t.Errorf("%+v", got)
	}
	if got.Cgroup == "" || got.NSPID != pid {
		t.Errorf("%+v", got)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if cwd, ok := p.Cwd(pid); cwd != wd || !ok {
		t.Errorf("works in %q, want %q", cwd, wd)
	}
	if args, ok := p.Cmdline(pid); !ok || args[0] != os.Args[0] {
		t.Errorf("arguments %q", args)
	}
}

func TestKernelThread(t *testing.T) {
	p := remember("/", 0)
	got := p.Process(2)
	if got.Comm != "kthreadd" {
		t.Skip("no kernel threads are visible here")
	}
	if !got.Kernel || got.Exe != "" || got.Display() != "[kthreadd]" {
		t.Errorf("%+v", got)
	}
}

// TestBinaryWithALongName: the kernel cuts its name at 15 bytes (field case I6).
func TestBinaryWithALongName(t *testing.T) {
	const name = "a-binary-with-a-name-of-30-let"
	binary := filepath.Join(t.TempDir(), name)
	copyFile(t, "/bin/sleep", binary)
	cmd := exec.Command(binary, strconv.Itoa(int(time.Hour.Seconds())))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	got := remember("/", 0).Process(uint32(cmd.Process.Pid))
	if got.Known == identity.FromNowhere {
		t.Skip("/proc here is not of the first pid namespace, so its pids are not trusted")
	}
	if got.Comm != name[:15] || got.Display() != name {
		t.Errorf("%+v is shown as %q", got, got.Display())
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Skip(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkProcess(b *testing.B) {
	pid := uint32(os.Getpid())
	b.Run("first", func(b *testing.B) {
		views, users := identity.NewMountViews("/"), identity.NewUsers("/")
		for b.Loop() {
			identity.NewProcesses("/", views, users, 0).Process(pid)
		}
	})
	b.Run("again", func(b *testing.B) {
		p := remember("/", 0)
		for b.Loop() {
			p.Process(pid)
		}
	})
}

func BenchmarkContainerOf(b *testing.B) {
	path := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid_ + ".slice/cri-containerd-" + id1 + ".scope"
	for b.Loop() {
		identity.ContainerOf(path)
	}
}
