// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// TestHeads: what precedes an event's name, as perf script and the tracing file system print it.
func TestHeads(t *testing.T) {
	for head, want := range map[string]trace{
		"              dd  6956 [000]  4736.725474:": {at: 4736725474000, task: event.Task{TID: 6956, PID: 6956, Comm: "dd"}},
		"              dd  6956 [003]  4736.725474123:": {
			at: 4736725474123, cpu: 3, task: event.Task{TID: 6956, PID: 6956, Comm: "dd"},
		},
		"dd 123/125 [001] 4736,725474:":                    {at: 4736725474000, cpu: 1, task: event.Task{TID: 125, PID: 123, Comm: "dd"}},
		" kworker/u8:1-events   58  4736.725:":             {at: 4736725000000, task: event.Task{TID: 58, PID: 58, Comm: "kworker/u8:1-events"}},
		"Plex DLNA Serve 58 [010] 1.000001:":               {at: 1000001000, cpu: 10, task: event.Task{TID: 58, PID: 58, Comm: "Plex DLNA Serve"}},
		"foobar [worker] 58 [010] 1.000001:":               {at: 1000001000, cpu: 10, task: event.Task{TID: 58, PID: 58, Comm: "foobar [worker]"}},
		"two  spaces 7 8 [010] 1.000001:":                  {at: 1000001000, cpu: 10, task: event.Task{TID: 8, PID: 8, Comm: "two  spaces 7"}},
		":-1 -1 [000] 1.000001:":                           {at: 1000001000, task: event.Task{Comm: ":-1"}},
		"swapper 0 [000] 1.000001:":                        {at: 1000001000, task: event.Task{Comm: "swapper"}},
		" 2304.479344:":                                    {at: 2304479344000},
		"22613 [001] 2304.479344:":                         {at: 2304479344000, cpu: 1, task: event.Task{TID: 22613, PID: 22613}},
		"perf 22613 [001]  2304.479344:          1":        {at: 2304479344000, cpu: 1, task: event.Task{TID: 22613, PID: 22613, Comm: "perf"}},
		"  xfs_io-1108    [002] .....   411.212317:":       {at: 411212317000, cpu: 2, task: event.Task{TID: 1108, PID: 1108, Comm: "xfs_io"}},
		"  <idle>-0       [002] ..s1.   411.215842:":       {at: 411215842000, cpu: 2, task: event.Task{Comm: "<idle>"}},
		"  kworker/u8:1-w-77 [002] d..2. 411.215842:":      {at: 411215842000, cpu: 2, task: event.Task{TID: 77, PID: 77, Comm: "kworker/u8:1-w"}},
		"dd [001] 1.000001:":                               {at: 1000001000, cpu: 1, task: event.Task{Comm: "dd"}},
		"block_rq_issue: 5 [001] 1.000001:":                {at: 1000001000, cpu: 1, task: event.Task{TID: 5, PID: 5, Comm: "block_rq_issue:"}},
		"\tdd\t5\t[001]\t1.000001:":                        {at: 1000001000, cpu: 1, task: event.Task{TID: 5, PID: 5, Comm: "dd"}},
		"perf 1 [000] 4736.725474: block:block_rq_issue: ": {at: 0},
	} {
		line := head + " block:block_plug: [x]"
		if want.at == 0 { // a whole event whose process has an event's name
			line, want = head+"8,0 W 4096 () 8 + 8 [block_plug: [x]", trace{at: 4736725474000, task: event.Task{TID: 1, PID: 1, Comm: "perf"}}
		}
		at, name, _, ok := findEvent(line)
		if !ok || name == "block_plug" && strings.Contains(line, "8,0") {
			t.Errorf("%q: %v %q", line, ok, name)
			continue
		}
		var got trace
		if err := parseHead(&got, at); err != nil || got != want {
			t.Errorf("%q: %+v, not %+v: %v", line, got, want, err)
		}
	}
}

// TestEventsOfKernels: how kernels of different age print them.
func TestEventsOfKernels(t *testing.T) {
	const mib = 1 << 20
	for line, want := range map[string]trace{
		"block_rq_issue: 8,0 WS 1048576 () 100 + 2048 [dd]":                           {action: Issue, sector: 100, bytes: mib, op: 1 | reqSync},
		"block_rq_issue: 8,0 WS 0 () 100 + 2048 [dd]":                                 {action: Issue, sector: 100, bytes: mib, op: 1 | reqSync},
		"block_rq_issue: 8,0 WS 1048576 () 100 + 2048 0x2,0,4 [dd]":                   {action: Issue, sector: 100, bytes: mib, op: 1 | reqSync},
		"block_rq_issue: 8,0 WS 1048576 () 100 + 2048 none,0,0 [dd]":                  {action: Issue, sector: 100, bytes: mib, op: 1 | reqSync},
		"block_rq_issue: 8,0 WS 1048576 () 100 + 2048 rt,4 [dd]":                      {action: Issue, sector: 100, bytes: mib, op: 1 | reqSync},
		"block_rq_issue: 8,0 N 36 (12 00 00 00 24 00 ..) 0 + 0 [dd]":                  {action: Issue, bytes: 36, op: opUnknown},
		"block_rq_insert: 8,0 WS 4096 () 100 + 8 be,0,4 [hi[1] ]":                     {action: Insert, sector: 100, bytes: 4096, op: 1 | reqSync},
		"block_rq_complete: 8,0 WS () 100 + 2048 [0]":                                 {action: Complete, sector: 100, bytes: mib, op: 1 | reqSync},
		"block_rq_complete: 8,0 WS () 100 + 2048 none,0,0 [-5]":                       {action: Complete, sector: 100, bytes: mib, op: 1 | reqSync, err: 5},
		"block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]":                   {action: Complete, op: 2 | reqPreflush},
		"block_bio_queue: 8,0 FWFSM 34818 + 2 [jbd2/sda1-8]":                          {action: Queue, sector: 34818, bytes: 1024, op: 1 | reqPreflush | reqFUA | reqSync | reqMeta},
		"block_bio_queue: 8,0 RA 8 + 8 [cc1plus]":                                     {action: Queue, sector: 8, bytes: 4096, op: reqAhead},
		"block_bio_queue: 8,0 DE 8 + 8 [x]":                                           {action: Queue, sector: 8, bytes: 4096, op: event.OpSecureErase},
		"block_bio_queue: 8,0 WZ 8 + 8 [x]":                                           {action: Queue, sector: 8, bytes: 4096, op: event.OpWriteZeroes},
		"block_bio_queue: 8,0 WSU 8 + 8 [x]":                                          {action: Queue, sector: 8, bytes: 4096, op: 1 | reqSync},
		"block_bio_queue: 8,0 ZRA 0 + 0 [x]":                                          {action: Queue, op: opZoneResetAll},
		"block_bio_complete: 8,0 R 8 + 8 [-5]":                                        {action: BioComplete, sector: 8, bytes: 4096, err: 5},
		"block_split: 8,0 WS 100 / 108 [dd]":                                          {action: Split, sector: 100, boundary: 108, op: 1 | reqSync},
		"block_bio_remap: 8,0 WS 2148 + 8 <- (8,1) 100":                               {action: Remap, sector: 2148, bytes: 4096, op: 1 | reqSync, from: 8<<20 | 1, to: 8 << 20, fromSector: 100},
		"block_rq_remap: 8,0 WS 2148 + 8 <- (253,0) 100 3":                            {action: RequestRemap, sector: 2148, bytes: 4096, op: 1 | reqSync, from: 253 << 20, to: 8 << 20, fromSector: 100},
		"block_rq_requeue: 8,0 WS () 100 + 8 0x2,0,4 [0]":                             {action: Requeue, sector: 100, bytes: 4096, op: 1 | reqSync},
		"block_unplug: [dd] 3":                                                        {action: Unplug},
		"block_io_done: 254,0 W 0 () 39862272 + 0 0x0,0,0 [sh]":                       {action: Done, sector: 39862272, op: 1, dev: 254 << 20},
		"block_bio_queue: 8,0 D 8 + 4294967295 [x]":                                   {action: Queue, sector: 8, bytes: 4294967295 * 512, op: event.OpDiscard},
		"block_getrq: 259,1048575 R 8 + 8 [name with ] and [ in it]":                  {action: GetRequest, sector: 8, bytes: 4096, dev: event.MakeDev(259, 1048575)},
		"block_io_start: 8,0 R 4096 () 8 + 8 none,0,0 [kworker/u8:1 block_rq_merge:]": {action: Start, sector: 8, bytes: 4096},
	} {
		r := textReader{name: "text"}
		var got trace
		ok, err := r.parse(&got, "comm 7 [000] 1.000001: block:"+line)
		if err != nil || !ok {
			t.Errorf("%q: %v %v", line, ok, err)
			continue
		}
		if want.dev == 0 && got.dev == 8<<20 {
			got.dev = 0
		}
		got.at, got.task = 0, event.Task{}
		if got != want {
			t.Errorf("%q: %+v, not %+v", line, got, want)
		}
	}
}

func writeText(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const oneIO = "dd 7 [000] 1.000001: block:block_rq_issue: 8,0 W 4096 () 8 + 8 [dd]\nsh 8 [000] 1.000002: block:block_rq_complete: 8,0 W () 8 + 8 [0]\n"

// TestTextAround: comments, stacks, other events, other line ends, and what perf tells of losses.
func TestTextAround(t *testing.T) {
	text := "# ========\r\n# captured on: today\r\n#\r\n" + strings.ReplaceAll(oneIO, "\n", "\r\n") +
		"\tffffffff8148e2b0 blk_mq_start_request+0x1 ([kernel.kallsyms])\r\n\r\n" +
		"dd 7 [000] 1.5: sched:sched_switch: prev_comm=block_rq_issue: prev_pid=7\r\n" +
		"dd 7 [000] 1.500000: block:block_touch_buffer: 8,0 sector=1 size=4096\r\n" +
		"dd 7 [000] 1.600000: PERF_RECORD_LOST lost 12\r\nCPU:1 [LOST 30 EVENTS]\r\n"
	ios, counts := read(t, writeText(t, text))
	if len(ios) != 1 || ios[0].Completed-ios[0].Issued != 1000 || counts.Events != 2 || counts.Skipped != 2 || counts.Missing != 42 {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
}

// TestSeveralRecordings of a directory are named and not added up.
func TestSeveralRecordings(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sda", "sdb", "a\x1b[2J"} {
		r := newRecorder(binary.LittleEndian, 7)
		randomLives(r, 10, []uint64{kQ, kG, kD, kC})
		r.save(t, dir, name)
	}
	_, err := Open(dir, Options{})
	if err == nil || !strings.Contains(err.Error(), `holds 3 recordings, "a\x1b[2J", sda, sdb: name one, as in `+dir) {
		t.Errorf("%v", err)
	}
	if ios, _ := read(t, filepath.Join(dir, "sdb")); len(ios) != 10 {
		t.Errorf("%d IOs", len(ios))
	}
}

// TestDamagedText: the line is named, and all before it is told.
func TestDamagedText(t *testing.T) {
	for bad, want := range map[string]string{
		"dd 7 [000] 1.1: block:block_plug: [x]":                                     "block_plug: no time stamp before the event's name: let perf script print it, by -F +time",
		"dd 7 [000] block:block_rq_issue: 8,0 W 4096 () 8 + 8 [dd]":                 "block_rq_issue: no time stamp before the event's name: let perf script print it, by -F +time",
		"dd 7 [000] 1.000001:":                                                      "the line ends before its event: it is cut off",
		"dd 7 [000] 1.000001:     1 block:block_r":                                  "the line ends before its event: it is cut off",
		"dd-7 [000] ..... 1.000001: block_rq_issu":                                  "the line ends before its event: it is cut off",
		"dd 7 [000] 1.000001: block:block_rq_issue: 8,0 W 4096 () 8 + 8":            "block_rq_issue: no [command name] or [error] at its end: the line is cut off or damaged",
		"dd 7 [000] 1.000001: block:block_rq_issue: 8,0 W 4096 () 8":                "block_rq_issue: not of the form that the kernel prints: the line is cut off or damaged",
		"dd 7 [000] 1.000001: block:block_rq_issue: 8,0 Q 4096 () 8 + 8 [dd]":       "block_rq_issue: no kind of I/O, such as WS, where one is expected: the line is cut off or damaged",
		"dd 7 [000] 1.000001: block:block_rq_issue: 80 W 4096 () 8 + 8 [dd]":        "block_rq_issue: no device number, such as 8,0, where one is expected: the line is cut off or damaged",
		"dd 7 [000] 1.000001: block:block_bio_queue: 8,0 W x + 8 [dd]":              "block_bio_queue: no number where one is expected: the line is cut off or damaged",
		"dd 7 [000] 1.000001: block:block_rq_complete: 8,0 W 8 + 8 [0]":             "block_rq_complete: no command in brackets where one is expected: the line is cut off or damaged",
		"dd 7 [000] 1.000001: block:block_bio_remap: 8,0 W 8 + 8 <- 8,1 9":          "block_bio_remap: no device number, such as 8,0, where one is expected: the line is cut off or damaged",
		"1.000001: 1.000002: block:block_plug: [x]":                                 "block_plug: what precedes the event's name is not understood: let perf script print comm,tid,cpu,time,event,trace",
		"dd 7 [000] 1.000001: block:block_rq_complete: 8,0 W () 8 + 8 [Input/outp]": "block_rq_complete: no number where one is expected: the line is cut off or damaged",
	} {
		path := writeText(t, oneIO+bad+"\n"+oneIO)
		ios, counts, err := readAll(path)
		if err == nil || err.Error() != path+": line 3: "+want {
			t.Errorf("%q: %v", bad, err)
		}
		if len(ios) != 1 || counts.IOs != 1 {
			t.Errorf("%q: %d IOs", bad, len(ios))
		}
	}
	long := writeText(t, oneIO+strings.Repeat("x", maxLine+1))
	if _, _, err := readAll(long); err == nil || !strings.Contains(err.Error(), "line 3: longer than") {
		t.Error(err)
	}
}

// TestShuffledText: what is near is put in order; else the first line that is not is told.
func TestShuffledText(t *testing.T) {
	var b strings.Builder
	b.WriteString(oneIO)
	for i := range 3 * window {
		fmt.Fprintf(&b, "dd 7 [000] 2.%06d: block:block_plug: [dd]\n", i)
	}
	b.WriteString(oneIO)
	path := writeText(t, b.String())
	ios, counts, err := readAll(path)
	if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%s: line %d: 1.00", path, 3*window+3)) {
		t.Error(err)
	}
	if len(ios) != 2 || counts.OutOfOrder != 2 || counts.Unmatched+counts.Unfinished != 0 {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
}

// TestWhatIsNoRecording: each refusal says what the file is, or what to do.
func TestWhatIsNoRecording(t *testing.T) {
	for content, want := range map[string]string{
		"":                         "nothing was recorded: the file is empty",
		"PERFILE2\x68\x00\x00":     "perf's own file: print it by \"perf script -i FILE\" and import the text",
		"\x17\x08\x44tracing6\x00": "trace-cmd's own file: print it by \"trace-cmd report FILE\" and import the text",
		"\x1f\x8b\x08":             "compressed by gzip: unpack it first",
		"abc\x00def":               "byte 0: neither a file of blktrace's nor text of perf script",
		"hello\nworld\n":           "none of its 2 lines is an event of the block layer as perf script prints it",
	} {
		path := writeText(t, content)
		if _, _, err := readAll(path); err == nil || err.Error() != path+": "+want {
			t.Errorf("%q: %v", content, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "sda")
	if _, err := Open(missing, Options{}); err == nil || err.Error() != missing+": there is neither such a file nor "+missing+".blktrace.0" {
		t.Error(err)
	}
	empty := t.TempDir()
	if _, err := Open(empty, Options{}); err == nil || err.Error() != empty+": no files of blktrace's are there (NAME.blktrace.0 and so on)" {
		t.Error(err)
	}
}

// TestStandardInput takes text, and a merged file, from a pipe.
func TestStandardInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = stdin }()
	go func() {
		_, _ = w.WriteString(oneIO)
		_ = w.Close()
	}()
	if ios, counts := read(t, "-"); len(ios) != 1 || !sound(&counts) {
		t.Errorf("%+v", counts)
	}
}
