// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const memoryBar = 40 // MB

// measureMemory watches iowitness's size while very many threads live that have waited.
func measureMemory(ctx context.Context, b *bench) (*section, error) {
	s := &section{Columns: []string{"largest seen"}}
	w, err := startWitness(ctx, b, "memory")
	if err != nil {
		return s, err
	}
	defer w.interrupt(toolEnds)
	var before memory
	if err := before.sample(w.pid()); err != nil {
		return s, err
	}
	threads, err := startThreads(b.device, b.threads)
	if err != nil {
		return s, err
	}
	defer threads.stop()
	m, err := watchMemory(ctx, w, threads)
	if err != nil {
		return s, err
	}
	live, err := statusNumber(threads.pid(), "Threads")
	if err != nil {
		return s, err
	}
	docs, err := w.finish()
	if err != nil {
		return s, err
	}
	seen := tallyOf(docs, func(pid int) bool { return pid == threads.pid() })
	s.add("resident memory (VmRSS)", &bar{fmt.Sprintf("≤ %d MB", memoryBar), m.resident <= memoryBar*1e6}, megabytes(m.resident))
	s.add("resident before there were threads", nil, megabytes(before.resident))
	s.add("anonymous part (RssAnon)", nil, megabytes(m.anonymous))
	s.add("resident at its peak (VmHWM)", nil, megabytes(m.peak))
	s.add("kernel memory of its BPF maps", nil, megabytes(m.maps))
	s.note("beside a process of %d live threads, of which iowitness has seen %d waits, %.1f for each thread; JSON, 1 s; largest of samples every 100 ms, until %v after the last wait",
		live, seen.waits, float64(seen.waits)/float64(max(live, 1)), afterThreads)
	return s, nil
}

func megabytes(bytes uint64) measure { return one(float64(bytes)/1e6, "MB", 1) }

// memory is in bytes.
type memory struct{ resident, anonymous, peak, maps uint64 }

const afterThreads = 4 * time.Second

// watchMemory keeps the largest sizes until a while after the threads have waited.
func watchMemory(ctx context.Context, w *witness, threads *threadLoad) (m memory, err error) {
	var until time.Time
	for until.IsZero() || time.Now().Before(until) {
		if err := errors.Join(w.alive(), threads.alive()); err != nil {
			return m, err
		}
		if err := m.sample(w.pid()); err != nil {
			return m, err
		}
		select {
		case _, ok := <-threads.ready:
			if !ok {
				return m, fmt.Errorf("the threads ended: %s", threads.lastWords())
			}
			until = time.Now().Add(afterThreads)
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return m, context.Cause(ctx)
		}
		if time.Since(threads.started) > 2*time.Minute {
			return m, errors.New("the threads do not get ready")
		}
	}
	m.maps = mapMemory(w.pid())
	return m, nil
}

func (m *memory) sample(pid int) error {
	for _, f := range []struct {
		key  string
		size *uint64
	}{{"VmRSS", &m.resident}, {"RssAnon", &m.anonymous}, {"VmHWM", &m.peak}} {
		n, err := statusNumber(pid, f.key)
		if err != nil {
			return err
		}
		*f.size = max(*f.size, n<<10)
	}
	return nil
}

// mapMemory is what the kernel says a process's maps take.
func mapMemory(pid int) (sum uint64) {
	for _, d := range bpfDescriptors(pid) {
		if d.kind != "bpf-map" {
			continue
		}
		if n, err := findNumber(d.info, "memlock"); err == nil {
			sum += n
		}
	}
	return sum
}
