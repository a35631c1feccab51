// SPDX-License-Identifier: Apache-2.0

package probe

// The object is committed, so that building needs only Go; CI regenerates it and compares.
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64 -go-package probe wait ../bpf/wait.bpf.c -- -O2 -g -Wall -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64 -go-package probe -type fs_call_record fs ../bpf/fs.bpf.c -- -O2 -g -Wall -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64 -go-package probe block ../bpf/block.bpf.c -- -O2 -g -Wall -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64 -go-package probe -type call_input -type failed_key -type failed_sum call ../bpf/call.bpf.c -- -O2 -g -Wall -mcpu=v3 -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -target amd64 -go-package probe -type prof_stack -type prof_key -type prof_sum -type prof_cpu -type prof_gap_key -type prof_gap -type runq_key -type runq_sum -type runq_pair -type runq_pair_sum profile ../bpf/profile.bpf.c -- -O2 -g -Wall -mcpu=v3 -I/usr/include/x86_64-linux-gnu
