// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// textFile writes events as perf script prints them: "10.5 dd 7 bio_queue 8,0 W 100 + 8 [dd]".
func textFile(t testing.TB, events string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(events) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 5)
		if len(fields) < 5 {
			continue
		}
		seconds, fraction, _ := strings.Cut(fields[0], ".")
		fmt.Fprintf(&b, "%16s %5s [001] %s.%s: block:block_%s: %s\n", fields[1], fields[2], seconds, (fraction + "000000")[:6], fields[3], fields[4])
	}
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// short is an IO in a few words; instants are in us since second 1, "-" where they are not known.
func short(io *event.IO) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", io.Owner.Comm)
	if io.Carrier.Comm != "" {
		fmt.Fprintf(&b, "(%s)", io.Carrier.Comm)
	}
	fmt.Fprintf(&b, " %d,%d", io.Disk.Major(), io.Disk.Minor())
	if io.Dev != io.Disk {
		fmt.Fprintf(&b, ":%d,%d", io.Dev.Major(), io.Dev.Minor())
	}
	if io.Top != 0 {
		fmt.Fprintf(&b, "<%d,%d", io.Top.Major(), io.Top.Minor())
	}
	fmt.Fprintf(&b, " op%d %d+%d", io.Op&event.OpMask, io.Sector, io.Bytes/512)
	for i, at := range []uint64{io.Queued, io.Got, io.Inserted, io.Issued, io.Completed} {
		if at == 0 {
			fmt.Fprintf(&b, " %c-", "QGIDC"[i])
		} else {
			fmt.Fprintf(&b, " %c%d", "QGIDC"[i], (int64(at)-1e9)/1000)
		}
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"depth", int(io.Depth)}, {"merged", int(io.Merged)}, {"requeues", int(io.Requeues)}, {"error", int(io.Error)}} {
		if n.n != 0 {
			fmt.Fprintf(&b, " %s%d", n.name, n.n)
		}
	}
	for i, name := range []string{"bio", "sequential", "split", "dirtied", "unfinished"} {
		if io.Flags&(1<<i) != 0 {
			b.WriteString(" " + name)
		}
	}
	return b.String()
}

var lives = []struct {
	name   string
	events string
	want   []string
	counts Counts // those that are compared: see leftover
}{
	{
		"a whole life", `
1.000010 dd 7 bio_queue 8,0 WS 100 + 8 [dd]
1.000020 dd 7 getrq 8,0 WS 100 + 8 [dd]
1.000030 dd 7 rq_insert 8,0 WS 4096 () 100 + 8 [dd]
1.000040 kworker/0:1H 9 rq_issue 8,0 WS 4096 () 100 + 8 [kworker/0:1H]
1.000050 swapper 0 rq_complete 8,0 WS () 100 + 8 [0]`,
		[]string{"dd 8,0 op1 100+8 Q10 G20 I30 D40 C50 depth1"},
		Counts{},
	},
	{
		"a stale write and the completion of a read (case B2)", `
1.000010 dd 7 rq_issue 8,0 W 4096 () 100 + 8 [dd]
91.000010 swapper 0 rq_complete 8,0 R () 100 + 8 [0]`,
		[]string{"dd 8,0 op1 100+8 Q- G- I- D10 C- depth1 unfinished"},
		Counts{Unfinished: 1, Unmatched: 1},
	},
	{
		"a start that is too old", `
1.000010 dd 7 rq_issue 8,0 W 4096 () 100 + 8 [dd]
565.000010 swapper 0 rq_complete 8,0 W () 100 + 8 [0]`,
		[]string{"dd 8,0 op1 100+8 Q- G- I- D10 C- unfinished"},
		Counts{Unfinished: 1, Unmatched: 1},
	},
	{
		"another size", `
1.000010 dd 7 rq_issue 8,0 W 4096 () 100 + 8 [dd]
1.000020 swapper 0 rq_complete 8,0 W () 100 + 16 [0]`,
		[]string{"dd 8,0 op1 100+8 Q- G- I- D10 C- depth1 unfinished"},
		Counts{Unfinished: 1, Unmatched: 1},
	},
	{
		"a start whose completion was lost and a later I/O", `
1.000010 dd 7 rq_issue 8,0 W 4096 () 100 + 8 [dd]
1.500010 cp 8 rq_issue 8,0 W 4096 () 100 + 8 [cp]
1.500020 swapper 0 rq_complete 8,0 W () 100 + 8 [0]`,
		[]string{
			"dd 8,0 op1 100+8 Q- G- I- D10 C- unfinished",
			"cp 8,0 op1 100+8 Q- G- I- D500010 C500020 depth1",
		},
		Counts{Unfinished: 1},
	},
	{
		"a completion is lost, and later I/Os are at the same place", `
1.000010 a 7 bio_queue 8,0 W 100 + 8 [a]
1.000020 a 7 rq_issue 8,0 W 4096 () 100 + 8 [a]
1.500010 b 8 bio_queue 8,0 W 100 + 8 [b]
1.500020 b 8 rq_issue 8,0 W 4096 () 100 + 8 [b]
1.500030 sh 1 rq_complete 8,0 W () 100 + 8 [0]
1.600010 c 9 bio_queue 8,0 W 100 + 8 [c]
1.600020 c 9 rq_issue 8,0 W 4096 () 100 + 8 [c]
1.600030 sh 1 rq_complete 8,0 W () 100 + 8 [0]`,
		[]string{
			"b 8,0 op1 100+8 Q500010 G- I- D500020 C500030 depth2",
			"c 8,0 op1 100+8 Q600010 G- I- D600020 C600030 depth2",
			"a 8,0 op1 100+8 Q10 G- I- D20 C- depth1 unfinished",
		},
		Counts{Unfinished: 1},
	},
	{
		"a device that hung for two minutes", `
1.000010 dd 7 rq_issue 8,0 W 4096 () 100 + 8 [dd]
151.000010 swapper 0 rq_complete 8,0 W () 100 + 8 [-110]`,
		[]string{"dd 8,0 op1 100+8 Q- G- I- D10 C150000010 depth1 error110"},
		Counts{},
	},
	{
		"a completion whose start was not seen", `
1.000010 swapper 0 rq_complete 8,0 W () 100 + 8 [0]`,
		nil,
		Counts{Unmatched: 1},
	},
	{
		"given back and issued by another process", `
1.000010 dd 7 bio_queue 8,0 WS 100 + 8 [dd]
1.000015 dd 7 io_start 8,0 WS 4096 () 100 + 8 0x2,0,4 [dd]
1.000020 dd 7 rq_issue 8,0 WS 4096 () 100 + 8 0x2,0,4 [dd]
1.000025 dd 7 rq_requeue 8,0 WS () 100 + 8 0x2,0,4 [0]
1.000100 kworker/1:1H 9 rq_insert 8,0 WS 4096 () 100 + 8 0x2,0,4 [kworker/1:1H]
1.000200 kworker/1:1H 9 rq_issue 8,0 WS 4096 () 100 + 8 0x2,0,4 [kworker/1:1H]
1.000300 sh 11 rq_complete 8,0 WS () 100 + 8 0x2,0,4 [0]
1.000301 sh 11 io_done 8,0 WS 0 () 100 + 0 0x0,0,0 [sh]`,
		[]string{"dd 8,0 op1 100+8 Q10 G15 I- D20 C300 depth1 requeues1"},
		Counts{},
	},
	{
		"issued again without a requeue in between", `
1.000010 dd 7 bio_queue 8,0 WS 100 + 8 [dd]
1.000020 dd 7 rq_issue 8,0 WS 4096 () 100 + 8 [dd]
1.000200 kworker/1:1H 9 rq_issue 8,0 WS 4096 () 100 + 8 [kworker/1:1H]
1.000300 sh 11 rq_complete 8,0 WS () 100 + 8 [0]`,
		[]string{"dd 8,0 op1 100+8 Q10 G- I- D20 C300 depth1 requeues1"},
		Counts{},
	},
	{
		"two reads of one place at once", `
1.000010 a 7 bio_queue 8,0 R 100 + 8 [a]
1.000020 a 7 rq_issue 8,0 R 4096 () 100 + 8 [a]
1.000030 b 8 bio_queue 8,0 R 100 + 8 [b]
1.000040 b 8 rq_issue 8,0 R 4096 () 100 + 8 [b]
1.000050 sh 11 rq_complete 8,0 R () 100 + 8 [0]
1.000060 sh 11 rq_complete 8,0 R () 100 + 8 [0]`,
		[]string{"a 8,0 op0 100+8 Q10 G- I- D20 C50 depth1", "b 8,0 op0 100+8 Q30 G- I- D40 C60 depth2"},
		Counts{},
	},
	{
		"only io_start and io_done", `
1.000010 dd 7 io_start 8,0 R 4096 () 100 + 8 none,0,0 [dd]
1.000050 sh 11 io_done 8,0 R 0 () 100 + 0 none,0,0 [sh]`,
		[]string{"dd 8,0 op0 100+8 Q- G10 I- D- C50"},
		Counts{},
	},
	{
		"completed in parts, the last of which fails", `
1.000010 dd 7 rq_issue 8,0 R 8192 () 100 + 16 [dd]
1.000020 sh 11 rq_complete 8,0 R () 100 + 4 [0]
1.000030 sh 11 rq_complete 8,0 R () 104 + 12 [-5]
1.000031 sh 11 io_done 8,0 R 0 () 104 + 0 [sh]`,
		[]string{"dd 8,0 op0 100+16 Q- G- I- D10 C30 depth1 error5"},
		Counts{},
	},
	{
		"split twice, the halves in one request each", `
1.000010 dd 7 bio_queue 8,0 R 100 + 24 [dd]
1.000011 dd 7 split 8,0 R 100 / 108 [dd]
1.000012 dd 7 getrq 8,0 R 100 + 8 [dd]
1.000013 dd 7 split 8,0 R 108 / 116 [dd]
1.000014 dd 7 getrq 8,0 R 108 + 8 [dd]
1.000015 dd 7 getrq 8,0 R 116 + 8 [dd]
1.000020 dd 7 rq_issue 8,0 R 4096 () 100 + 8 [dd]
1.000021 dd 7 rq_issue 8,0 R 4096 () 108 + 8 [dd]
1.000022 dd 7 rq_issue 8,0 R 4096 () 116 + 8 [dd]
1.000032 sh 11 rq_complete 8,0 R () 116 + 8 [0]
1.000033 sh 11 rq_complete 8,0 R () 108 + 8 [0]
1.000034 sh 11 rq_complete 8,0 R () 100 + 8 [0]`,
		[]string{
			"dd 8,0 op0 116+8 Q10 G15 I- D22 C32 depth3 sequential split",
			"dd 8,0 op0 108+8 Q10 G14 I- D21 C33 depth2 sequential split",
			"dd 8,0 op0 100+8 Q10 G12 I- D20 C34 depth1 split",
		},
		Counts{},
	},
	{
		"split beyond 2 TiB, where the kernel cuts the number", `
1.000010 dd 7 bio_queue 8,0 R 8589934500 + 24 [dd]
1.000011 dd 7 split 8,0 R 8589934500 / 8 [dd]
1.000012 dd 7 split 8,0 R 8589934500 / 4294967212 [dd]
1.000020 dd 7 rq_issue 8,0 R 4096 () 8589934500 + 8 [dd]
1.000021 dd 7 rq_complete 8,0 R () 8589934500 + 8 [0]
1.000022 dd 7 rq_issue 8,0 R 8192 () 8589934508 + 16 [dd]
1.000023 dd 7 rq_complete 8,0 R () 8589934508 + 16 [0]`,
		[]string{
			"dd 8,0 op0 8589934500+8 Q10 G- I- D20 C21 depth1 split",
			"dd 8,0 op0 8589934508+16 Q10 G- I- D22 C23 depth1 sequential split",
		},
		Counts{},
	},
	{
		"merged behind, before, and two requests into one", `
1.000010 dd 7 bio_queue 8,0 W 100 + 8 [dd]
1.000011 dd 7 getrq 8,0 W 100 + 8 [dd]
1.000012 cp 8 bio_queue 8,0 W 108 + 8 [cp]
1.000013 cp 8 bio_backmerge 8,0 W 108 + 8 [cp]
1.000014 cp 8 bio_queue 8,0 W 92 + 8 [cp]
1.000015 cp 8 bio_frontmerge 8,0 W 92 + 8 [cp]
1.000016 mv 9 bio_queue 8,0 W 116 + 8 [mv]
1.000017 mv 9 getrq 8,0 W 116 + 8 [mv]
1.000018 mv 9 rq_merge 8,0 W 4096 () 116 + 8 [mv]
1.000020 dd 7 rq_issue 8,0 W 16384 () 92 + 32 [dd]
1.000030 sh 1 rq_complete 8,0 W () 92 + 32 [0]`,
		[]string{"dd 8,0 op1 92+32 Q10 G11 I- D20 C30 depth1 merged3"},
		Counts{},
	},
	{
		"merges that were not recorded", `
1.000010 dd 7 bio_queue 8,0 W 100 + 8 [dd]
1.000012 dd 7 bio_queue 8,0 W 108 + 8 [dd]
1.000020 dd 7 rq_issue 8,0 W 8192 () 100 + 16 [dd]
1.000030 sh 1 rq_complete 8,0 W () 100 + 16 [0]`,
		[]string{"dd 8,0 op1 100+16 Q10 G- I- D20 C30 depth1 merged1"},
		Counts{},
	},
	{
		"encrypted: the disk's request is that of whoever wrote to the top", `
1.000010 fio 7 bio_queue 253,0 W 0 + 8 [fio]
1.000020 kworker/u8:1 9 bio_remap 8,1 W 500 + 8 <- (253,0) 0
1.000021 kworker/u8:1 9 bio_remap 8,0 W 2548 + 8 <- (8,1) 500
1.000022 kworker/u8:1 9 bio_queue 8,0 W 2548 + 8 [kworker/u8:1]
1.000030 kworker/u8:1 9 rq_issue 8,0 W 4096 () 2548 + 8 [kworker/u8:1]
1.000040 sh 1 rq_complete 8,0 W () 2548 + 8 [0]
1.000050 sh 1 bio_complete 253,0 W 0 + 8 [0]`,
		[]string{
			"fio(kworker/u8:1) 8,0:8,1<253,0 op1 2548+8 Q22 G- I- D30 C40 depth1",
			"fio 253,0 op1 0+8 Q10 G- I- D- C50 bio",
		},
		Counts{},
	},
	{
		"a partition below two stacked devices, as kernels from 4.14 on print it", `
1.000010 fio 7 bio_queue 253,1 R 0 + 8 [fio]
1.000011 fio 7 bio_remap 253,0 R 64 + 8 <- (253,1) 0
1.000012 fio 7 bio_queue 253,0 R 64 + 8 [fio]
1.000020 fio 7 bio_remap 8,0 R 500 + 8 <- (253,0) 64
1.000021 fio 7 bio_remap 8,0 R 2548 + 8 <- (8,1) 500
1.000022 fio 7 bio_queue 8,0 R 2548 + 8 [fio]
1.000023 fio 7 getrq 8,0 R 2548 + 8 [fio]
1.000030 fio 7 rq_issue 8,0 R 4096 () 2548 + 8 [fio]
1.000040 sh 1 rq_complete 8,0 R () 2548 + 8 [0]
1.000050 sh 1 bio_complete 253,0 R 64 + 8 [0]
1.000051 sh 1 bio_complete 253,1 R 0 + 8 [0]`,
		[]string{
			"fio 8,0:8,1<253,1 op0 2548+8 Q22 G23 I- D30 C40 depth1",
			"fio 253,0<253,1 op0 64+8 Q12 G- I- D- C50 bio",
			"fio 253,1 op0 0+8 Q10 G- I- D- C51 bio",
		},
		Counts{},
	},
	{
		"a stripe: the bio itself goes on to the partition and its disk", `
1.000010 fio 7 bio_queue 9,0 R 1000 + 8 [fio]
1.000011 fio 7 bio_remap 8,16 R 4 + 8 <- (9,0) 1000
1.000011 fio 7 bio_remap 8,16 R 504 + 8 <- (8,17) 4
1.000012 fio 7 getrq 8,16 R 504 + 8 [fio]
1.000020 fio 7 rq_issue 8,16 R 4096 () 504 + 8 [fio]
1.000030 sh 1 rq_complete 8,16 R () 504 + 8 [0]`,
		[]string{"fio 8,16:8,17<9,0 op0 504+8 Q10 G12 I- D20 C30 depth1"},
		Counts{},
	},
	{
		"mirrored: two disks, and the mirror's own bio", `
1.000010 fio 7 bio_queue 9,0 W 0 + 8 [fio]
1.000011 md0_raid1 8 bio_remap 8,0 W 100 + 8 <- (9,0) 0
1.000012 md0_raid1 8 bio_queue 8,0 W 100 + 8 [md0_raid1]
1.000013 md0_raid1 8 bio_remap 8,16 W 100 + 8 <- (9,0) 0
1.000014 md0_raid1 8 bio_queue 8,16 W 100 + 8 [md0_raid1]
1.000020 md0_raid1 8 rq_issue 8,0 W 4096 () 100 + 8 [md0_raid1]
1.000021 md0_raid1 8 rq_issue 8,16 W 4096 () 100 + 8 [md0_raid1]
1.000030 sh 1 rq_complete 8,0 W () 100 + 8 [0]
1.000031 sh 1 rq_complete 8,16 W () 100 + 8 [0]
1.000032 sh 1 bio_complete 9,0 W 0 + 8 [0]`,
		[]string{
			"fio(md0_raid1) 8,0<9,0 op1 100+8 Q12 G- I- D20 C30 depth1",
			"fio(md0_raid1) 8,16<9,0 op1 100+8 Q14 G- I- D21 C31 depth1",
			"fio 9,0 op1 0+8 Q10 G- I- D- C32 bio",
		},
		Counts{},
	},
	{
		"multipath: a request that goes on as one of a path", `
1.000010 fio 7 bio_queue 253,5 R 64 + 8 [fio]
1.000012 fio 7 getrq 253,5 R 64 + 8 [fio]
1.000020 fio 7 rq_issue 253,5 R 4096 () 64 + 8 [fio]
1.000021 kworker/0:1H 9 rq_remap 8,32 R 64 + 8 <- (253,5) 64 1
1.000022 kworker/0:1H 9 rq_issue 8,32 R 4096 () 64 + 8 [kworker/0:1H]
1.000030 sh 1 rq_complete 8,32 R () 64 + 8 [0]
1.000031 sh 1 rq_complete 253,5 R () 64 + 8 [0]`,
		[]string{
			"fio(kworker/0:1H) 8,32<253,5 op0 64+8 Q- G- I- D22 C30 depth1",
			"fio 253,5 op0 64+8 Q10 G12 I- D20 C31 depth1 bio",
		},
		Counts{},
	},
	{
		"a device without requests", `
1.000010 dd 7 bio_queue 252,0 R 64 + 8 [dd]
1.000012 dd 7 bio_complete 252,0 R 64 + 8 [-5]
1.000020 dd 7 bio_queue 252,0 R 72 + 8 [dd]
1.000022 dd 7 bio_complete 252,0 R 72 + 8 [0]`,
		[]string{
			"dd 252,0 op0 64+8 Q10 G- I- D- C12 error5",
			"dd 252,0 op0 72+8 Q20 G- I- D- C22 sequential",
		},
		Counts{},
	},
	{
		"the second completion of a flush sequence, without flags to tell", `
1.000010 dd 7 rq_issue 8,0 WS 2048 () 4112 + 4 [dd]
1.000020 sh 1 rq_complete 8,0 WS () 4112 + 4 [0]
1.000030 sh 1 rq_complete 8,0 WS () 4112 + 0 [0]`,
		[]string{"dd 8,0 op1 4112+4 Q- G- I- D10 C20 depth1"},
		Counts{FlushEnds: 1},
	},
	{
		"a flush behind a write fails", `
1.000010 dd 7 bio_queue 8,0 WFS 4112 + 4 [dd]
1.000011 dd 7 rq_issue 8,0 WS 2048 () 4112 + 4 [dd]
1.000020 sh 1 rq_complete 8,0 WS () 4112 + 4 [0]
1.000021 kworker/0:1H 9 rq_issue 8,0 FF 0 () 0 + 0 [kworker/0:1H]
1.000030 sh 1 rq_complete 8,0 FF () 18446744073709551615 + 0 [-5]
1.000031 sh 1 rq_complete 8,0 WS () 4112 + 0 [-5]`,
		[]string{
			"dd(kworker/0:1H) 8,0 op2 0+0 Q- G- I- D21 C30 depth1 error5",
			"dd 8,0 op1 4112+4 Q10 G- I- D11 C20 depth1 error5",
		},
		Counts{FlushEnds: 1},
	},
	{
		"two who wait for one flush, which fails", `
1.000010 a 7 bio_queue 8,0 FWS 0 + 0 [a]
1.000012 b 8 bio_queue 8,0 FWS 0 + 0 [b]
1.000021 kworker/0:1H 9 rq_issue 8,0 FF 0 () 0 + 0 [kworker/0:1H]
1.000030 sh 1 rq_complete 8,0 FF () 18446744073709551615 + 0 [-5]
1.000031 sh 1 rq_complete 8,0 WS () 0 + 0 [-5]
1.000032 sh 1 rq_complete 8,0 WS () 0 + 0 [0]`,
		[]string{
			"a 8,0 op2 0+0 Q10 G- I- D21 C31 depth1 error5",
			"b 8,0 op2 0+0 Q12 G- I- D21 C32 depth1 error5",
		},
		Counts{Flushes: 1},
	},
	{
		"commands of a driver, whose sectors say nothing", `
1.000010 smartctl 7 rq_issue 8,0 N 36 () 0 + 0 [smartctl]
1.000012 smartctl 7 rq_issue 8,0 N 512 () 0 + 0 [smartctl]
1.000020 sh 1 rq_complete 8,0 N () 18446744073709551615 + 0 [0]
1.000030 sh 1 rq_complete 8,0 N () 18446744073709551615 + 1 [-121]`,
		[]string{
			"smartctl 8,0 op255 0+0 Q- G- I- D10 C20 depth1",
			"smartctl 8,0 op255 0+1 Q- G- I- D12 C30 depth2 error121",
		},
		Counts{},
	},
	{
		"lines that are not in order", `
1.000050 sh 1 rq_complete 8,0 R () 100 + 8 [0]
1.000010 dd 7 bio_queue 8,0 R 100 + 8 [dd]
1.000040 dd 7 rq_issue 8,0 R 4096 () 100 + 8 [dd]`,
		[]string{"dd 8,0 op0 100+8 Q10 G- I- D40 C50 depth1"},
		Counts{OutOfOrder: 2},
	},
	{
		"issued by a kernel worker for it is not known whom", `
1.000040 kworker/0:1H 9 rq_issue 8,0 R 4096 () 100 + 8 [kworker/0:1H]
1.000050 sh 1 rq_complete 8,0 R () 100 + 8 [0]`,
		[]string{"(kworker/0:1H) 8,0 op0 100+8 Q- G- I- D40 C50 depth1"},
		Counts{},
	},
}

// leftover are the counts that lives compares.
func leftover(c *Counts) Counts {
	return Counts{
		Unfinished: c.Unfinished, Unmatched: c.Unmatched, Stray: c.Stray, FlushEnds: c.FlushEnds, Flushes: c.Flushes,
		OutOfOrder: c.OutOfOrder, Backwards: c.Backwards, Missing: c.Missing,
	}
}

func TestLives(t *testing.T) {
	for _, test := range lives {
		t.Run(test.name, func(t *testing.T) {
			ios, counts := read(t, textFile(t, test.events))
			var got []string
			for _, io := range ios {
				got = append(got, short(io))
			}
			if a, b := strings.Join(got, "\n"), strings.Join(test.want, "\n"); a != b {
				t.Errorf("got\n%s\nnot\n%s", a, b)
			}
			if left := leftover(&counts); left != test.counts {
				t.Errorf("counts %+v, not %+v", left, test.counts)
			}
		})
	}
}

// TestOwnersOfRequestsAlone: where only issues are recorded, the owner is whoever
// issued it, unless that is a kernel worker; and the counts say so.
func TestOwnersOfRequestsAlone(t *testing.T) {
	_, counts := read(t, textFile(t, `
1.000010 dd 7 rq_issue 8,0 W 4096 () 100 + 8 [dd]
1.000020 sh 1 rq_complete 8,0 W () 100 + 8 [0]
1.000030 kworker/0:1H 9 rq_issue 8,0 W 4096 () 100 + 8 [kworker/0:1H]
1.000040 sh 1 rq_complete 8,0 W () 100 + 8 [0]
1.000050 cp 8 io_start 8,0 W 4096 () 100 + 8 [cp]
1.000060 kworker/0:1H 9 rq_issue 8,0 W 4096 () 100 + 8 [kworker/0:1H]
1.000070 sh 1 rq_complete 8,0 W () 100 + 8 [0]`))
	if counts.IOs != 3 || counts.ByIssuer != 1 || counts.NoOwner != 1 {
		t.Errorf("%+v", counts)
	}
}

// TestBackwards (case B1): a clock that goes back by more than is put in order.
func TestBackwards(t *testing.T) {
	var counts Counts
	var ios []*event.IO
	l := newLife(&counts, func(io *event.IO) { ios = append(ios, io) })
	l.take(&trace{at: 5000, action: Issue, dev: 1, sector: 8, bytes: 4096})
	l.take(&trace{at: 4000, action: Complete, dev: 1, sector: 8, bytes: 4096})
	l.end()
	if len(ios) != 1 || counts.Backwards != 1 || !ios[0].Backwards() {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
}

// TestManyAlike: flushes that never complete are all at sector 0.
func TestManyAlike(t *testing.T) {
	var counts Counts
	l := newLife(&counts, func(*event.IO) {})
	for i := range uint64(50_000) {
		l.take(&trace{at: 1000 + i, action: Queue, dev: 1, op: event.OpWrite | reqPreflush})
		l.take(&trace{at: 1000 + i, action: Complete, dev: 1, sector: 8})
	}
	if l.open.ages.Len() != maxAlike || len(l.flushes[1]) > maxAlike {
		t.Errorf("%d open, %d waiting", l.open.ages.Len(), len(l.flushes[1]))
	}
}

// TestMemoryIsBounded: starts that never complete are given up, the oldest first.
func TestMemoryIsBounded(t *testing.T) {
	var counts Counts
	l := newLife(&counts, func(*event.IO) {})
	for i := range uint64(maxOpen + 5000) {
		l.take(&trace{at: 1000 + i, action: Remap, dev: 1, to: 1, from: 2, sector: i * 8, bytes: 4096})
		l.take(&trace{at: 1000 + i, action: Issue, dev: 1, sector: i * 8, bytes: 4096})
	}
	if l.open.ages.Len() != maxOpen || counts.Unfinished != 5000 {
		t.Errorf("%d open, %+v", l.open.ages.Len(), counts)
	}
	if n := len(l.remaps.things); n > 2*maxKept {
		t.Errorf("%d remaps", n)
	}
}
