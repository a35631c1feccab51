// SPDX-License-Identifier: Apache-2.0

package call

import "github.com/iowitness/iowitness/diagnosis"

// DocumentFields are the keys of the JSON document.
var DocumentFields = []diagnosis.Field{
	{ID: "schema", Kind: diagnosis.Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: diagnosis.Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: diagnosis.Text, Help: "Release of the kernel."},
	{ID: "means", Kind: diagnosis.Text, Help: "How calls are witnessed: fexit, kprobe_multi, kretprobe or tracefs."},
	{ID: "start", Kind: diagnosis.Text, Help: "Begin of the interval, RFC 3339."},
	{ID: "end", Kind: diagnosis.Text, Help: "Its end."},
	{ID: "wall_ns", Kind: diagnosis.Integer, Help: "Its length."},
	{ID: "scope", Kind: diagnosis.Text, Nullable: true, Help: "Whose calls, in words; null: everybody's."},
	{ID: "where", Kind: diagnosis.Text, Nullable: true, Help: "The filter; null: none."},
	{ID: "functions", Kind: diagnosis.Integer, Help: "Functions that are witnessed."},
	{ID: "ratio", Kind: diagnosis.Integer, Help: "One call in so many was measured, at the end; counts are of those measured."},
	{ID: "keys", Kind: diagnosis.List, Help: "What rows are grouped by, beside the function."},
	{ID: "rows", Kind: diagnosis.List, Help: "Calls by function and keys, by falling time."},
	{ID: "under_way", Kind: diagnosis.Integer, Help: "Calls that have not returned, or returned unseen and were not found out yet."},
	{ID: "lost", Kind: diagnosis.Object, Help: "What went missing: for each id, count and ns."},
	{ID: "cost", Kind: diagnosis.Object, Help: "What iowitness cost: cpu_percent and rss_bytes of its process; of its probes probe_ns and probe_runs in probe_wall_ns, or null."},
	{ID: "notes", Kind: diagnosis.List, Help: "Sentences: what could not be witnessed."},
}

// RowFields are the keys of an element of rows.
var RowFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Title: "FUNCTION", Help: "The function; empty: the last element, which sums up so many as others says."},
	{ID: "module", Kind: diagnosis.Text, Nullable: true, Help: "The module that has it; null: the kernel itself."},
	{ID: "keys", Kind: diagnosis.Object, Help: "The value of each key, as text."},
	{ID: "count", Kind: diagnosis.Integer, Title: "CALLS", Help: "Calls that returned."},
	{ID: "errors", Kind: diagnosis.Integer, Title: "ERRORS", Help: "Of them, those that returned -1 to -4095, where the function returns a signed number or a pointer."},
	{ID: "total_ns", Kind: diagnosis.Integer, Title: "TOTAL", Help: "Time from entry to return."},
	{ID: "own_ns", Kind: diagnosis.Integer, Title: "OWN", Help: "Of it, outside of calls within that are witnessed too."},
	{ID: "mean_ns", Kind: diagnosis.Integer, Title: "MEAN", Help: "The average of total_ns."},
	{ID: "p50_ns", Kind: diagnosis.Integer, Nullable: true, Title: "P50", Help: "Median, as the upper bound of its slot: at most a quarter too high."},
	{ID: "p99_ns", Kind: diagnosis.Integer, Nullable: true, Title: "P99", Help: "99th percentile, likewise."},
	{ID: "max_ns", Kind: diagnosis.Integer, Title: "MAX", Help: "The longest."},
	{ID: "peaks", Kind: diagnosis.List, Help: "Where its times have two or more peaks: ns, count and percent of each; else empty."},
	{ID: "histogram", Kind: diagnosis.List, Help: "Slots that have calls: from_ns, to_ns (null: no end) and count."},
	{ID: "stack", Kind: diagnosis.List, Nullable: true, Help: "The callers, innermost first, where rows are by stack."},
	{ID: "others", Kind: diagnosis.Integer, Help: "Not 0: so many rows are summed up in this one."},
}

// LineFields are the keys of a single call, one a line.
var LineFields = []diagnosis.Field{
	{ID: "time", Kind: diagnosis.Text, Help: "When it began, RFC 3339."},
	{ID: "function", Kind: diagnosis.Text, Help: "The function."},
	{ID: "module", Kind: diagnosis.Text, Nullable: true, Help: "The module that has it; null: the kernel itself."},
	{ID: "comm", Kind: diagnosis.Text, Help: "The thread's name."},
	{ID: "pid", Kind: diagnosis.Integer, Help: "Its process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "The thread that ran the call, also where it did so in an interrupt."},
	{ID: "cpu", Kind: diagnosis.Integer, Help: "On which it returned."},
	{ID: "latency_ns", Kind: diagnosis.Integer, Help: "From entry to return."},
	{ID: "own_ns", Kind: diagnosis.Integer, Help: "Of it, outside of calls within that are witnessed too."},
	{ID: "result", Kind: diagnosis.Text, Nullable: true, Help: "What it returned, errors by name; null: it returns nothing."},
	{ID: "error", Kind: diagnosis.Text, Nullable: true, Help: "The name of the error that it returned, such as EIO; null: none."},
	{ID: "fields", Kind: diagnosis.Object, Help: "Arguments and fields as they were at entry (those of the result at return); null: could not be read."},
	{ID: "missed", Kind: diagnosis.Integer, Help: "Calls within that returned unseen."},
	{ID: "stack", Kind: diagnosis.List, Nullable: true, Help: "The callers, innermost first; null: not asked for."},
	{ID: "calls", Kind: diagnosis.List, Nullable: true, Help: "Of iowitness calls: the calls within it, each of these keys; null: of iowitness func."},
}
