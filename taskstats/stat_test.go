// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"reflect"
	"strings"
	"testing"
)

const statTail = " D 22029 22029 14828 0 -1 4194304 129 0 1 0 0 0 0 0 20 0 3 0 1254061 2990080 409 18446744073709551615 94250393006080 94250393024009 140733342841920 0 0 0 0 6 0 1 0 0 17 0 0 0 42 0 0 94250393038096 94250393039360 94250503294976 140733342845641 140733342845651 140733342845651 140733342846953 0\n"

func TestParseThreadStat(t *testing.T) {
	for _, comm := range []string{"sleep", "a b", ") S 1 2 3", "(", "", "new\nline", "\x1b[2J", "kworker/u8:3-events_unbound"} {
		s, err := ParseThreadStat([]byte("22034 (" + comm + ")" + statTail))
		if err != nil {
			t.Errorf("%q: %v", comm, err)
			continue
		}
		if string(s.Comm) != comm || s.State != 'D' || s.PPID != 22029 || s.Kernel || s.Threads != 3 || s.Start != 1254061 || s.CPU != 0 || s.BlockIO != 42 {
			t.Errorf("%q: %+v", comm, s)
		}
	}
	kernel, err := ParseThreadStat([]byte("2 (kthreadd)" + strings.Replace(statTail, "4194304", "2129984", 1)))
	if err != nil || !kernel.Kernel {
		t.Errorf("%+v, %v", kernel, err)
	}
	for _, text := range []string{"", "1", "1 (a", "1 a) D", "1 (a)", "1 (a) D 1", "1 (a)" + strings.Replace(statTail, "1254061", "x", 1), "1 (a)" + strings.Replace(statTail, "1254061", "-1", 1)} {
		if _, err := ParseThreadStat([]byte(text)); err == nil {
			t.Errorf("%q is understood", text)
		}
	}
}

func TestWorkersGoByTheirOwnName(t *testing.T) {
	for name, want := range map[string]string{"kworker/0:1-events": "kworker/0:1", "kworker/u8:3+flush-7:0": "kworker/u8:3", "jbd2/vda1-8": "jbd2/vda1-8"} {
		if got := commOf(&ThreadStat{Comm: []byte(name), Kernel: true}); string(got) != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := commOf(&ThreadStat{Comm: []byte("kworker/evil-x")}); string(got) != "kworker/evil-x" {
		t.Errorf("no kernel thread: %s", got)
	}
}

func TestParseSmallFiles(t *testing.T) {
	if n, ok := parseRuns([]byte("780240 10270 4\n")); !ok || n != 4 {
		t.Errorf("schedstat: %d, %v", n, ok)
	}
	for _, text := range []string{"", "1 2", "1 2 x", "0 0 -1"} {
		if n, ok := parseRuns([]byte(text)); ok {
			t.Errorf("%q: %d", text, n)
		}
	}
	sched := "head (22032, #threads: 1)\n---\nse.exec_start                                :      12539309.095795\nse.vruntime : 1.0\n"
	if ns, ok := parseExecStart([]byte(sched)); !ok || ns != 12539309095795 {
		t.Errorf("sched: %d, %v", ns, ok)
	}
	for _, text := range []string{"", "se.exec_start", "se.exec_start : x", "se.exec_start : 12", "se.exec_start : -1.000000", "se.exec_start : 99999999999999999999.000000"} {
		if ns, ok := parseExecStart([]byte(text)); ok {
			t.Errorf("%q: %d", text, ns)
		}
	}
	stack := "[<0>] submit_bio_wait+0x5f/0x90\n[<0>] xfs_log_force+0x1/0x2 [xfs]\n[<ffffffff8123>] do_exit+0x0/0x10\nrubbish\n[<0>] \n"
	if got := parseStack(stack); !reflect.DeepEqual(got, []string{"submit_bio_wait", "xfs_log_force", "do_exit"}) {
		t.Errorf("stack: %q", got)
	}
	if n, ok := parseForks([]byte("cpu  1 2\nintr 5 6 7\nctxt 9\nbtime 1\nprocesses 4711\nprocs_running 1\n")); !ok || n != 4711 {
		t.Errorf("forks: %d, %v", n, ok)
	}
	fdinfo := "pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t1234\n"
	if lineOf([]byte(fdinfo), "mnt_id:") != 29 || lineOf([]byte(fdinfo), "ino:") != 1234 || lineOf([]byte("pos:\t1\n"), "ino:") != 0 {
		t.Error("fdinfo")
	}
}

func TestParseCall(t *testing.T) {
	c, ok := parseCall([]byte("17 0x3 0x7f00 0x1000 0x0 0x1f 0xffffffffffffffff 0x7ffd 0x7fd1\n"))
	if !ok || c.number != 17 || c.args != [6]uint64{3, 0x7f00, 0x1000, 0, 0x1f, 1<<64 - 1} {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok = parseCall([]byte("-1 0x7ffd 0x7fd1\n")); !ok || c.number != -1 {
		t.Errorf("a fault: %+v, %v", c, ok)
	}
	for _, text := range []string{"running\n", "", "17", "17 3 4 5 6 7 8", "17 0x3", "99999999 0x0 0x0 0x0 0x0 0x0 0x0", "1 0xg 0x0 0x0 0x0 0x0 0x0", "1 0x11111111111111111 0x0 0x0 0x0 0x0 0x0"} {
		if c, ok := parseCall([]byte(text)); ok {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestParseSwitch(t *testing.T) {
	for _, c := range []struct {
		text    string
		missing bool
		cmdline string
		want    Switch
	}{
		{"0\n", false, "quiet", Off},
		{"1\n", false, "quiet", On},
		{"1\n", false, "quiet delayacct\n", OnAtBoot},
		{"0\n", false, "delayacct", Off},
		{"", true, "quiet", Unknown},
		{"", true, "quiet nodelayacct", Off},
		{"x", false, "", Unknown},
		{"", false, "", Unknown},
	} {
		if got := parseSwitch(c.text, c.missing, c.cmdline); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func FuzzParseThreadStat(f *testing.F) {
	f.Add([]byte("22034 (sleep)" + statTail))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = ParseThreadStat(text)
		_, _ = parseRuns(text)
		_, _ = parseExecStart(text)
		_, _ = parseCall(text)
		_, _ = parseForks(text)
		_ = parseStack(string(text))
		_ = appendNumbers(nil, text)
		_ = lineOf(text, "mnt_id:")
	})
}
