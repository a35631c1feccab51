// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	startBar      = 300 // ms
	startInterval = "100ms"
	attachPoll    = 4 * time.Millisecond // more often would slow the start down
)

// measureStart starts iowitness again and again, on the idle and on the busy machine.
func measureStart(ctx context.Context, b *bench) (*section, error) {
	s := &section{Columns: []string{"time from exec"}}
	progress("  idle machine")
	first, attached, err := starts(ctx, b)
	if err != nil {
		return s, err
	}
	s.add("first JSON line", &bar{fmt.Sprintf("≤ %d ms", startBar), first.median() <= startBar}, first)
	s.add("its BPF programs are attached", nil, attached)

	progress("  under load")
	load, err := startCPULoad(ctx, b)
	if err != nil {
		return s, err
	}
	defer load.interrupt(fioEnds)
	if first, attached, err = starts(ctx, b); err != nil {
		return s, err
	}
	s.add("first JSON line, under load", nil, first)
	s.add("its BPF programs are attached, under load", nil, attached)
	s.note("iowitness --json --interval %s: that interval is part of the time to the first line; median (smallest…largest) of %d starts; "+
		"attached: seen by polling every %v, in starts of its own; load: as for cost, all CPUs busy", startInterval, b.starts, attachPoll)
	return s, nil
}

func starts(ctx context.Context, b *bench) (first, attached measure, err error) {
	first, attached = measure{Unit: "ms"}, measure{Unit: "ms"}
	for range b.starts {
		for _, m := range []struct {
			readings *measure
			read     func(context.Context, *starting) (time.Duration, error)
		}{{&first, firstLineAfter}, {&attached, attachedAfter}} {
			d, err := startOnce(ctx, b, m.read)
			if err != nil {
				return first, attached, err
			}
			m.readings.add(float64(d.Microseconds()) / 1000)
		}
	}
	return first, attached, nil
}

// starting is an iowitness just started.
type starting struct {
	*child
	line chan time.Time // when the first line came; closed when none will
}

func startOnce(ctx context.Context, b *bench, read func(context.Context, *starting) (time.Duration, error)) (time.Duration, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	s := &starting{newChild(syscall.SIGKILL, b.iowitness, "--json", "--interval", startInterval), make(chan time.Time, 1)}
	s.cmd.Stdout = w
	err = s.start()
	w.Close()
	if err != nil {
		return 0, err
	}
	go s.readLines(r)
	d, err := read(ctx, s)
	return d, errors.Join(err, s.interrupt(toolEnds))
}

// readLines notes the first line and reads on, so that the writer is never held up.
func (s *starting) readLines(r io.Reader) {
	defer close(s.line)
	lines := bufio.NewReaderSize(r, 1<<20)
	if _, err := lines.ReadSlice('\n'); err == nil || err == bufio.ErrBufferFull {
		s.line <- time.Now()
	}
	io.Copy(io.Discard, lines)
}

func firstLineAfter(ctx context.Context, s *starting) (time.Duration, error) {
	select {
	case at, ok := <-s.line:
		if !ok {
			return 0, fmt.Errorf("no line: %s", s.lastWords())
		}
		return at.Sub(s.started), nil
	case <-time.After(20 * time.Second):
		return 0, fmt.Errorf("no line within 20s")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// attachedAfter is the time until the last of the links was there that are there
// when the first line comes.
func attachedAfter(ctx context.Context, s *starting) (time.Duration, error) {
	links, at := 0, s.started
	limit := time.After(20 * time.Second)
	for poll := time.NewTicker(attachPoll); ; {
		if n := attachedLinks(s.pid()); n > links {
			links, at = n, time.Now()
		}
		select {
		case _, ok := <-s.line:
			if !ok || links == 0 {
				return 0, fmt.Errorf("nothing attached: %s", s.lastWords())
			}
			return at.Sub(s.started), nil
		case <-limit:
			return 0, fmt.Errorf("no line within 20s")
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-poll.C:
		}
	}
}
