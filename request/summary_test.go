// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/request/requesttest"
	"github.com/iowitness/iowitness/snapshot"
)

func counts(rows []request.Row) (n uint64) {
	for i := range rows {
		n += rows[i].Count
	}
	return n
}

// Bios on stacked devices have rows by device and count in no other.
func TestStackedDevicesCountOnce(t *testing.T) {
	s := requesttest.Summary()
	if s.Total.Count != 8 || s.Total.Unfinished != 1 || s.Total.Backwards != 1 {
		t.Errorf("%+v", s.Total.Sum)
	}
	for name, rows := range map[string][]request.Row{"processes": s.Processes, "cgroups": s.Cgroups, "files": s.Files, "ops": s.Ops} {
		if n := counts(rows); n != s.Total.Count {
			t.Errorf("%s: %d requests, not %d", name, n, s.Total.Count)
		}
	}
	if n := counts(s.Devices); n != s.Total.Count+1 {
		t.Errorf("devices: %d requests", n)
	}
	stacked := 0
	for i := range s.Devices {
		if s.Devices[i].Stacked {
			stacked++
		}
	}
	if stacked != 1 || len(s.Issuers) != 4 {
		t.Errorf("%d stacked devices, issuers of %d disks and partitions", stacked, len(s.Issuers))
	}
}

// A disk with paths has a row (case A12), and counts once.
func TestPathsCountOnce(t *testing.T) {
	s := requesttest.Collected(requesttest.Paths()).Summary(request.Options{})
	if s.Total.Count != 4 {
		t.Errorf("%d requests of 4", s.Total.Count)
	}
	rows := map[event.Dev]request.Row{}
	for _, r := range s.Devices {
		rows[r.Device] = r
	}
	for dev, want := range map[event.Dev]struct {
		count   uint64
		stacked bool
		via     []event.Dev
	}{
		requesttest.Nvme: {3, true, []event.Dev{requesttest.Path, requesttest.Path + 1}}, requesttest.Path: {2, false, nil}, requesttest.Path + 1: {1, false, nil},
		requesttest.DM: {1, true, []event.Dev{requesttest.Sda}}, requesttest.Sda: {1, false, nil},
	} {
		if r := rows[dev]; r.Count != want.count || r.Stacked != want.stacked || !cmp.Equal(r.Via, want.via) {
			t.Errorf("%d:%d: %d requests, stacked %v, via %v", dev.Major(), dev.Minor(), r.Count, r.Stacked, r.Via)
		}
	}
	if len(rows) != 5 {
		t.Errorf("%d rows", len(rows))
	}
	disks := map[event.Dev]event.Dev{}
	for _, r := range s.Partitions {
		disks[r.Device] = r.Disk
	}
	if diff := cmp.Diff(map[event.Dev]event.Dev{requesttest.Nvme1: requesttest.Nvme, requesttest.Sda3: requesttest.Sda}, disks); diff != "" {
		t.Error(diff)
	}
}

// Who shared the device (case H14): the log's flushes wait behind another's writes.
func TestIssuersOfADevice(t *testing.T) {
	c := request.NewCollector(0, 0)
	for i := range uint64(100) {
		at := i * 10 * requesttest.MS
		c.Add(&event.IO{Owner: event.Task{PID: 1, Comm: "etcd"}, Disk: requesttest.Sda, Dev: requesttest.Sda3, Op: event.OpWrite | event.OpSync | event.OpPreflush, Queued: at + 1, Issued: at + 2, Completed: at + 2 + requesttest.MS})
		c.Add(&event.IO{Owner: event.Task{PID: 2, Comm: "dd"}, Disk: requesttest.Sda, Dev: requesttest.Sda, Bytes: 1 << 20, Op: event.OpWrite, Queued: at + 1, Issued: at + 2, Completed: at + 2 + 9*requesttest.MS})
		c.Add(&event.IO{Owner: event.Task{PID: 3, Comm: "other"}, Disk: requesttest.Nvme, Op: event.OpWrite, Bytes: 512, Queued: at + 1, Issued: at + 2, Completed: at + 3})
	}
	s := c.Summary(request.Options{Wall: time.Second})
	if len(s.Issuers) != 3 || s.Issuers[0].Device != requesttest.Sda {
		t.Fatalf("%+v", s.Issuers)
	}
	// Who touches a partition (case A9).
	if p := s.Issuers[2]; !p.Partition || p.Device != requesttest.Sda3 || len(p.Issuers) != 1 || p.Issuers[0].Comm != "etcd" || p.Issuers[0].Count != 100 {
		t.Errorf("%+v", p)
	}
	if len(s.Partitions) != 1 || s.Partitions[0].Device != requesttest.Sda3 || s.Partitions[0].Disk != requesttest.Sda || s.Partitions[0].Count != 100 {
		t.Errorf("%+v", s.Partitions)
	}
	var who []string
	var shares []float64
	for _, r := range s.Issuers[0].Issuers {
		who, shares = append(who, r.Comm), append(shares, r.Share)
	}
	if diff := cmp.Diff([]string{"dd", "etcd"}, who); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{90, 10}, shares); diff != "" {
		t.Error(diff)
	}
	if rate, ok := s.Rate(s.Total.Count); !ok || rate != 300 {
		t.Errorf("%v a second", rate)
	}
	if mix := s.Issuers[0].Issuers[1].Kinds; mix[event.KindFlush] != 100 {
		t.Errorf("%v", mix)
	}
}

// Sums that come by interval give the summary that their requests give.
func TestSumsAndRequestsAgree(t *testing.T) {
	list := requesttest.Requests()
	sums := map[request.Key]*request.Sum{}
	for i := range list {
		k := request.KeyOf(&list[i])
		if sums[k] == nil {
			sums[k] = &request.Sum{}
		}
		sums[k].Add(&list[i])
	}
	c := request.NewCollector(0, uint64(time.Second))
	for k, sum := range sums {
		var file event.File
		for i := range list {
			if request.KeyOf(&list[i]) == k {
				file = list[i].File
			}
		}
		c.Merge(1e9, k, file, sum)
	}
	o := requesttest.Options(time.Second)
	got, want := c.Summary(o), requesttest.Collected(list).Summary(o)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(request.Row{}), cmpopts.IgnoreFields(request.Summary{}, "Heat")); diff != "" {
		t.Error(diff)
	}
}

// The order of a map never shows.
func TestSummariesAreAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	list := requesttest.Requests()
	for range 500 {
		o := list[r.IntN(8)]
		o.Owner.Comm = string(rune('a' + r.IntN(4)))
		o.Owner.PID = uint32(r.IntN(20))
		list = append(list, o)
	}
	o := requesttest.Options(time.Second)
	o.Top = 7
	first := requesttest.Collected(list).Summary(o)
	for range 10 {
		if diff := cmp.Diff(first, requesttest.Collected(list).Summary(o), cmp.AllowUnexported(request.Row{}), cmpopts.IgnoreFields(request.Summary{}, "Heat")); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestTopKeepsTheWhole(t *testing.T) {
	c := request.NewCollector(20, 0)
	for pid := range uint32(40) {
		for range pid + 1 {
			c.Add(&event.IO{Owner: event.Task{PID: pid + 1, Comm: "x"}, Disk: requesttest.Sda, Op: event.OpRead, Bytes: 512, Queued: 10, Issued: 20, Completed: 100})
		}
	}
	for top := range 25 {
		s := c.Summary(request.Options{Top: top})
		if n := counts(s.Processes); n != s.Total.Count || n != 40*41/2 {
			t.Errorf("top %d: %d of %d requests", top, n, s.Total.Count)
		}
		last := s.Processes[len(s.Processes)-1]
		if !last.Rest || last.PID != 0 || s.Folded != last.Count {
			t.Errorf("top %d: %+v", top, last)
		}
		if top > 0 && len(s.Processes) > top+2 {
			t.Errorf("top %d: %d rows", top, len(s.Processes))
		}
		for i, r := range s.Processes {
			if r.Others == 1 {
				t.Errorf("top %d: row %d stands for a single one", top, i)
			}
		}
	}
}

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func TestFieldTables(t *testing.T) {
	for name, infos := range map[string][]request.Info{
		"lines": request.Infos(request.LineFields), "rows": request.Infos(request.RowFields), "summary": request.SummaryFields,
		"findings": request.FindingFields, "paces": request.PaceFields, "losses": request.LossFields,
	} {
		ids, titles := map[string]bool{}, map[string]bool{}
		for _, f := range infos {
			if !idPattern.MatchString(f.ID) || ids[f.ID] || f.Title != "" && titles[f.Title] {
				t.Errorf("%s: %s or its title %q is no id, or there twice", name, f.ID, f.Title)
			}
			ids[f.ID], titles[f.Title] = true, true
			if (f.Unit == snapshot.Nanoseconds) != strings.HasSuffix(f.ID, "_ns") || f.Unit == snapshot.Nanoseconds && f.Kind != snapshot.Integer {
				t.Errorf("%s: %s: _ns is for integers of nanoseconds and for nothing else", name, f.ID)
			}
			if strings.HasSuffix(f.ID, "percent") != (f.Unit == snapshot.Percent) {
				t.Errorf("%s: %s: percent is for percentages and for nothing else", name, f.ID)
			}
			if f.Help == "" || strings.Contains(f.Help, "\n") || !strings.HasSuffix(f.Help, ".") || f.Kind == "" {
				t.Errorf("%s: %s lacks a kind, or help that ends in a full stop: %q", name, f.ID, f.Help)
			}
			if f.Title != "" && (f.Width == 0 || f.Priority == 0) {
				t.Errorf("%s: column %s lacks a width or a priority", name, f.ID)
			}
		}
	}
}

func TestReferenceHasEveryField(t *testing.T) {
	var b strings.Builder
	if err := request.WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	for _, infos := range [][]request.Info{request.Infos(request.LineFields), request.Infos(request.RowFields), request.SummaryFields, request.FindingFields, request.PaceFields, request.LossFields} {
		for _, f := range infos {
			if !strings.Contains(b.String(), "| `"+f.ID+"` |") {
				t.Errorf("%s is missing", f.ID)
			}
		}
	}
}
