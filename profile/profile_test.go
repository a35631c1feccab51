// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/profile/profiletest"
	"github.com/iowitness/iowitness/symbol"
)

// stack makes frames of names, innermost first.
func stack(names string) (frames []symbol.Frame) {
	for _, n := range strings.Fields(names) {
		frames = append(frames, symbol.Frame{Name: n, Module: "m", Kind: symbol.User})
	}
	return frames
}

func sample(pid, tid uint32, names string, count uint64) profile.Sample {
	return profile.Sample{PID: pid, TID: tid, Process: "p", Thread: "t", User: stack(names), Weight: profile.Weight{Count: count, Value: 10 * count}}
}

func of(samples ...profile.Sample) *profile.Profile {
	return &profile.Profile{Kind: profile.CPU, Samples: samples}
}

// brief is name, own count and total count of each row.
func brief(rows []profile.Row) (all []string) {
	for _, r := range rows {
		all = append(all, strings.TrimSpace(r.Label())+" "+digits(r.Self.Count)+" "+digits(r.Total.Count))
	}
	return all
}

func digits(n uint64) string {
	text := ""
	for ; n > 9; n /= 10 {
		text = string(rune('0'+n%10)) + text
	}
	return string(rune('0'+n)) + text
}

func TestSums(t *testing.T) {
	p := of(
		sample(1, 1, "c b a", 3),
		sample(1, 2, "b b b a", 2), // b calls itself
		sample(2, 3, "b a b a", 1), // by way of a
		sample(2, 3, "", 4),        // no stack
	)
	b := profile.Function{Name: "b", Module: "m", Kind: symbol.User}
	for _, c := range []struct {
		what string
		got  []profile.Row
		want []string
	}{
		{"top", p.Top(0), []string{"b 3 6", "c 3 3", "a 0 6"}},
		{"top 1", p.Top(1), []string{"b 3 6"}},
		{"callers", p.Callers(b), []string{"a 1 6", "b 2 2"}},
		{"callees", p.Callees(b), []string{"c 3 3", "b 2 2", "a 0 1"}},
	} {
		if diff := cmp.Diff(c.want, brief(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	if w := p.Total(); w != (profile.Weight{Count: 10, Value: 100}) {
		t.Errorf("total %v", w)
	}
	processes, threads := p.ByProcess(1), p.ByThread(0)
	if len(processes) != 2 || processes[0].PID != 1 && processes[0].PID != 2 || processes[0].Weight.Count != 5 || len(processes[0].Top) != 1 {
		t.Errorf("processes: %+v", processes)
	}
	if len(threads) != 3 || threads[0].TID != 3 || threads[0].Weight.Count != 5 {
		t.Errorf("threads: %+v", threads)
	}
}

func TestUnnamedFramesCountToTheirModule(t *testing.T) {
	p := of(profile.Sample{User: []symbol.Frame{{Module: "x", BuildID: "1", Virtual: 1}, {Module: "x", BuildID: "1", Virtual: 2}, {}}, Weight: profile.Weight{Count: 1}})
	if diff := cmp.Diff([]string{"[x] 1 1", "[unknown] 0 1"}, brief(p.Top(0))); diff != "" {
		t.Error(diff)
	}
}

func TestMerge(t *testing.T) {
	start := time.Unix(1000, 0)
	a, b := of(sample(1, 1, "b a", 3), sample(1, 2, "b a", 1)), of(sample(1, 1, "b a", 4), sample(1, 1, "b a c", 1))
	a.Start, a.Duration, a.Lost.Samples = start.Add(time.Second), time.Second, 2
	b.Start, b.Duration, b.Lost.Samples = start, time.Second, 1
	m := profile.Merge(nil, a, b)
	if len(m.Samples) != 3 || m.Samples[0].Count != 7 || m.Total().Count != 9 || m.Lost.Samples != 3 {
		t.Errorf("%+v", m)
	}
	if !m.Start.Equal(start) || m.Duration != 2*time.Second || m.Kind != profile.CPU {
		t.Errorf("%v for %v", m.Start, m.Duration)
	}
	if a.Samples[0].Count != 3 {
		t.Error("what is merged was changed")
	}
	for _, p := range []*profile.Profile{profiletest.Database(), profiletest.Hostile(), profiletest.Empty()} {
		twice := profile.Merge(p, p)
		if len(twice.Samples) != len(p.Samples) || twice.Total().Count != 2*p.Total().Count {
			t.Errorf("%d samples of %d twice", len(twice.Samples), len(p.Samples))
		}
		if diff := cmp.Diff(p, profile.Merge(p), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	if m := profile.Merge(); m.Total() != (profile.Weight{}) {
		t.Error(m)
	}
}

func TestCompare(t *testing.T) {
	changes := profile.Compare(of(sample(1, 1, "b a", 3), sample(1, 1, "c a", 1)), of(sample(1, 1, "b a", 2), sample(1, 1, "d a", 2)))
	got := map[string][2]float64{}
	for _, c := range changes {
		got[c.Name] = [2]float64{c.SelfBefore, c.SelfAfter}
	}
	want := map[string][2]float64{"d": {0, 0.5}, "b": {0.75, 0.5}, "c": {0.25, 0}, "a": {0, 0}}
	if diff := cmp.Diff(want, got); diff != "" || changes[0].Name != "d" {
		t.Errorf("first %s\n%s", changes[0].Name, diff)
	}
}

// holds checks that a tree's weights add up at each node.
func holds(t *testing.T, n *profile.Node) {
	t.Helper()
	sum := n.Self
	for _, c := range n.Children {
		holds(t, c)
		sum.Add(c.Total)
	}
	if sum != n.Total {
		t.Fatalf("%s has %v, its parts %v", n.Label, n.Total, sum)
	}
}

func TestTree(t *testing.T) {
	for name, p := range map[string]*profile.Profile{
		"database": profiletest.Database(), "hostile": profiletest.Hostile(), "empty": profiletest.Empty(), "large": profiletest.Large(400),
	} {
		for _, o := range []profile.TreeOptions{
			{}, {Threads: true}, {Merged: true}, {Count: true, MinShare: 0.01}, {MaxNodes: 10}, {MaxNodes: 500, MinShare: 1e-4}, {MaxDepth: 3},
		} {
			root := p.Tree(o)
			holds(t, root)
			if root.Total != p.Total() {
				t.Errorf("%s %+v: the tree has %v of %v", name, o, root.Total, p.Total())
			}
			nodes, depth := root.Size()
			if o.MaxNodes > 0 && nodes > 2*o.MaxNodes+1 || o.MaxDepth > 0 && depth > o.MaxDepth+3 {
				t.Errorf("%s %+v: %d nodes, %d deep", name, o, nodes, depth)
			}
		}
	}
}

func TestTreeShape(t *testing.T) {
	root := of(sample(1, 1, "b a", 97), sample(1, 1, "c a", 2), sample(1, 1, "d a", 1)).Tree(profile.TreeOptions{MinShare: 0.05})
	a := root.Children[0].Children[0]
	if a.Label != "a" || len(a.Children) != 2 || a.Children[0].Label != "b" || a.Children[1].Level != profile.OfFold ||
		a.Children[1].Folded != 2 || a.Children[1].Total.Count != 3 {
		t.Errorf("%+v", a)
	}
}

func BenchmarkTop(b *testing.B) {
	p := profiletest.Large(2000)
	b.ReportAllocs()
	for b.Loop() {
		p.Top(20)
	}
}

func BenchmarkTree(b *testing.B) {
	p := profiletest.Large(2000)
	b.ReportAllocs()
	for b.Loop() {
		p.Tree(profile.TreeOptions{})
	}
}
