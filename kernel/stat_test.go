// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/kernel"
)

const statText = "cpu  10 2 30 400 50 6 7 8 9 1\ncpu0 5 1 15 200 25 3 3 4 4 0\ncpu1 5 1 15 200 25 3 4 4 5 1\nintr 12 cpu 3\nctxt 5\n"

func TestParseStat(t *testing.T) {
	got, err := kernel.ParseStat(statText)
	if err != nil {
		t.Fatal(err)
	}
	want := kernel.Stat{User: 10, Nice: 2, System: 30, Idle: 400, IOWait: 50, IRQ: 6, SoftIRQ: 7, Steal: 8, CPUs: 2, Switches: 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "cpu  1 2 3\n", "cpu  1 2 3 4 x\n", "cpu0 1 2 3 4 5\n"} {
		if _, err := kernel.ParseStat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseStatOfCPUs(t *testing.T) {
	got, err := kernel.ParseStatOfCPUs(statText)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]kernel.Stat{
		0: {User: 5, Nice: 1, System: 15, Idle: 200, IOWait: 25, IRQ: 3, SoftIRQ: 3, Steal: 4},
		1: {User: 5, Nice: 1, System: 15, Idle: 200, IOWait: 25, IRQ: 3, SoftIRQ: 4, Steal: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"cpux 1 2 3 4 5\n", "cpu0 1 2\n", "cpu-1 1 2 3 4 5\n", "cpu99999999999 1 2 3 4 5\n"} {
		if _, err := kernel.ParseStatOfCPUs(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestIOWaitPercent(t *testing.T) {
	base := kernel.Stat{User: 100, Idle: 1000, IOWait: 100}
	for _, c := range []struct {
		name      string
		now       kernel.Stat
		percent   float64
		backwards bool
	}{
		{"a quarter", kernel.Stat{User: 125, Idle: 1050, IOWait: 125}, 25, false},
		{"nothing passed", base, 0, false},
		{"iowait went back", kernel.Stat{User: 150, Idle: 1050, IOWait: 90}, 0, true},
		{"idle went back", kernel.Stat{User: 150, Idle: 900, IOWait: 150}, 50, true},
	} {
		percent, backwards := kernel.IOWaitPercent(base, c.now)
		if percent != c.percent || backwards != c.backwards {
			t.Errorf("%s: %v %v, want %v %v", c.name, percent, backwards, c.percent, c.backwards)
		}
	}
}

func TestPressure(t *testing.T) {
	got, err := kernel.ParsePressure("some avg10=32.64 avg60=25.08 avg300=15.93 total=86238597\nfull avg10=16.11 avg60=9.66 avg300=7.61 total=48663152\n")
	if err != nil {
		t.Fatal(err)
	}
	want := kernel.Pressure{
		Some: kernel.Stall{Avg10: 32.64, Total: 86238597 * time.Microsecond},
		Full: kernel.Stall{Avg10: 16.11, Total: 48663152 * time.Microsecond},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "none avg10=1\n", "some avg10=x\n", "some avg10=NaN\n", "some total=-1\n", "some total=9223372036854775807\n"} {
		if p, err := kernel.ParsePressure(bad); err == nil {
			t.Errorf("%q was accepted as %+v", bad, p)
		}
	}
	if _, ok := kernel.ReadPressure(t.TempDir()); ok {
		t.Error("pressure was read where there is none")
	}
}

func TestShareIsClamped(t *testing.T) {
	at := func(some, full time.Duration) kernel.Pressure {
		return kernel.Pressure{Some: kernel.Stall{Total: some}, Full: kernel.Stall{Total: full}}
	}
	for _, c := range []struct {
		prev, now  kernel.Pressure
		wall       time.Duration
		some, full float64
	}{
		{at(0, 0), at(500*time.Millisecond, 250*time.Millisecond), time.Second, 50, 25},
		{at(0, 0), at(2*time.Second, 0), time.Second, 100, 0},
		{at(time.Second, 0), at(0, 0), time.Second, 0, 0},
		{at(0, 0), at(time.Second, 0), 0, 0, 0},
	} {
		if some, full := kernel.Share(c.prev, c.now, c.wall); some != c.some || full != c.full {
			t.Errorf("%v %v, want %v %v", some, full, c.some, c.full)
		}
	}
}

func TestThisMachinesTimes(t *testing.T) {
	s, err := kernel.ReadStat("/")
	if err != nil || s.CPUs < 1 || s.Total() == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := kernel.ReadStat(t.TempDir()); err == nil {
		t.Error("CPU times were read where there are none")
	}
	cost, err := kernel.ReadSelfCost("/")
	if err != nil || cost.RSS < 1<<20 || cost.RSS > 1<<32 || cost.CPU < 0 {
		t.Errorf("%+v, %v", cost, err)
	}
	if _, err := kernel.ReadSelfCost(tree(t, map[string]string{"proc/self/statm": "12\n"})); err == nil {
		t.Error("half a statm was accepted")
	}
}

func TestCgroupMounts(t *testing.T) {
	root := tree(t, map[string]string{"proc/self/mountinfo": `22 27 0:21 / /proc rw,relatime - proc proc rw
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/x,name=systemd
41 31 0:38 /docker/a /sys/fs/cgroup/uni\040fied rw - cgroup2 cgroup2 rw,nsdelegate
broken
`})
	got, err := kernel.ReadCgroupMounts(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []kernel.CgroupMount{
		{Path: "/sys/fs/cgroup/cpu", Root: "/", Controllers: []string{"cpu", "cpuacct"}},
		{Path: "/sys/fs/cgroup/systemd", Root: "/", Controllers: []string{"name=systemd"}},
		{Path: "/sys/fs/cgroup/uni fied", Root: "/docker/a", V2: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := kernel.ReadCgroupMounts(t.TempDir()); err == nil {
		t.Error("no mountinfo, yet no error")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(statText, "cpu  0 0 0 0 0\n")
	f.Add("cpu  1 1 1 1 18446744073709551615\n", "cpu  1 1 1 18446744073709551615 1\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		prev, err1 := kernel.ParseStat(a)
		now, err2 := kernel.ParseStat(b)
		if err1 != nil || err2 != nil {
			return
		}
		if percent, _ := kernel.IOWaitPercent(prev, now); !(percent >= 0 && percent <= 100) {
			t.Errorf("%v%% iowait", percent)
		}
	})
}

func FuzzParsePressure(f *testing.F) {
	f.Add("some avg10=32.64 avg60=25.08 avg300=15.93 total=86238597\n")
	f.Add("full avg10=NaN total=9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := kernel.ParsePressure(text)
		if err == nil && (math.IsNaN(p.Some.Avg10) || p.Some.Avg10 < 0 || p.Some.Total < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func FuzzParseCgroupMounts(f *testing.F) {
	f.Add(`41 31 0:38 / /sys/fs/cgroup/uni\040fied rw - cgroup2 cgroup2 rw`)
	f.Add("a b c d e - cgroup x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range kernel.ParseCgroupMounts(text) {
			if m.Path == "" {
				t.Errorf("a mount without a place: %+v", m)
			}
		}
	})
}
