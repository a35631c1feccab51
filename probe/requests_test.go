// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// toldRequests is all that a witness of requests told.
type toldRequests struct {
	ios   []*event.IO
	waits []*event.IOWait
	files map[uint64]string
}

func (r *toldRequests) take(record any) {
	switch x := record.(type) {
	case *event.IO:
		r.ios = append(r.ios, x)
	case *event.IOWait:
		r.waits = append(r.waits, x)
	case *event.File:
		r.files[x.Ino] = x.Path
	}
}

func openRequests(t *testing.T, o RequestOptions) *Requests {
	t.Helper()
	lab.NeedRoot(t)
	o.FDArguments = kernel.FDArguments()
	w, err := OpenRequests(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// allRequests reads what there is.
func allRequests(t *testing.T, w *Requests) *toldRequests {
	t.Helper()
	r := &toldRequests{files: map[uint64]string{}}
	time.Sleep(50 * time.Millisecond)
	if err := w.Drain(time.Unix(1, 0), r.take); err != nil {
		t.Fatal(err)
	}
	return r
}

func eachRequestMeans(t *testing.T, do func(t *testing.T, via Means)) {
	for _, via := range requestMeans {
		t.Run(string(via), func(t *testing.T) { do(t, via) })
	}
}

// TestEachReadIsOneRequest: direct reads of a known number are so many requests of
// their reader, with all instants, sizes and places.
func TestEachReadIsOneRequest(t *testing.T) {
	const reads = 300
	lab.NeedRoot(t)
	device := lab.Loop(t, 16)
	eachRequestMeans(t, func(t *testing.T, via Means) {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
		w := openRequests(t, RequestOptions{Via: via, Records: true, Sums: true, Waits: true, Dev: device.Dev})
		child.Go()
		child.Wait()
		r := allRequests(t, w)
		n, joined := 0, 0
		for _, o := range r.ios {
			if o.Owner.PID != child.PID() {
				continue
			}
			n++
			if o.Backwards() || o.Queued == 0 || o.Got == 0 || o.Issued == 0 || o.Completed == 0 {
				t.Errorf("instants of %+v", o)
			}
			if o.Bytes != 4096 || o.Disk != device.Dev || o.Error != 0 || o.Op&event.OpMask != event.OpRead {
				t.Errorf("%+v", o)
			}
			if o.File.Source != event.ByFD || !o.File.BlockDevice {
				t.Errorf("file of %+v", o)
			}
		}
		for _, wait := range r.waits {
			if wait.TID == child.PID() && wait.WaitNS > 0 {
				joined++
			}
		}
		counts, err := w.Counts()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d requests, %d joined, %+v", n, joined, counts)
		unseen := unseenRequests(t, w) + counts.InFlight
		if n > reads || n+int(unseen) < reads || unseen > reads/100 {
			t.Errorf("%d requests and %d unseen of %d reads", n, unseen, reads)
		}
		var summed uint64
		if err := w.Sums(func(k event.IOKey, s event.IOSum) {
			if k.PID == child.PID() && k.Disk == device.Dev {
				summed += s.Count
				t.Logf("%+v %+v", k, s)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if summed != uint64(n) {
			t.Errorf("%d requests summed up of %d", summed, n)
		}
	})
}

// TestWrittenBackDataIsItsDirtiers (case A2): three processes dirty a file each, and
// somebody else has it all written: nearly every byte is told as that of the right
// process and file, with the thread that carried it.
func TestWrittenBackDataIsItsDirtiers(t *testing.T) {
	const mib = 8
	lab.NeedRoot(t)
	for _, fs := range []struct{ name, options string }{{"ext4", ""}, {"xfs", ""}} {
		t.Run(fs.name, func(t *testing.T) {
			device := lab.Loop(t, 512)
			dir := lab.Mount(t, device, fs.name, fs.options)
			w := openRequests(t, RequestOptions{Records: true, Dev: device.Dev, Address: symbolAddress(t)})
			writers := map[uint32]string{}
			for i := range 3 {
				name := fmt.Sprintf("file%d", i)
				child := lab.Workload{Name: "dirty", Args: []string{filepath.Join(dir, name), strconv.Itoa(mib)}}.Start(t)
				child.Go()
				child.Wait()
				writers[child.PID()] = "/" + name
			}
			unix.Sync()
			r := allRequests(t, w)
			var right, wrong, data, other uint64
			for _, o := range r.ios {
				if o.Op&event.OpMask != event.OpWrite || o.Flags&event.IOBio != 0 {
					continue
				}
				if o.File.BlockDevice || o.File.Source == event.NoFile {
					other += uint64(o.Bytes)
					continue
				}
				data += uint64(o.Bytes)
				if writers[o.Owner.PID] != "" && writers[o.Owner.PID] == r.files[o.File.Ino] {
					right += uint64(o.Bytes)
				} else {
					wrong += uint64(o.Bytes)
					t.Logf("%q %+v", r.files[o.File.Ino], o)
				}
				if o.Carrier.PID == o.Owner.PID {
					t.Errorf("carried by its owner: %+v", o)
				}
			}
			t.Logf("%d bytes of files: %d right, %d wrong; %d of metadata", data, right, wrong, other)
			if data < 3*mib<<20*95/100 || right < data*95/100 {
				t.Errorf("of %d bytes written %d are told as of files, %d of them as of the right process", 3*mib<<20, data, right)
			}
		})
	}
}

func symbolAddress(t *testing.T) func(string) (uint64, bool) {
	t.Helper()
	s, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Log(err)
		return nil
	}
	return s.Address
}
