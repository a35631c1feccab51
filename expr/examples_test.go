// SPDX-License-Identifier: Apache-2.0

package expr

// exampleFilters are right, for the function that made() makes up.
var exampleFilters = []string{
	"size > 1024 && (flags & 0x10) != 0 || !(p->n == 80)",
	"p->next->name == \"x\" and s ~ \"ext4*\"",
	"ret == -ENOENT || ret < 0",
	"latency >= 10ms && comm != \"dd\"",
	"uid.val == 0 && p != NULL && p->table[3] == 'a'",
	"(u8)arg2 == 0x7f && *p->text == 0",
	"arg.size == size",
	"p->low == 7 && p->mid == -1 && p->c == 7",
}
