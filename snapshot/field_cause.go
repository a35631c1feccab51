// SPDX-License-Identifier: Apache-2.0

package snapshot

// CauseFields describes one cause of a row. From joined on it is about the block requests
// whose completion ended recorded waits; means are of those whose time in the device is known.
var CauseFields = []Field{
	{ID: "cause", Kind: Text, Where: InJSON, Help: "Id of the cause."},
	{ID: "total_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Part of the row's total_ns."},
	{ID: "percent", Unit: Percent, Kind: Number, Where: InJSON, Help: "The same as a share of it."},
	{ID: "count", Unit: Count, Kind: Integer, Where: InJSON, Help: "Number of waits that ended."},
	{ID: "recorded", Unit: Count, Kind: Integer, Where: InJSON, Help: "Waits of which there is a record, with stack, file and request."},
	{ID: "joined", Unit: Count, Kind: Integer, Where: InJSON, Help: "Of these, the ones that are joined to the request whose completion ended them."},
	{ID: "wait_mean_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Mean joined wait; null, like the rest, where no request's time in the device is known."},
	{ID: "before_mean_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Mean part of it before the request was made (where that is not known: before the device had it): throttled, behind other requests, or otherwise not yet asked of the device."},
	{ID: "queue_mean_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Mean time from a request's making until the device had it; null: the kernel does not tell."},
	{ID: "device_mean_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Mean time that the device had a request; it may begin before the wait does."},
	{ID: "queued_in_wait_mean_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Mean part of the wait in which the request was queued: with before_mean_ns and the next it adds up to wait_mean_ns."},
	{ID: "device_in_wait_mean_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Mean part of the wait in which the device had the request."},
	{ID: "device_percent", Unit: Percent, Kind: Number, Where: InJSON, Help: "Share of the joined waits' time in which the device had the request."},
	{ID: "request", Kind: Object, Where: InJSON, Help: "The request that ended the longest joined wait; null: none was joined."},
}

// RequestFields describes the request of a wait.
var RequestFields = []Field{
	{ID: "device", Kind: Text, Where: InJSON, Help: "Device of the request: the partition, or the whole disk; below a stacked device."},
	{ID: "sector", Kind: Integer, Where: InJSON, Help: "Where it begins on the whole disk, in sectors of 512 bytes; null of a flush, which has no place."},
	{ID: "bytes", Unit: Count, Kind: Integer, Where: InJSON, Help: "Its size; 0 of a flush."},
	{ID: "type", Kind: Text, Where: InJSON, Help: "What it does, in the letters of the kernel's block events, such as WS."},
	{ID: "op", Kind: Text, Where: InJSON, Help: "The same in a word: read, write, flush, discard or other. A write of no bytes is a flush, whose times are not known where the kernel sends another request for it."},
	{ID: "queue_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Time from its making until the device had it; null: not known."},
	{ID: "device_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Time that the device had it; null: not known."},
	{ID: "wait_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "How long the wait was that it ended."},
	{ID: "before_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Part of the wait before it was made (queue_ns unknown: before the device had it); null: not known."},
	{ID: "queued_in_wait_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Part of the wait in which it was queued: with before_ns and the next it adds up to wait_ns. The wait may have begun later than it."},
	{ID: "device_in_wait_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Part of the wait in which the device had it."},
}

// DevicePercent is the share of the joined waits' time in which the device had the request;
// it is known only if some wait has a request whose time is known.
func (c *CauseShare) DevicePercent() (float64, bool) {
	return percent(c.Joins.Within, c.Joins.Blocked), c.Joins.Timed > 0 && c.Joins.Blocked > 0
}
