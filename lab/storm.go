// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const stormWidth = 32 // threads at a time

// threadStorm makes short threads, one after the other on each of some places.
func threadStorm(t *Truth, a []string) error {
	threads, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	every, err := strconv.Atoi(a[2])
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	places := make(chan struct{}, stormWidth)
	for i := range threads {
		places <- struct{}{}
		all.Add(1)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			defer func() { <-places; all.Done() }()
			if i%every != 0 {
				return
			}
			var r countedReader
			err := r.open(a[0], "direct")
			if err == nil {
				err = errors.Join(r.read(int64(i)%r.blocks*4096), unix.Close(r.fd))
			}
			mu.Lock()
			defer mu.Unlock()
			t.add(&r.truth)
			if err != nil {
				failed = err
			}
		}()
	}
	all.Wait()
	return failed
}
