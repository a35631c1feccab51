// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// requestDevices are what requests are counted on; in a guest all kinds that the lab has.
func requestDevices() map[string]func(t *testing.T) lab.Device {
	all := map[string]func(t *testing.T) lab.Device{"loop": func(t *testing.T) lab.Device { return lab.Loop(t, 64) }}
	if lab.Guest() {
		all["null_blk"] = func(t *testing.T) lab.Device { return lab.NullBlk(t, 100*time.Microsecond) }
		all["nvme"] = func(t *testing.T) lab.Device { return lab.Disk(t, "fast") }
		all["virtio"] = func(t *testing.T) lab.Device { return lab.Disk(t, "plain") }
		all["scsi_debug"] = func(t *testing.T) lab.Device { return lab.ScsiDebug(t, 64, 100*time.Microsecond) }
	}
	return all
}

// TestFioIsSeenExactlyOnce: whatever the engine and the device, as many requests as fio
// says it has done, of its bytes and of its process.
func TestFioIsSeenExactlyOnce(t *testing.T) {
	lab.NeedRoot(t)
	for name, make := range requestDevices() {
		t.Run(name, func(t *testing.T) {
			device := make(t)
			for _, engine := range []string{"psync", "libaio", "io_uring"} {
				t.Run(engine, func(t *testing.T) {
					w := openRequests(t, RequestOptions{Records: true, Sums: true, Dev: device.Dev, Address: symbolAddress(t)})
					truth := lab.Fio(t, device.Path, "--ioengine="+engine, "--iodepth=8", "--numjobs=2", "--size=32m", "--io_size=2m")
					r := allRequests(t, w)
					checkFio(t, w, r, truth)
				})
			}
		})
	}
}

func checkFio(t *testing.T, w *Requests, r *toldRequests, truth lab.FioTruth) {
	t.Helper()
	counts, unseen := checkFioIsTold(t, w, r, truth)
	var others uint64
	if !lab.Guest() {
		others = 64 // the counts are the whole machine's, of which something is under way when it begins and when it ends
	}
	missing, most := int64(counts.Completed+counts.Absorbed-counts.Started), int64(unseen+others)
	if missing < -int64(others) || missing > most || int64(counts.InFlight) > most || int64(counts.Unmatched) > most {
		t.Errorf("they do not balance: %+v", counts)
	}
}

// checkFioIsTold is of fio's own requests only, and gives the counts of the whole machine's.
func checkFioIsTold(t *testing.T, w *Requests, r *toldRequests, truth lab.FioTruth) (counts RequestCounts, unseen uint64) {
	t.Helper()
	var count, bytes [2]uint64
	bio, backwards, noFile := 0, 0, 0
	for _, o := range r.ios {
		op := o.Op & event.OpMask
		if o.Owner.Comm != "fio" || op > event.OpWrite {
			continue
		}
		if o.Flags&event.IOBio != 0 {
			bio++
			continue
		}
		count[op] += 1 + uint64(o.Merged)
		bytes[op] += uint64(o.Bytes)
		if o.Backwards() {
			backwards++
		}
		if o.File.Source == event.NoFile {
			noFile++
		}
	}
	counts, err := w.Counts()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("fio %+v; requests %v of %v bytes, %d without a file, %d bios of stacked devices; %+v", truth, count, bytes, noFile, bio, counts)
	if backwards > 0 {
		t.Errorf("%d with instants that run backwards", backwards)
	}
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range losses {
		switch {
		case slices.Contains(unseenLosses, l.ID):
			unseen += l.Count
			t.Logf("%d × %s", l.Count, l.Title)
		case l.Count > 0 && !l.Harmless:
			t.Errorf("%d × %s", l.Count, l.Title)
		}
	}
	done, doneBytes := [2]uint64{truth.Reads, truth.Writes}, [2]uint64{truth.ReadBytes, truth.WriteBytes}
	if !lacks(count, done, unseen) || !lacks(bytes, doneBytes, unseen*fioBlock) {
		t.Errorf("fio did %v reads and writes of %v bytes, %v of %v bytes were told, and %d unseen", done, doneBytes, count, bytes, unseen)
	}
	return counts, unseen
}

// unseenLosses count the events that the kernel keeps from the programs, each of which may be a
// request's begin or end.
var unseenLosses = []string{"skipped", "io_no_end"}

// unseenRequests are of all devices.
func unseenRequests(t *testing.T, w *Requests) (unseen uint64) {
	t.Helper()
	for _, id := range unseenLosses {
		unseen += loss(t, w, id).Count
	}
	return unseen
}

const fioBlock = 4096 // of lab.Fio

// lacks says whether in all no more than so much is not told of what was done, and nothing that was not.
func lacks(told, done [2]uint64, most uint64) bool {
	return told[0] <= done[0] && told[1] <= done[1] && done[0]-told[0]+done[1]-told[1] <= most
}

// TestPhasesAreTheDevices (case A3): both layers are told, of bios above and requests below; what a device below takes is in D→C, of the stacked device
// too; what a limit of the emulator's holds back is in D→C of that disk.
func TestPhasesAreTheDevices(t *testing.T) {
	const reads, delay = 40, 50 * time.Millisecond
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	below := lab.Disk(t, "plain")
	top := lab.DMDelay(t, below, delay)
	w := openRequests(t, RequestOptions{Records: true, Address: symbolAddress(t)})
	child := lab.Workload{Name: "direct_read", Args: []string{top.Path, fmt.Sprint(reads)}}.Start(t)
	child.Go()
	child.Wait()
	r := allRequests(t, w)
	tops, belows, belowNS := 0, 0, uint64(0)
	for _, o := range r.ios {
		device, ok := o.Phase(event.PhaseDevice)
		switch {
		case o.Owner.PID != child.PID():
			continue
		case !ok:
			t.Errorf("no time in the device: %+v", o)
		case o.Disk == top.Dev && o.Flags&event.IOBio != 0:
			tops++
			if device < uint64(delay)*3/4 { // it counts in ticks, which an emulated machine may catch up with
				t.Errorf("%v in D→C of the stacked device, which takes %v", time.Duration(device), delay)
			}
		case o.Disk == below.Dev:
			belows++
			belowNS += device
			if o.Top != top.Dev || o.Carrier.PID == 0 || o.Carrier.PID == o.Owner.PID {
				t.Errorf("the request below does not come from above: %+v", o)
			}
		}
	}
	t.Logf("%d above, %d below of %v each", tops, belows, time.Duration(belowNS/uint64(max(belows, 1))))
	if tops != reads || belows != reads {
		t.Errorf("%d reads are %d above and %d below", reads, tops, belows)
	}
	if belows > 0 && belowNS/uint64(belows) > uint64(delay)/2 {
		t.Errorf("the disk below has the delay of the device above: %v", time.Duration(belowNS/uint64(belows)))
	}
}

// TestWhatIsEncryptedIsItsWriters (case A1): below dm-crypt requests are still those of who
// wrote, and its thread is the carrier; where the kernel does not tell the link, they are
// the thread's own, and nobody is guessed.
func TestWhatIsEncryptedIsItsWriters(t *testing.T) {
	const writes = 30
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	below := lab.Loop(t, 32)
	top := lab.DMCrypt(t, below)
	w := openRequests(t, RequestOptions{Records: true})
	child := lab.Workload{Name: "direct_write", Args: []string{top.Path, fmt.Sprint(writes)}}.Start(t)
	child.Go()
	child.Wait()
	above, own, others := 0, 0, map[string]int{}
	for _, o := range allRequests(t, w).ios {
		switch {
		case o.Op&event.OpMask != event.OpWrite || o.Bytes == 0:
		case o.Disk == top.Dev && o.Owner.PID == child.PID():
			above++
		case o.Disk == below.Dev && o.Owner.PID == child.PID():
			own++
			if o.Top != top.Dev || o.Carrier.PID == 0 {
				t.Errorf("it does not come from above: %+v", o)
			}
		case o.Disk == below.Dev:
			others[o.Owner.Comm]++
		}
	}
	t.Logf("%d above; below %d of the writer's, and %v", above, own, others)
	if above != writes {
		t.Errorf("%d writes are %d above", writes, above)
	}
	linked := lab.GuestLine() != "5.10" // from 5.18 dm tells of the bios that it makes later
	if linked && own != writes || !linked && own > 0 {
		t.Errorf("of %d writes %d are the writer's below", writes, own)
	}
	for name := range others {
		if !strings.HasPrefix(name, "kworker") && !strings.HasPrefix(name, "dmcrypt_write") {
			t.Errorf("a write below is told as that of %q", name)
		}
	}
}

// TestErrorsAndRequeues (case B4): a request that fails is told once with its error; one that the driver
// gives back keeps its owner and its first issue.
func TestErrorsAndRequeues(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	t.Run("error", func(t *testing.T) {
		device := lab.ScsiDebug(t, 16, 100*time.Microsecond, "opts=2")
		w := openRequests(t, RequestOptions{Records: true, Dev: device.Dev, IncludeSelf: true})
		const bad = 0x1234 // where scsi_debug has its medium error
		f, err := os.OpenFile(device.Path, os.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Pread(int(f.Fd()), page, bad/8*8*512); err == nil {
			t.Fatalf("read %d bytes where the medium is broken", n)
		}
		failed := 0
		for _, o := range allRequests(t, w).ios {
			if o.Owner.PID == uint32(os.Getpid()) && o.Error != 0 {
				failed++
				t.Logf("%v: %+v", unix.Errno(o.Error), o)
			}
		}
		if failed != 1 {
			t.Errorf("%d requests failed", failed)
		}
	})
	t.Run("requeue", func(t *testing.T) {
		device := lab.ScsiDebug(t, 16, 100*time.Microsecond, "opts=16", "every_nth=20")
		w := openRequests(t, RequestOptions{Records: true, Dev: device.Dev, IncludeSelf: true})
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "100"}}.Start(t)
		child.Go()
		child.Wait()
		reads, requeued := 0, 0
		for _, o := range allRequests(t, w).ios {
			if o.Op&event.OpMask != event.OpRead || o.Owner.PID != child.PID() {
				continue
			}
			reads++
			if o.Requeues > 0 {
				requeued++
			}
			if o.Issued < o.Queued || o.Issued-o.Queued > uint64(time.Second) || o.Error != 0 {
				t.Errorf("%+v", o)
			}
		}
		t.Logf("%d reads, %d of them given back by the driver", reads, requeued)
		if reads != 100 || requeued == 0 {
			t.Errorf("%d reads of 100, %d given back", reads, requeued)
		}
	})
}

// TestAMirrorsWritesAreTheirWriters (case A16): on both disks, whoever carries them.
func TestAMirrorsWritesAreTheirWriters(t *testing.T) {
	const writes = 50
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	a, b := lab.Loop(t, 32), lab.LoopOver(t, filepath.Join(lab.Dir(t), "other.img"), 32)
	mirror := lab.Raid1(t, a, b)
	w := openRequests(t, RequestOptions{Records: true})
	child := lab.Workload{Name: "direct_write", Args: []string{mirror.Path, fmt.Sprint(writes)}}.Start(t)
	child.Go()
	child.Wait()
	r := allRequests(t, w)
	seen := map[event.Dev]int{}
	carried := map[string]int{}
	for _, o := range r.ios {
		if o.Op&event.OpMask != event.OpWrite || o.Bytes == 0 {
			continue
		}
		if o.Owner.PID == child.PID() {
			seen[o.Disk]++
			carried[strings.TrimRight(o.Carrier.Comm, "0123456789:/")]++
			if o.Disk != mirror.Dev && o.Top != mirror.Dev {
				t.Errorf("it does not come from the mirror: %+v", o)
			}
		} else if o.Disk == mirror.Dev {
			t.Errorf("another one's write: %+v", o)
		}
	}
	t.Logf("%v, carried by %v", seen, carried)
	if seen[mirror.Dev] != writes || seen[a.Dev] != writes || seen[b.Dev] != writes {
		t.Errorf("%d writes are %d on the mirror, %d and %d on its disks", writes, seen[mirror.Dev], seen[a.Dev], seen[b.Dev])
	}
}

// TestDirectFilesAreNamed: of direct reads and writes of a file, by any engine, nearly all
// have the file.
func TestDirectFilesAreNamed(t *testing.T) {
	lab.NeedRoot(t)
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			device := lab.Loop(t, 512)
			dir := lab.Mount(t, device, fs, "")
			for _, engine := range []string{"psync", "libaio", "io_uring"} {
				name := filepath.Join(dir, engine)
				w := openRequests(t, RequestOptions{Records: true, Dev: device.Dev, Address: symbolAddress(t)})
				lab.Fio(t, name, "--ioengine="+engine, "--iodepth=4", "--size=8m", "--io_size=4m", "--fallocate=native")
				r := allRequests(t, w)
				var data, right uint64
				for _, o := range r.ios {
					if o.Owner.Comm != "fio" || !o.Data() || o.File.BlockDevice {
						continue
					}
					data += uint64(o.Bytes)
					if r.files[o.File.Ino] == "/"+engine {
						right += uint64(o.Bytes)
					} else {
						t.Logf("%+v", o)
					}
				}
				t.Logf("%s: %d of %d bytes have their file", engine, right, data)
				if data == 0 || right < data*95/100 {
					t.Errorf("%s: %d of %d bytes have their file", engine, right, data)
				}
			}
		})
	}
}
