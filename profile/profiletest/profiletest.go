// SPDX-License-Identifier: Apache-2.0

// Package profiletest has profiles of known content for tests of views.
package profiletest

import (
	"fmt"
	"strings"
	"time"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/symbol"
)

func user(name string, address uint64) symbol.Frame {
	return symbol.Frame{Name: name, Module: "postgres", Path: "/usr/bin/postgres", Offset: 0x10, Address: 0x555500000000 + address, Virtual: address, BuildID: "6a1f", Kind: symbol.User}
}

func kernel(name string) symbol.Frame {
	return symbol.KernelFrame(name, 4, 0xffffffff81000000+uint64(len(name)))
}

func weight(count uint64) profile.Weight {
	return profile.Weight{Count: count, Value: count * 10_101_010}
}

// Database is a profile of two processes, one of two threads: a function that calls itself, a
// module without symbols, code that was compiled at run time, a stack that is cut off, losses.
func Database() *profile.Profile {
	plain := symbol.Frame{Module: "libz.so.1", Path: "/lib/libz.so.1", Address: 0x7f0000001234, Virtual: 0x1234, BuildID: "beef01", Kind: symbol.User}
	other := plain
	other.Address, other.Virtual = 0x7f0000005678, 0x5678
	js := symbol.Frame{Name: "LazyCompile:~render /app/page.js:12", Module: "[jit]", Address: 0x3f0000, Kind: symbol.JIT}
	node := symbol.Frame{Name: "node::Start", Module: "node", Path: "/usr/bin/node", Offset: 8, Address: 0x401008, Virtual: 0x401008, Kind: symbol.User}
	query := []symbol.Frame{user("ExecScan", 0x100), user("ExecProcNode", 0x200), user("ExecProcNode", 0x240), user("main", 0x300)}
	sample := func(tid uint32, thread string, count uint64, kernelPart, userPart []symbol.Frame) profile.Sample {
		return profile.Sample{PID: 100, TID: tid, Process: "postgres", Thread: thread, Cgroup: "/db", Kernel: kernelPart, User: userPart, Weight: weight(count)}
	}
	cutOff := sample(101, "worker", 2, nil, []symbol.Frame{user("ExecProcNode", 0x200)})
	cutOff.Truncated = true
	return &profile.Profile{
		Kind: profile.CPU, Version: "1.2.3", Kernel: "6.12.1", Means: "perf_event", Start: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC),
		Duration: 10 * time.Second, Period: 10_101_010 * time.Nanosecond,
		Samples: []profile.Sample{
			sample(100, "postgres", 40, nil, query),
			sample(100, "postgres", 25, []symbol.Frame{kernel("copy_page_to_iter"), kernel("ext4_file_read_iter\t[ext4]"), kernel("vfs_read")}, query[1:]),
			sample(101, "worker", 10, nil, []symbol.Frame{plain, user("inflate_page", 0x400), user("main", 0x300)}),
			sample(101, "worker", 5, nil, []symbol.Frame{other, user("inflate_page", 0x410), user("main", 0x300)}),
			cutOff,
			{PID: 200, TID: 200, Process: "node", Thread: "node", User: []symbol.Frame{js, node}, Weight: weight(18)},
		},
		Lost:  profile.Lost{Samples: 3, UserStacks: 1},
		Notes: []string{"2 CPUs went offline meanwhile"},
	}
}

// Hostile is a profile whose names try to break out of every format.
func Hostile() *profile.Profile {
	names := []string{
		"</script><img src=x onerror=alert(1)>", "]]><svg/onload=alert(1)>", "a;b c\nd 12", "\x1b[31mred\x1b[0m", "\xff\xfe", "\u202eevil\u2028",
		`"><title>&lt;`, "<!--", "{{.Policy}}", strings.Repeat("long", 300), "", "\x00", "' onmouseover='x", `\u003c/script>`,
	}
	p := &profile.Profile{
		Kind: profile.OffCPU, Version: names[0], Kernel: names[3], Means: names[4], Scope: names[5], Notes: names[:6],
		Start: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), Duration: time.Second,
	}
	for i, name := range names {
		frames := []symbol.Frame{
			{Name: name, Module: name, Path: name, BuildID: "00", Address: uint64(i), Kind: symbol.User},
			{Module: name, Path: "/" + name, BuildID: "01", Address: uint64(i), Virtual: uint64(i), Kind: symbol.User},
			{Address: uint64(i)},
		}
		p.Samples = append(p.Samples, profile.Sample{
			PID: uint32(i), TID: uint32(i), Process: name, Thread: name, Cgroup: name,
			User: frames, Kernel: []symbol.Frame{symbol.KernelFrame(name, 1, 2)}, Weight: profile.Weight{Count: uint64(i + 1), Value: 1 << (4 * uint(i))},
		})
	}
	return p
}

// Large is a profile of so many different stacks, as deep as the kernel tells them.
func Large(stacks int) *profile.Profile {
	p := &profile.Profile{Kind: profile.CPU, Duration: time.Second, Period: time.Millisecond}
	for i := range stacks {
		var frames []symbol.Frame
		for depth := range 127 {
			frames = append(frames, user(fmt.Sprintf("function_%d_%d_%s", depth, i>>max(8-depth/8, 0), strings.Repeat("x", 200)), uint64(i*128+depth)))
		}
		p.Samples = append(p.Samples, profile.Sample{PID: 1, TID: uint32(i%7 + 1), Process: "big", Thread: "t", User: frames, Weight: weight(uint64(1 + i%13))})
	}
	return p
}

// Empty is a profile of nothing.
func Empty() *profile.Profile {
	return &profile.Profile{Kind: profile.RunQ, Start: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), Duration: time.Second}
}
