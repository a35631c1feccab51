// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

var footLeftOut = regexp.MustCompile(`(\d+) request lines left out`)

// TestManyRequestsAreSampled (case C2): where lines cost more than they may, only one in some is listed, which
// is said at once and at the end; what is left out is counted, so that lines and it are all requests.
func TestManyRequestsAreSampled(t *testing.T) {
	const threads, each = 4, 150000
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	r := blockAround(t, func() {
		child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(each)}}.Start(t)
		child.Go()
		child.Wait()
	}, "--csv", "--device", device.Name, "--buffer", "65536", "--max-rate", "10000000", "--op", "read", "--max-cost", "8")
	if !strings.Contains(r.err, "only 1 in 8 requests is listed") {
		t.Fatalf("%s", r.err)
	}
	lines, left := strings.Count(r.out, "\n")-1, 0
	if m := footLeftOut.FindStringSubmatch(r.err); m != nil {
		left, _ = strconv.Atoi(m[1])
	}
	t.Logf("%d lines, %d left out: %s", lines, left, r.err)
	if left == 0 {
		t.Errorf("nothing was left out: %s", r.err)
	}
	merged := threads * each / 1000 // reads of neighbouring blocks become one request now and then
	if all := lines + left; r.status == exitOK && (all < threads*each-merged || all > threads*each+100) {
		t.Errorf("%d lines and %d left out of %d reads", lines, left, threads*each)
	}
	if r.status != exitOK && !strings.Contains(r.err, "for one line in 64 requests, more than") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
}

// TestASummaryThatCostsTooMuchDetaches: sums have nothing that is cheaper.
func TestASummaryThatCostsTooMuchDetaches(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, "2", "10000000"}}.Start(t)
	child.Go()
	defer child.Kill()
	r := runIt(t, "block", "--summary", "--device", device.Name, "--for", "60s", "--max-cost", "0.01")
	if r.status != exitError || !strings.Contains(r.err, "as sums only, more than the 0.0% that it may: detached") ||
		!strings.Contains(r.out, "DEVICES") || !strings.Contains(r.out, "note: witnessing cost") || strings.Contains(r.out, "no block request completed") {
		t.Errorf("status %d: %s%s", r.status, r.err, r.out)
	}
}
