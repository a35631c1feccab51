// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// The divisors of columns.
const (
	inMS = 1e6
	inS  = 1e9
)

// LineFields are the fields of one request.
var LineFields = []Field[Line]{
	{
		Info{ID: "time", Kind: snapshot.Text, Nullable: true, Title: "CLOCK", Width: 30, Priority: 10, Help: "When it completed by the wall clock (RFC 3339, UTC); unknown where the source has no such clock. A request whose completion was not seen has its last instant here."},
		func(l Line) snapshot.Value {
			ns, ok := l.SinceZero()
			if !ok || l.Clock.Epoch.IsZero() || ns > 1<<62 {
				return snapshot.Value{}
			}
			return text(l.Clock.Epoch.Add(time.Duration(ns)).UTC().Format(time.RFC3339Nano))
		},
	},
	{
		Info{ID: "time_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "TIME(s)", Scale: inS, Default: true, Right: true, Width: 10, Priority: 90, Help: "The same since the beginning; unknown if it lies before."},
		func(l Line) snapshot.Value { return duration(l.SinceZero()) },
	},
	{
		Info{ID: "comm", Kind: snapshot.Text, Nullable: true, Title: "COMM", Default: true, Width: 22, Priority: 99, Help: "Command of the thread for which the request is: who submitted it, or who dirtied the data that is written back. A column adds the carrier, as in: fio (via kworker/u8:2)."},
		func(l Line) snapshot.Value { return text(l.Owner.Comm) },
	},
	{
		Info{ID: "pid", Unit: snapshot.ID, Kind: snapshot.Integer, Title: "PID", Default: true, Right: true, Width: 7, Priority: 98, Help: "Its process; 0 is the kernel's idle one, or not known."},
		func(l Line) snapshot.Value { return integer(uint64(l.Owner.PID)) },
	},
	{
		Info{ID: "tid", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Title: "TID", Right: true, Width: 7, Priority: 30, Help: "Its thread."},
		func(l Line) snapshot.Value { return integerIf(l.Owner.TID != 0, uint64(l.Owner.TID)) },
	},
	{
		Info{ID: "carrier_comm", Kind: snapshot.Text, Nullable: true, Title: "CARRIER", Width: 15, Priority: 20, Help: "Command of the thread that submitted it for its owner, such as a kworker; unknown where that is the owner itself."},
		func(l Line) snapshot.Value { return text(l.Carrier.Comm) },
	},
	{
		Info{ID: "carrier_pid", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Title: "CPID", Right: true, Width: 7, Priority: 19, Help: "Process of the carrier."},
		func(l Line) snapshot.Value { return integerIf(l.Carrier.TID != 0, uint64(l.Carrier.PID)) },
	},
	{
		Info{ID: "carrier_tid", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Title: "CTID", Right: true, Width: 7, Priority: 18, Help: "Thread of the carrier."},
		func(l Line) snapshot.Value { return integerIf(l.Carrier.TID != 0, uint64(l.Carrier.TID)) },
	},
	{
		Info{ID: "cgroup", Kind: snapshot.Text, Nullable: true, Title: "CGROUP", Width: 24, Flex: true, Priority: 35, Help: "Path of the control group that the kernel charges."},
		func(l Line) snapshot.Value {
			if l.Cgroup == 0 {
				return snapshot.Value{}
			}
			return text(l.Names.Cgroup(l.Cgroup))
		},
	},
	{
		Info{ID: "cgroup_id", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Help: "Id of this group: its inode number in the cgroup file system."},
		func(l Line) snapshot.Value { return integerIf(l.Cgroup != 0, l.Cgroup) },
	},
	{
		Info{ID: "uncharged", Kind: snapshot.Boolean, Help: "It writes back what others dirtied, of a file system or under a version of cgroups that cannot charge that to theirs: the cgroup is that of the thread that writes, the process is who dirtied it, where that is known."},
		func(l Line) snapshot.Value { return flag(l, event.IOUncharged) },
	},
	{
		Info{ID: "type", Kind: snapshot.Text, Title: "TYPE", Default: true, Width: 4, Priority: 95, Help: "Operation in letters: F where the cache is flushed first; R read, W write, F flush, D discard, DE secure erase, WZ write zeroes, N other; then F FUA, A read-ahead, S synchronous, M metadata."},
		func(l Line) snapshot.Value { return text(event.RWBS(l.Op)) },
	},
	{
		Info{ID: "op", Kind: snapshot.Text, Help: "Kind of the operation: read, write, flush, discard or other."},
		func(l Line) snapshot.Value { return text(l.Kind().String()) },
	},
	{
		Info{ID: "device", Kind: snapshot.Text, Nullable: true, Title: "DEV", Default: true, Width: 12, Priority: 97, Help: "Partition, or whole disk. A column adds the stacked device to which it was submitted, as in: dm-0→sda3, or the path that a disk with several took, as in: nvme0n1 via nvme0c0n1."},
		func(l Line) snapshot.Value { return DeviceValue(l.Names, l.Dev) },
	},
	{
		Info{ID: "device_number", Kind: snapshot.Text, Nullable: true, Title: "MAJ:MIN", Width: 7, Priority: 11, Help: "Its device number, as major:minor."},
		func(l Line) snapshot.Value { return number(l.Dev) },
	},
	{
		Info{ID: "disk", Kind: snapshot.Text, Nullable: true, Title: "DISK", Width: 8, Priority: 12, Help: "Whole disk; of one with several paths the path."},
		func(l Line) snapshot.Value { return DeviceValue(l.Names, l.Disk) },
	},
	{
		Info{ID: "top_device", Kind: snapshot.Text, Nullable: true, Help: "Stacked device to which it was submitted first; null if to none."},
		func(l Line) snapshot.Value { return DeviceValue(l.Names, l.Top) },
	},
	{
		Info{ID: "sector", Kind: snapshot.Integer, Nullable: true, Title: "SECTOR", Default: true, Right: true, Width: 11, Priority: 70, Help: "Where it begins on the whole disk, in sectors of 512 bytes; unknown for flushes, which have no place."},
		func(l Line) snapshot.Value { return integerIf(l.Kind() != event.KindFlush, l.Sector) },
	},
	{
		Info{ID: "bytes", Unit: Bytes, Kind: snapshot.Integer, Title: "BYTES", Default: true, Right: true, Width: 8, Priority: 85, Help: "Its size; 0 of a flush."},
		func(l Line) snapshot.Value { return integer(uint64(l.IO.Bytes)) },
	},
	{
		Info{ID: "total_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "LAT(ms)", Scale: inMS, Default: true, Right: true, Width: 8, Priority: 96, Help: "From when it was submitted, or the first instant that is known, to its completion."},
		func(l Line) snapshot.Value { return duration(l.Took(event.PhaseTotal)) },
	},
	{
		Info{ID: "queue_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "QUE(ms)", Scale: inMS, Default: true, Right: true, Width: 8, Priority: 84, Help: "Part of it before the driver had the request; unknown where no instant before that is."},
		func(l Line) snapshot.Value { return duration(l.Queue()) },
	},
	{
		Info{ID: "device_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "DEV(ms)", Scale: inMS, Default: true, Right: true, Width: 8, Priority: 86, Help: "Part of it with driver and device: from when it was issued first to its completion."},
		func(l Line) snapshot.Value { return duration(l.Took(event.PhaseDevice)) },
	},
	phaseField("get_ns", "Q2G(ms)", event.PhaseGet, "Q→G: from being submitted until it had a request of the device's."),
	phaseField("insert_ns", "G2I(ms)", event.PhaseInsert, "G→I: plugged, or on the way to the I/O scheduler; unknown where there is none."),
	phaseField("dispatch_ns", "I2D(ms)", event.PhaseQueue, "I→D: in the I/O scheduler's or the driver's queue; from G where it was issued directly."),
	{
		Info{ID: "file", Kind: snapshot.Text, Nullable: true, Title: "FILE", Default: true, Width: 12, Flex: true, Priority: 83, Help: "Path of the file whose data it moves. A column shows the inode number where there is no path."},
		func(l Line) snapshot.Value { return text(l.FilePath()) },
	},
	{
		Info{ID: "inode", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Title: "INODE", Right: true, Width: 8, Priority: 13, Help: "Inode number of this file."},
		func(l Line) snapshot.Value { return integerIf(l.File.Ino != 0, l.File.Ino) },
	},
	{
		Info{ID: "depth", Unit: snapshot.Count, Kind: snapshot.Integer, Nullable: true, Title: "DEPTH", Right: true, Width: 5, Priority: 50, Help: "Requests of the disk that the driver had when this one was issued, itself included."},
		func(l Line) snapshot.Value { return integerIf(l.Depth != 0, uint64(l.Depth)) },
	},
	{
		Info{ID: "sequential", Kind: snapshot.Boolean, Nullable: true, Title: "SEQ", Width: 3, Priority: 49, Help: "It begins where the one before it ended on that disk, in the same direction; unknown if it moves no data, or on a stacked device."},
		func(l Line) snapshot.Value {
			seq, ok := Sequential(l.IO)
			return snapshot.Value{Known: ok, Bool: seq}
		},
	},
	{
		Info{ID: "merged", Unit: snapshot.Count, Kind: snapshot.Integer, Title: "MERGED", Right: true, Width: 6, Priority: 48, Help: "Bios in it beyond its first one."},
		func(l Line) snapshot.Value { return integer(uint64(l.Merged)) },
	},
	{
		Info{ID: "requeues", Unit: snapshot.Count, Kind: snapshot.Integer, Title: "REQUEUED", Right: true, Width: 8, Priority: 16, Help: "Times the driver gave it back to be issued again."},
		func(l Line) snapshot.Value { return integer(uint64(l.Requeues)) },
	},
	{
		Info{ID: "requeue_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "RQ(ms)", Scale: inMS, Right: true, Width: 8, Priority: 16, Help: "Part of device_ns until it was issued for the last time, which btt has in I2D; unknown where it was not given back, and of live requests, whose last issue is not kept."},
		func(l Line) snapshot.Value {
			ns, ok := l.Requeued()
			return integerIf(ok && !l.Backwards(), ns)
		},
	},
	{
		Info{ID: "split", Kind: snapshot.Boolean, Title: "SPLIT", Width: 5, Priority: 15, Help: "It is a part of a bio that was too large."},
		func(l Line) snapshot.Value { return flag(l, event.IOSplit) },
	},
	{
		Info{ID: "writeback", Kind: snapshot.Boolean, Title: "WB", Width: 3, Priority: 17, Help: "It writes back pages that its owner dirtied before."},
		func(l Line) snapshot.Value { return flag(l, event.IODirtied) },
	},
	{
		Info{ID: "stacked", Kind: snapshot.Boolean, Title: "STACKED", Width: 7, Priority: 14, Help: "It is a bio on a stacked device, whose requests below are told too."},
		func(l Line) snapshot.Value { return flag(l, event.IOBio) },
	},
	{
		Info{ID: "error", Kind: snapshot.Integer, Nullable: true, Title: "ERR", Width: 9, Priority: 80, Help: "Its error as errno, 0 if it went well; unknown if its completion was not seen. A column has the name, as in EIO."},
		func(l Line) snapshot.Value {
			return integerIf(l.Flags&event.IOUnfinished == 0, uint64(max(l.Error, 0)))
		},
	},
	{
		Info{ID: "wait_tid", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Title: "WAITER", Right: true, Width: 7, Priority: 40, Help: "Thread whose wait its completion ended."},
		func(l Line) snapshot.Value { return integerIf(l.WaitTID != 0, uint64(l.WaitTID)) },
	},
	{
		Info{ID: "wait_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "WAIT(ms)", Scale: inMS, Right: true, Width: 9, Priority: 39, Help: "How long this thread had waited."},
		func(l Line) snapshot.Value { return integerIf(l.WaitTID != 0, l.WaitNS) },
	},
	{
		Info{ID: "cpu", Unit: snapshot.ID, Kind: snapshot.Integer, Title: "CPU", Right: true, Width: 3, Priority: 9, Help: "CPU that its record names."},
		func(l Line) snapshot.Value { return integer(uint64(l.CPU)) },
	},
	{
		Info{ID: "unfinished", Kind: snapshot.Boolean, Help: "Its completion was not seen."},
		func(l Line) snapshot.Value { return flag(l, event.IOUnfinished) },
	},
	{
		Info{ID: "backwards", Kind: snapshot.Boolean, Help: "An instant of it lies before one that it must follow: a clock that jumped, or a broken trace. It counts, but no time of it."},
		func(l Line) snapshot.Value { return boolean(l.Backwards()) },
	},
	instantField("queued_ns", "Q: its first bio was submitted, in ns of the source's clock.", func(o *event.IO) uint64 { return o.Queued }),
	instantField("got_ns", "G: it had a request of the device's.", func(o *event.IO) uint64 { return o.Got }),
	instantField("inserted_ns", "I: the I/O scheduler had it.", func(o *event.IO) uint64 { return o.Inserted }),
	instantField("issued_ns", "D: the driver had it, for the first time.", func(o *event.IO) uint64 { return o.Issued }),
	instantField("completed_ns", "C: it completed.", func(o *event.IO) uint64 { return o.Completed }),
}

func phaseField(id, title string, p event.Phase, help string) Field[Line] {
	return Field[Line]{
		Info{ID: id, Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: title, Scale: inMS, Right: true, Width: 9, Priority: 45 - int(p), Help: help},
		func(l Line) snapshot.Value { return duration(l.Took(p)) },
	}
}

func instantField(id, help string, at func(*event.IO) uint64) Field[Line] {
	return Field[Line]{
		Info{ID: id, Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Help: help},
		func(l Line) snapshot.Value { return instant(at(l.IO)) },
	}
}
