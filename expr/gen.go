// SPDX-License-Identifier: Apache-2.0

package expr

//go:generate clang-19 -O2 -g -Wall -mcpu=v3 -target bpfel -fdebug-compilation-dir=. -I/usr/include/x86_64-linux-gnu -c testdata/stub.bpf.c -o testdata/stub.bpf.o
//go:generate llvm-strip-19 -g testdata/stub.bpf.o
