// SPDX-License-Identifier: Apache-2.0

package probe

// RequestTable is all that the witness of block requests looks at.
var RequestTable = []Probe{
	{ID: "bio_queue", Group: "block", Point: "block_bio_queue", Witness: "a bio is submitted, by its owner", Programs: bothKinds("queue")},
	{ID: "getrq", Group: "block", Point: "block_getrq", Witness: "a bio gets a request", Programs: bothKinds("getrq")},
	{ID: "rq_insert", Group: "block", Point: "block_rq_insert", Witness: "the I/O scheduler has a request", Programs: bothKinds("insert")},
	{ID: "rq_issue", Group: "block", Point: "block_rq_issue", Witness: "the driver has a request", Programs: bothKinds("issue")},
	{ID: "rq_requeue", Group: "block", Point: "block_rq_requeue", Witness: "the driver gives a request back", Programs: bothKinds("requeue")},
	{
		ID: "rq_merge", Group: "block", Point: "block_rq_merge", Witness: "a request becomes a part of another one", Programs: bothKinds("merge"),
		Optional: true, Without: "requests that become a part of others seem to be started and never completed",
	},
	{ID: "rq_complete", Group: "block", Point: "block_rq_complete", Witness: "a request is completed", Programs: bothKinds("complete")},
	{
		ID: "bio_complete", Group: "block", Point: "block_bio_complete", Witness: "a bio on a stacked device is completed", Programs: bothKinds("bio_complete"),
		Optional: true, Without: "stacked devices are not told, only those below them",
	},
	{
		ID: "bio_remap", Group: "block", Point: "block_bio_remap", Witness: "a bio goes to the device below", Programs: bothKinds("remap"),
		Optional: true, Without: "what comes through stacked devices is told as that of their threads",
	},
	{
		ID: "split", Group: "block", Point: "block_split", Witness: "a bio is too large and is split", Programs: bothKinds("split"),
		Optional: true, Without: "parts of large bios have no owner",
	},
	{
		ID: "dirty", Group: "writeback", Point: "writeback_dirty_folio", Witness: "a page becomes dirty, by its owner", Programs: bothKinds("dirty_folio"),
		Optional: true, Without: "written-back data is told as that of the kernel's threads", Until: "writeback_dirty_page", Older: bothKinds("dirty_page"),
	},
	{ID: "sleep", Group: "sched", Point: "sched_switch", Witness: "a thread goes to sleep", Programs: bothKinds("sleep"), Joins: true},
	{ID: "wake", Group: "sched", Point: "sched_waking", Witness: "a completion wakes a thread", Programs: bothKinds("wake"), Joins: true},
}

// bothKinds are the programs of a body that is compiled for each kind of tracepoint.
func bothKinds(body string) map[Means]string {
	return map[Means]string{TPBTF: body + "_tp_btf", RawTP: body + "_raw_tp"}
}
