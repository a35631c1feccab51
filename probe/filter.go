// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// PIDError says that a process to watch does not exist.
type PIDError struct{ PID uint32 }

func (e *PIDError) Error() string { return fmt.Sprintf("there is no process with pid %d", e.PID) }

// ids are the numbers of threads in the initial pid namespace, by their number
// in the caller's.
type ids struct{ tid, tgid map[uint32]uint32 }

const resolveSize = 16

func resolveIDs(resolve *link.Iter) (ids, error) {
	r := ids{tid: map[uint32]uint32{}, tgid: map[uint32]uint32{}}
	err := readIter(resolve, make([]byte, walkBuffer), func(b []byte) (int, error) {
		if len(b) < resolveSize {
			return 0, fmt.Errorf("%d bytes", len(b))
		}
		tid, tgid, seen := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[8:])
		r.tid[seen] = tid
		if tid == tgid {
			r.tgid[seen] = tgid
		}
		return resolveSize, nil
	})
	return r, err
}

// openResolve attaches the iterator that resolves ids, where it was loaded.
func (o *object) openResolve() (err error) {
	if program := o.collection.Programs[resolveProgram]; program != nil {
		if o.resolve, err = link.AttachIter(link.IterOptions{Program: program}); err != nil {
			return fmt.Errorf("iterating over threads: %w", err)
		}
	}
	return nil
}

// filterProcesses tells the kernel side which processes are wanted, and which is our own.
func (o *object) filterProcesses(pids []uint32) error {
	if err := wantPIDs(o.collection.Maps["wanted_tgids"], o.resolve, pids); err != nil {
		return err
	}
	if o.resolve != nil && !seesInitialPIDs("/") {
		o.numbers.here = map[uint32]uint32{}
	}
	self, err := o.GlobalPID(uint32(os.Getpid()))
	if err != nil {
		return err
	}
	return o.set("self_tgid", self)
}

// GlobalPID is the number in the initial pid namespace of a process by that in the caller's; one
// that the kernel does not show has its own.
func (o *object) GlobalPID(pid uint32) (uint32, error) {
	if o.resolve == nil {
		return pid, nil
	}
	seen, err := resolveIDs(o.resolve)
	if err != nil {
		return 0, err
	}
	if global, ok := seen.tgid[pid]; ok {
		return global, nil
	}
	return pid, nil
}

// globalThread is a thread's number in the initial pid namespace.
func (o *object) globalThread(tid uint32) (uint32, error) {
	if o.resolve == nil {
		return tid, nil
	}
	r, err := resolveIDs(o.resolve)
	if err != nil {
		return 0, err
	}
	if global, ok := r.tid[tid]; ok {
		return global, nil
	}
	return 0, fmt.Errorf("there is no thread with id %d", tid)
}

// wantPIDs fills the kernel side's table of processes to watch. Without an iterator
// to tell the ids of threads, pids are taken for the kernel's own.
func wantPIDs(wanted *ebpf.Map, resolve *link.Iter, pids []uint32) error {
	if len(pids) == 0 {
		return nil
	}
	var r ids
	if resolve != nil {
		var err error
		if r, err = resolveIDs(resolve); err != nil {
			return err
		}
	}
	// Where pids are the kernel's own, /proc also knows processes that a kernel keeps from the iterator.
	self := uint32(os.Getpid())
	own := resolve == nil || r.tgid[self] == self
	for _, pid := range pids {
		global, ok := r.tgid[pid]
		if !ok && own {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			global, ok = pid, err == nil
		}
		if !ok {
			return &PIDError{pid}
		}
		if err := wanted.Put(global, uint8(1)); err != nil {
			return fmt.Errorf("more processes to watch than fit: %w", err)
		}
	}
	return nil
}

func (w *bpfWitness) Follow(tid uint32) error {
	global, err := w.globalThread(tid)
	if err != nil {
		return err
	}
	return w.collection.Maps["followed"].Put(global, uint8(1))
}

func (w *bpfWitness) Unfollow(tid uint32) error {
	global, err := w.globalThread(tid)
	if err != nil {
		return err
	}
	return w.collection.Maps["followed"].Delete(global)
}
