/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.c - of a stack, what belongs to the program: neither Tweed's functions nor those of the C library. */
#include "tools/crash/stack.h"

#include <string.h>
#include <sys/uio.h>

#include "core/base/base.h"

#define STACK_CALLERS 6u /* that are named */

unsigned stack_unwind(const struct tw_crash *c, struct tw_frame frame[TW_FRAMES])
{
	tw_symbol_built = TOOL_BUILD_ROOT;
	return tw_symbol_unwind(c->pid, c->tid, c->registers, frame);
}

unsigned stack_program(const struct tw_frame *frame, unsigned frames)
{
	unsigned i = 0;

	while (i < frames && frame[i].of != TW_FRAME_PROGRAM)
		i++;
	return i;
}

/* The function that the call before @back calls directly; 0: unknown.  Where that function ends by a call of another
 * one, only the latter is on the stack. */
static uintptr_t stack_callee(pid_t pid, uintptr_t back)
{
	unsigned char code[5];
	struct iovec to = {code, sizeof(code)}, from = {(void *)(back - sizeof(code)), sizeof(code)};
	int32_t distance;

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(code) || code[0] != 0xe8)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return back + (uintptr_t)(intptr_t)distance;
}

/* Does the text begin with one of the names, which NULL ends? */
static bool stack_begins(const char *text, const char *const *names)
{
	while (*names && strncmp(text, *names, strlen(*names)) != 0)
		names++;
	return *names;
}

/* The name alone of the function at @ip, as the program calls it.  Returns whether it is known. */
static bool stack_name(pid_t pid, uintptr_t ip, char *out, size_t bytes)
{
	static const char *const replaced[] = {"tw_pthread_", "tw_sem_",   "tw_mtx_", "tw_cnd_",
	                                       "tw_thrd_",    "tw_sched_", NULL};
	char text[512];

	tw_symbol_of_process(pid, ip, text, sizeof(text));
	if (strncmp(text, "0x", 2) == 0)
		return false;
	text[strcspn(text, "+@")] = '\0';
	tw_format(out, bytes, "%s", text + (stack_begins(text, replaced) ? strlen("tw_") : 0));
	return true;
}

bool stack_called(pid_t pid, const struct tw_frame *frame, unsigned first, char *out, size_t bytes)
{
	static const char *const inserted[] = {"tw_threads_", "th_", NULL}, *const thrown[] = {"__cxa_throw",
	                                                                                       "__cxa_rethrow", NULL};

	for (unsigned i = 0; i < first; i++)
		if (stack_name(pid, frame[i].ip, out, bytes) && stack_begins(out, thrown)) {
			tw_format(out, bytes, "%s", thrown[0]);
			return true;
		}
	uintptr_t callee = first ? stack_callee(pid, frame[first].ip + 1) : 0;
	if (!callee || !stack_name(pid, callee, out, bytes))
		for (unsigned i = first; i-- > 0 && !stack_name(pid, frame[i].ip, out, bytes);)
			continue;
	return first && !stack_begins(out, inserted);
}

void stack_callers(pid_t pid, const struct tw_frame *frame, unsigned frames, unsigned from, char *out, size_t bytes)
{
	unsigned named = 0;
	size_t n = 0;

	*out = '\0';
	for (unsigned i = from, times; i < frames && named <= STACK_CALLERS; i += times) {
		char text[512];

		for (times = 1; i + times < frames && frame[i + times].ip == frame[i].ip; times++)
			;
		if (frame[i].of != TW_FRAME_PROGRAM)
			continue;
		tw_symbol_of_process(pid, frame[i].ip, text, sizeof(text));
		named++;
		n += tw_format(out + n, bytes - n, "%s%s", named > 1 ? ", " : "",
		               named <= STACK_CALLERS ? text : "and so on");
		if (times > 1 && named <= STACK_CALLERS)
			n += tw_format(out + n, bytes - n, " %u times", times);
	}
}
