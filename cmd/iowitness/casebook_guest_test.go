// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// funcAround witnesses a workload's calls.
func funcAround(t *testing.T, w lab.Workload, args ...string) (callsDocument, lab.Truth) {
	t.Helper()
	cmd, truthFile := command(t, w)
	out := filepath.Join(t.TempDir(), "calls.json")
	run := exec.Command(binary, append(append(append([]string{"func"}, args...), "--json", "--max-cost", "0", "-o", out, "--"), cmd.Args...)...)
	run.Env, run.Stderr = cmd.Env, os.Stderr
	if err := run.Run(); err != nil {
		t.Fatalf("func %v: %v", args, err)
	}
	var d callsDocument
	if err := json.Unmarshal([]byte(readFile(t, out)), &d); err != nil {
		t.Fatal(err)
	}
	return d, lab.ReadTruth(t, truthFile)
}

// TestMessagesOfMoreThanAKiB (casebook 7): tcp_sendmsg by the sender's own clock and count, of messages that the
// filter wants only.
func TestMessagesOfMoreThanAKiB(t *testing.T) {
	needProbes(t)
	d, truth := funcAround(t, lab.Workload{Name: "messages", Args: []string{"100", "1024", "524288"}}, "tcp_sendmsg", "--where", "size > 1024", "--hist", "--by", "size")
	own := truth.Calls["large"]
	if len(d.Rows) != 1 || d.Rows[0].Count != uint64(own.Count) || d.Rows[0].Keys["size"] != "524288" || truth.Calls["small"].Count != own.Count {
		t.Fatalf("%+v, by the sender %+v", d.Rows, own)
	}
	row := d.Rows[0]
	each, ownEach := row.TotalNS/row.Count, uint64(own.Total)/uint64(own.Count)
	t.Logf("%d calls of %d ns, by the sender's clock %d ns; %s", row.Count, each, ownEach, d.Means)
	// The sender's clock has the way into the kernel and out of it, too, and the probes: messages are so large
	// that this is little even on an emulated machine.
	if row.TotalNS > uint64(own.Total) || row.MaxNS > uint64(own.Max) || ownEach-each > max(ownEach/20, 1000) {
		t.Errorf("told %d ns each, at most %d, by the sender %d, at most %d", each, row.MaxNS, ownEach, own.Max)
	}
	var slots uint64
	for _, s := range row.Histogram {
		slots += s.Count
	}
	if slots != row.Count || row.Errors != 0 {
		t.Errorf("%+v", row)
	}
}

// TestHitsAndReadsAreTwoPeaks (casebook 9): what a database finds in the cache and what it reads from a device of
// 5 ms, by one function, are told apart with their shares.
func TestHitsAndReadsAreTwoPeaks(t *testing.T) {
	needProbes(t)
	device := lab.NullBlk(t, 5*time.Millisecond)
	cached := filepath.Join(t.TempDir(), "cached")
	if err := os.WriteFile(cached, make([]byte, 4096), 0o644); err != nil {
		t.Fatal(err)
	}
	const hits, misses = 700, 300
	d, truth := funcAround(t, lab.Workload{Name: "database", Args: []string{cached, device.Path, fmt.Sprint(hits), fmt.Sprint(misses)}},
		"vfs_read", "--where", "count == 4096 && pos != NULL", "--by", "comm", "--hist")
	if truth.Calls["hit"].Count != hits || truth.Calls["miss"].Count != misses {
		t.Fatalf("%+v", truth.Calls)
	}
	if len(d.Rows) == 0 || d.Rows[0].Count < hits+misses || d.Rows[0].Count > hits+misses+20 {
		t.Fatalf("%+v", d.Rows)
	}
	peaks := d.Rows[0].Peaks
	t.Logf("peaks %+v; by the workload hits of %v, misses of %v", peaks, truth.Calls["hit"].Total/hits, truth.Calls["miss"].Total/misses)
	var fast, slow float64
	var reads int
	for _, p := range peaks {
		if p.NS < 1e6 {
			fast += p.Percent // of an emulated machine a hit right after a miss is slower: hits may have two peaks
			continue
		}
		reads, slow = reads+1, slow+p.Percent
		if own := float64(truth.Calls["miss"].Total) / misses; float64(p.NS) < 5e6*0.8 || float64(p.NS) > 1.5*own {
			t.Errorf("a peak at %d ns; misses took %.0f ns by the workload", p.NS, own)
		}
	}
	const hitShare, missShare = 100.0 * hits / (hits + misses), 100.0 * misses / (hits + misses)
	if reads != 1 || len(peaks) > 3 || fast < hitShare-3 || fast > hitShare+3 || slow < missShare-3 || slow > missShare+3 {
		t.Errorf("%.1f%% hits, %.1f%% reads by %d peaks, not %v%% and %v%%: %+v", fast, slow, len(peaks), hitShare, missShare, d.Rows[0])
	}
}

// routeLookups are within the handling of a request for our own address.
const routeLookups = "ip_route_input_slow,fib_validate_source,fib_table_lookup"

type callTree struct {
	Function string
	Fields   map[string]*string
	Result   *string
	Latency  uint64 `json:"latency_ns"`
	Own      uint64 `json:"own_ns"`
	Calls    []callTree
}

// find is the first call of a function, depth first; nil: there is none.
func (c *callTree) find(function string) *callTree {
	if c.Function == function {
		return c
	}
	for i := range c.Calls {
		if found := c.Calls[i].find(function); found != nil {
			return found
		}
	}
	return nil
}

// TestRouteLookupWithinARP (casebook 8): a neighbour in another network namespace asks for our address; how the
// kernel looks up the route for the answer is shown as a tree, with arguments and results.
func TestRouteLookupWithinARP(t *testing.T) {
	needProbes(t)
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is not in the guest")
	}
	lab.Run(t, "modprobe", "veth")
	for _, line := range []string{
		"netns add iwa", "netns add iwb", "link add iwva netns iwa type veth peer name iwvb netns iwb",
		"-n iwa addr add 10.77.0.1/24 dev iwva", "-n iwb addr add 10.77.0.2/24 dev iwvb", "-n iwa link set iwva up", "-n iwb link set iwvb up",
	} {
		lab.Run(t, "ip", strings.Fields(line)...)
	}
	t.Cleanup(func() {
		lab.Run(t, "ip", "netns", "del", "iwa")
		lab.Run(t, "ip", "netns", "del", "iwb")
	})
	const asks = 5
	script := fmt.Sprintf("for i in $(seq %d); do ip -n iwa neigh flush dev iwva; ip netns exec iwa bash -c 'echo x > /dev/udp/10.77.0.2/9'; sleep 0.3; done", asks)
	out := filepath.Join(t.TempDir(), "trees")
	inside := presentAmong(t, routeLookups)
	r := runIt(t, "calls", "arp_process", "--inside", strings.Join(inside, ","), "--json", "--max-cost", "0", "-o", out, "--for", "20s", "--", "bash", "-c", script)
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	t.Logf("%s", r.err)
	asked := 0
	for line := range strings.Lines(readFile(t, out)) {
		var root callTree
		if err := json.Unmarshal([]byte(line), &root); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if root.Function != "arp_process" {
			t.Fatalf("%s", line)
		}
		route := root.find(inside[0])
		if route == nil {
			continue // an answer needs no route
		}
		asked++
		if asked == 1 {
			t.Logf("%s", line)
		}
		for _, name := range inside[1:] {
			if within := route.find(name); within == nil {
				t.Errorf("no %s within %s: %s", name, inside[0], line)
			} else if within.Latency > route.Latency || route.Latency > root.Latency {
				t.Errorf("times: %s", line)
			}
		}
		// A route was found: newer kernels return why they drop, of which 0 has a name.
		if found := route.Result; found == nil || *found != "0" && *found != "SKB_NOT_DROPPED_YET" || len(route.Fields) == 0 || root.Own > root.Latency-route.Latency {
			t.Errorf("results: %s", line)
		}
		// 10.77.0.2 and 10.77.0.1 as the registers hold them.
		if to, from := route.Fields["daddr"], route.Fields["saddr"]; inside[0] == "ip_route_input_slow" && (to == nil || from == nil || *to != fmt.Sprint(0x02004d0a) || *from != fmt.Sprint(0x01004d0a)) {
			t.Errorf("addresses: %s", line)
		}
	}
	if asked < asks-1 || asked > asks+3 {
		t.Errorf("%d requests were answered, of %d", asked, asks)
	}
}

// presentAmong are those functions that this kernel has not inlined.
func presentAmong(t *testing.T, names string) (present []string) {
	t.Helper()
	symbols := readFile(t, "/proc/kallsyms")
	for _, name := range strings.Split(names, ",") {
		if strings.Contains(symbols, " "+name+"\n") {
			present = append(present, name)
		}
	}
	if len(present) < 2 {
		t.Skipf("of %s this kernel has %v", names, present)
	}
	return present
}

// TestLoadIsHighThoughAllIsWell (casebook 5): a module reads a disk all the time by many threads. The load is high
// for their waits alone: the report names them, the device and the cause, and runq and cpu say that nobody lacks a CPU.
func TestLoadIsHighThoughAllIsWell(t *testing.T) {
	const threads = 24
	device := lab.NullBlk(t, time.Second) // few wake-ups: an emulated machine is slow at them
	lab.Module(t, "iw_reader", "disk="+device.Path, fmt.Sprintf("threads=%d", threads))
	doc := witness(t, nil, "--for", "10s", "--max-cost", "0", "--by", "cause,device")
	var reads uint64
	for _, w := range doc.Waits {
		if w.Device == device.Name && w.Cause == "page_cache_read" {
			reads += w.TotalNS
		}
	}
	t.Logf("%.1f thread-seconds a second, %.1f of them for reads of %s", doc.ThreadSeconds, float64(reads)/float64(doc.WallNS), device.Name)
	if want := 0.9 * threads * float64(doc.WallNS); float64(reads) < want || float64(reads) > 1.02*threads*float64(doc.WallNS) {
		t.Errorf("%d threads waited %.1f s in %.1f s: %+v", threads, float64(reads)/1e9, float64(doc.WallNS)/1e9, doc.Waits)
	}
	who := witness(t, nil, "--for", "3s", "--max-cost", "0")
	named := 0
	for _, w := range who.Waits {
		if strings.Contains(w.Comm, "iw_reader") {
			named++
		}
	}
	if named == 0 {
		t.Errorf("no row names the module's threads: %+v", who.Waits)
	}

	var load float64
	fmt.Sscan(readFile(t, "/proc/loadavg"), &load)
	if load < 3 {
		t.Errorf("the load is %.2f", load)
	}
	r := runIt(t, "cpu", "--event", "cpu-clock", "--for", "5s", "--max-cost", "0", "--top", "0", "--json")
	var cpu struct {
		WallNS    uint64 `json:"wall_ns"`
		Processes []struct {
			Comm string
			NS   uint64
		}
	}
	if err := json.Unmarshal([]byte(r.out), &cpu); err != nil || cpu.WallNS == 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	busy := 0.0
	for _, p := range cpu.Processes {
		if strings.Contains(p.Comm, "iw_reader") {
			busy += float64(p.NS) / float64(cpu.WallNS)
		}
	}
	type part struct {
		TotalNS uint64 `json:"total_ns"`
	}
	var runq struct {
		WallNS    uint64 `json:"wall_ns"`
		Processes []struct {
			Comm             string
			Woken, Preempted part
		}
	}
	r = runIt(t, "runq", "--for", "5s", "--max-cost", "0", "--top", "0", "--json")
	if err := json.Unmarshal([]byte(r.out), &runq); err != nil || runq.WallNS == 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	queued, seen := 0.0, 0 // not of all: an emulated machine is slow at what else it does
	for _, p := range runq.Processes {
		if strings.Contains(p.Comm, "iw_reader") {
			seen++
			queued += float64(p.Woken.TotalNS+p.Preempted.TotalNS) / float64(runq.WallNS)
		}
	}
	t.Logf("load %.2f; its threads use %.2f CPUs, %.2f of them wait for one", load, busy, queued)
	if seen != threads || busy > 0.5 || queued > 0.5 || load < 8*(busy+queued) {
		t.Errorf("its threads, of which runq tells %d, use %.2f CPUs, %.2f of them wait for one, load %.2f", seen, busy, queued, load)
	}
}
