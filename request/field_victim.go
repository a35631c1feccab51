// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/iowitness/iowitness/snapshot"

// VictimFields are the keys of victim.
var VictimFields = []Info{
	{ID: "name", Kind: snapshot.Text, Help: "The process id or the name that was asked for."},
	{ID: "pid", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Help: "Process of its latest request; null: it had none."},
	{ID: "comm", Kind: snapshot.Text, Nullable: true, Help: "Command of this."},
	{ID: "waits", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Its requests, each with the wait that it ended, if that began before."},
	{ID: "slow_waits", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Of these, the slow ones: as long as --slow says, or the slowest tenth; 1,024 at most."},
	{ID: "slow_least_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Help: "The shortest of the slow ones; null: there were none."},
	{ID: "slow_unplaced", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Slow ones that were longer than what is remembered of others' requests: these are told for their end only."},
	{ID: "devices", Kind: snapshot.List, Help: "The disks on which it had slow ones, by their time."},
}

// CrowdFields are the keys of an element of devices.
var CrowdFields = []Info{
	{ID: "device", Kind: snapshot.Text, Nullable: true, Help: "The disk."},
	{ID: "waits", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Slow waits."},
	{ID: "wait_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Help: "Time of all of them."},
	{ID: "wait_max_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Help: "The longest."},
	{ID: "processes", Kind: snapshot.List, Help: "Who had requests in the device in that time, by the time that it had them."},
}

// NeighbourFields are the keys of an element of its processes.
var NeighbourFields = []Info{
	{ID: "pid", Unit: snapshot.ID, Kind: snapshot.Integer, Help: "Process for which the requests are."},
	{ID: "comm", Kind: snapshot.Text, Nullable: true, Help: "Its command."},
	{ID: "itself", Kind: snapshot.Boolean, Help: "It is the victim."},
	{ID: "requests", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests that the device had during a slow wait, once for each of these."},
	{ID: "bytes", Unit: Bytes, Kind: snapshot.Integer, Help: "Their bytes."},
	{ID: "device_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Help: "Time that the device had them during slow waits."},
	{ID: "device_percent", Unit: snapshot.Percent, Kind: snapshot.Number, Help: "Share of that of all."},
}
