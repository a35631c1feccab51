// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestNearNamesAreOffered: wherever a name is one of a closed set.
func TestNearNamesAreOffered(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"blokc", `there is no command "blokc": did you mean block?`},
		{"--by proces", `iowitness: --by: cannot group by "proces": did you mean process?`},
		{"--cause page_cache_raed", "did you mean page_cache_read"},
		{"--via tp_btff", "did you mean tp_btf?"},
		{"--functions io_schedul", "did you mean io_schedule"},
		{"--columns exee --for 1s", "did you mean exe?"},
		{"--inteval 1s", "--interval"},
		{"block --op raed", `iowitness: --op: no operation "raed": did you mean read?`},
		{"block --layer bioo", "did you mean bio?"},
		{"block --via raw_pt", "did you mean raw_tp"},
		{"block --columns comn", "did you mean comm?"},
		{"cpu --event cycels", "did you mean cycles?"},
		{"offcpu --state bloked", "did you mean blocked?"},
		{"runq --via raw_pt", "did you mean raw_tp"},
		{"errors --families exce", "did you mean exec?"},
		{"errors --via kretprob", "did you mean kretprobe?"},
		{"func vfs_raed", "vfs_read"},
		{"func vfs_read --via fexti", "did you mean fexit?"},
		{"calls vfs_raed", "vfs_read"},
		{"fields --of wait", "did you mean waits?"},
		{"kmod stauts", "status"},
	} {
		t.Run(c.args, func(t *testing.T) { refusal(t, strings.Fields(c.args)...).expect(t, exitUsage, c.says) })
	}
}

// TestTheParsersWordsAreOurs: no sentence needs knowledge of how flags are read.
func TestTheParsersWordsAreOurs(t *testing.T) {
	for args, says := range map[string]string{
		"--for":              "--for: its value is missing",
		"--pid":              "--pid: its value is missing",
		"block --import":     "--import: its value is missing",
		"--for --json":       "--for: its value is missing: --json follows",
		"-o":                 "--output: its value is missing",
		"cpu -F -o x":        "--frequency: its value is missing: -o follows",
		"--for 1s block":     "--for: write it after block",
		"block --csv --json": "--csv and --json can't be used together",
	} {
		refusal(t, strings.Fields(args)...).expect(t, exitUsage, "iowitness: "+says+"\n")
	}
	if r := runIt(t, "help", "block"); r.status != exitOK || !strings.Contains(r.out, "--min-bytes") {
		t.Errorf("%+v", r)
	}
}
