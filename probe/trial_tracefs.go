// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ours names what a trial puts into the tracing file system after this run, so
// that what a killed one leaves is known and removed like that of a watch.
func ours() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if len(boot) < 8 {
		boot = []byte("00000000")
	}
	return fmt.Sprintf("iowitness_%d_%s_99", os.Getpid(), boot[:8])
}

// tryTracefs makes a return probe by the tracing file system, sees it in an
// instance of its own, and removes both.
func tryTracefs() (err error) {
	t, err := openTracefs()
	if err != nil {
		return err
	}
	defer t.close()
	name := ours()
	instance := "instances/" + name
	if err := t.root.Mkdir(instance, 0o700); err != nil {
		return fmt.Errorf("making a trace instance: %w", err)
	}
	defer func() { err = errors.Join(err, t.root.Remove(instance)) }()
	// An open file in it says that the instance is in use.
	seen, err := t.root.Open(instance + "/trace")
	if err != nil {
		return err
	}
	defer seen.Close()
	if err := t.makeProbe(name); err != nil {
		return fmt.Errorf("making a probe: %w", err)
	}
	defer func() { err = errors.Join(err, t.removeProbe(name)) }()
	enable := instance + "/events/" + name + "/trial/enable"
	if err := t.write(enable, "1", 0); err != nil {
		return fmt.Errorf("enabling a probe: %w", err)
	}
	trigger()
	if err := t.write(enable, "0", 0); err != nil {
		return err
	}
	return ranIn(seen)
}

// makeProbe takes the first of the functions that the kernel has.
func (t *tracefs) makeProbe(name string) (err error) {
	for _, function := range triggered {
		err = t.write("kprobe_events", "r:"+name+"/trial "+function, os.O_APPEND)
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	return err
}

// removeProbe tries again for a while: an event is busy until its last user has gone.
func (t *tracefs) removeProbe(name string) (err error) {
	for range 20 {
		if err = t.write("kprobe_events", "-:"+name+"/trial", os.O_APPEND); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func (t *tracefs) write(path, text string, flag int) error {
	f, err := t.root.OpenFile(path, os.O_WRONLY|flag, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ranIn looks for an event, which is a line that is no remark.
func ranIn(trace *os.File) error {
	if _, err := trace.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(trace, 1<<20))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, "trial") {
			return nil
		}
	}
	return errNeverRan
}
