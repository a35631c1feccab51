// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

func TestQuantities(t *testing.T) {
	for text, want := range map[string]time.Duration{"10s": 10 * time.Second, "1h30m": 90 * time.Minute, "0.5ms": 500 * time.Microsecond, "1µs": 1000, "0s": 0} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("duration %s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]uint64{
		"0": 0, "4096": 4096, "4K": 4096, "4k": 4096, "4KiB": 4096, "4kb": 4096, "10B": 10, "1M": 1 << 20, "2G": 2 << 30, "16777215T": 16777215 << 40,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("size %s: %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]uint64{"1": 1, "20000": 20000, "20K": 20000, "3M": 3000000} {
		if got, err := parseCount(text); err != nil || got != want {
			t.Errorf("count %s: %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]uint64{"4": 4, "2048": 2048, "2M": 2048, "64K": 64, "1G": 1 << 20} {
		if got, err := parseBuffer(text); err != nil || got != want {
			t.Errorf("buffer %s: %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]uint64{"1/100": 100, "100": 100, "1": 1} {
		if got, err := parseRatio(text); err != nil || got != want {
			t.Errorf("ratio %s: %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]float64{"5": 5, "0.5%": 0.5, "0": 0, "1e2": 100} {
		if got, err := parsePercent(text); err != nil || got != want {
			t.Errorf("percent %s: %v, %v", text, got, err)
		}
	}
}

// TestNegativesStayWithTheirFlags, and flags stay flags.
func TestNegativesStayWithTheirFlags(t *testing.T) {
	got := withNegatives([]string{"--for", "-1s", "-F", "-5", "--json", "-o", "f", "--top=-1", "x", "-2", "--a", "--b"})
	if want := []string{"--for=-1s", "-F-5", "--json", "-o", "f", "--top=-1", "x", "-2", "--a", "--b"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// refusal is what is said of arguments, from within this process: there are many.
func refusal(t *testing.T, args ...string) ran {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	status := run(args, streams{nil, said, said})
	text, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	return ran{status: status, err: string(text)}
}

// TestNoDurationMayBe0: which flags are durations is known, so that none is without the rule.
func TestNoDurationMayBe0(t *testing.T) {
	parser, err := kong.New(new(cli), kongOptions(streams{nil, os.Stdout, os.Stderr})...)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, verb := range parser.Model.Leaves(false) {
		for _, flag := range verb.Flags {
			if flag.Target.Type() != reflect.TypeFor[time.Duration]() || flag.Tag.Type == "wait" {
				continue
			}
			tried++
			refusal(t, append(strings.Fields(verb.Path()), "--"+flag.Name+"=0s")...).expect(t, exitUsage, "--"+flag.Name+": a duration of 0 is nothing: it must be more than 0")
		}
	}
	if tried < 20 {
		t.Errorf("%d flags were tried", tried)
	}
}

// TestMinAndSlowerAreOneFlag, in each verb that has it.
func TestMinAndSlowerAreOneFlag(t *testing.T) {
	parse := func(args ...string) *cli {
		var flags cli
		parser, err := kong.New(&flags, kongOptions(streams{nil, os.Stdout, os.Stderr})...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return &flags
	}
	verbs := map[string]func(*cli) time.Duration{
		"watch":          func(c *cli) time.Duration { return c.Watch.Min },
		"block":          func(c *cli) time.Duration { return c.Block.Min },
		"func vfs_read":  func(c *cli) time.Duration { return c.Func.Slower },
		"calls vfs_read": func(c *cli) time.Duration { return c.Calls.Slower },
		"offcpu":         func(c *cli) time.Duration { return c.Offcpu.Slower },
		"runq":           func(c *cli) time.Duration { return c.Runq.Slower },
	}
	for verb, value := range verbs {
		for _, flag := range []string{"--min", "--slower"} {
			if got := value(parse(append(strings.Fields(verb), flag, "7ms")...)); got != 7*time.Millisecond {
				t.Errorf("%s %s 7ms is %v", verb, flag, got)
			}
		}
	}
	parser, err := kong.New(new(cli), kongOptions(streams{nil, os.Stdout, os.Stderr})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, flag := range leaf.Flags {
			_, tried := verbs[leaf.Name]
			_, triedWith := verbs[leaf.Name+" vfs_read"]
			if has := flag.Name == "min" || flag.Name == "slower"; has && !tried && !triedWith {
				t.Errorf("%s has --%s", leaf.Name, flag.Name)
			}
		}
	}
}

// TestBadQuantitiesGetOneSentence that names the flag, whatever the verb.
func TestBadQuantitiesGetOneSentence(t *testing.T) {
	type bad struct{ value, says string }
	waits := []bad{{"-1s", "cannot be negative"}, {"10", "is no duration"}, {"soon", "is no duration"}, {"99999999999h", "is too much"}, {"", "is empty"}}
	durations := append([]bad{{"0s", "more than 0"}, {"0", "more than 0"}}, waits...)
	intervals := append([]bad{{"1ms", "at least 10ms"}}, durations...)
	sizes := []bad{{"-1", "cannot be negative"}, {"4X", "is no size"}, {"1.5K", "is no size"}, {"99999999999T", "is too much"}, {"999999999999999999999", "is too much"}, {"", "is empty"}}
	buffers := []bad{{"-4", "cannot be negative"}, {"5", "power of two"}, {"2G", "power of two"}, {"big", "is no size"}}
	counts := []bad{{"-1", "cannot be negative"}, {"0", "more than 0"}, {"many", "is no number"}, {"9999999999", "is too much"}}
	numbers := []bad{{"-1", "cannot be negative"}, {"x", "is no number"}, {"99999999999999999999", "is too much"}, {"9999999999", "is too much"}}
	ratios := []bad{{"1/0", "is no ratio"}, {"0", "is no ratio"}, {"-1", "is no ratio"}, {"2/3", "is no ratio"}, {"1/99999999999", "is too much"}}
	percents := []bad{{"-1", "a cost is a number"}, {"NaN", "a cost is a number"}, {"lots", "a cost is a number"}}
	duties := []bad{{"1s", "is no duty cycle"}, {"-1s/5s", "cannot be negative"}, {"5s/1s", "is shorter"}, {"1s/", "is no duty cycle"}}
	for _, c := range []struct {
		verb, flags string
		bad         []bad
	}{
		{"", "--for", durations},
		{"", "--interval", intervals},
		{"", "--slow", durations},
		{"", "--min --max-time", durations},
		{"", "--top --pid --polls", numbers},
		{"", "--sample --ratio", ratios},
		{"", "--buffer", buffers},
		{"", "--max-cost", percents},
		{"", "--duty", duties},
		{"block", "--for", durations},
		{"block", "--min --slow --max-time", durations},
		{"block", "--min-bytes", sizes},
		{"block", "--max-rate", counts},
		{"block", "--top --pid", numbers},
		{"fs", "--for", durations},
		{"fs", "--top", numbers},
		{"cpu", "--for", durations},
		{"cpu", "--frequency --top", numbers},
		{"offcpu", "--slower", durations},
		{"runq", "--slower --for", durations},
		{"errors", "--for", durations},
		{"errors", "--attach-for", durations},
		{"errors", "--max-rate", counts},
		{"func vfs_read", "--slower --max-time", durations},
		{"func vfs_read", "--interval", intervals},
		{"func vfs_read", "--sample", ratios},
		{"func vfs_read", "--max-active --top", numbers},
		{"calls vfs_read", "--for", durations},
		{"kmod load", "--ratio", ratios},
		{"kmod load", "--duty", duties},
		{"kmod unload", "--wait", waits},
	} {
		for _, flag := range strings.Fields(c.flags) {
			for _, b := range c.bad {
				r := refusal(t, append(strings.Fields(c.verb), flag, b.value)...)
				r.expect(t, exitUsage, b.says)
				if !strings.Contains(r.err, flag) {
					t.Errorf("%s %s %q: %q does not name the flag", c.verb, flag, b.value, r.err)
				}
			}
		}
	}
}
