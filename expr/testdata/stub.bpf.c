/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs with stubs, as Replace finds them in a C object. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct call_input {
	__u64 arg[6];
	__u64 ret;
	__u64 latency_ns;
	__u32 tgid, tid;
	__u32 cpu, pad;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[1024]);
} output SEC(".maps");

/*
 * The compiler must not know what a stub returns or leaves alone: it would
 * make the callers after that.
 */
#define STUB(name)                                                                         \
	static __attribute__((noinline)) int name(struct call_input *input, char *output)  \
	{                                                                                  \
		int wanted = 1;                                                            \
                                                                                           \
		asm volatile("" : "+r"(wanted) : "r"(input), "r"(output) : "memory");      \
		return wanted;                                                             \
	}

STUB(call_filter)
STUB(call_entry)
STUB(call_return)

static __attribute__((noinline)) int fill(struct call_input *input, __u64 *args)
{
	for (int i = 0; i < 6; i++)
		input->arg[i] = args[i];
	input->ret = args[6];
	input->latency_ns = args[7];
	input->tgid = bpf_get_current_pid_tgid() >> 32;
	input->tid = bpf_get_current_pid_tgid();
	input->cpu = bpf_get_smp_processor_id();
	return bpf_get_current_comm(input->comm, sizeof(input->comm));
}

SEC("raw_tp")
int enter(__u64 *ctx)
{
	struct call_input input = {};
	__u32 zero = 0;
	char *out = bpf_map_lookup_elem(&output, &zero);
	__u64 mask = 0;
	int result;

	if (!out || fill(&input, ctx))
		return -1;
	result = call_filter(&input, (char *)&mask);
	if (result == 1)
		return 10 + call_entry(&input, out);
	if (result == 2)
		return 12;
	return 10;
}

SEC("raw_tp")
int leave(__u64 *ctx)
{
	struct call_input input = {};
	__u32 zero = 0;
	char *out = bpf_map_lookup_elem(&output, &zero);

	if (!out || fill(&input, ctx))
		return -1;
	return 20 + call_return(&input, out);
}

char terms[] SEC("license") = "Dual BSD/GPL";
