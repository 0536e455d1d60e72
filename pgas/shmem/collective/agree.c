/* SPDX-License-Identifier: BSD-3-Clause */
/* agree.c - do all PEs of a set make the same collective call?  Only when calls are checked.
 *
 * Each PE writes a record of its call to each other PE of the set, into memory there that it alone writes, and compares
 * the records that it receives.  The calls of a pair of PEs are numbered, over all sets: so two PEs that call
 * collectives in different orders are detected, too.  A pair uses two places in turns.  That is enough: a PE that sends
 * record n + 2 has received record n + 1 from the peer, and the peer read record n before it sent that. */
#include "core/observe/symbol.h"
#include "pgas/shmem/check.h"
#include "pgas/shmem/collective/collective.h"

#include <stddef.h>
#include <stdlib.h>

#define AGREE_LATE_NS 10000000000u

struct agree_word {
	_Atomic uint64_t number; /* of the call, within the pair; written last */
	char name[40];
	uint64_t caller; /* relative to the program's load address; 0: in a shared library */
	int64_t start, stride, size, root, count, dst, sst, dest, sync;
};

static const struct {
	const char *what;
	size_t at;
} agree_fields[] = {
    {"for a set from PE", offsetof(struct agree_word, start)},
    {"for a set with a stride of", offsetof(struct agree_word, stride)},
    {"for a set of PEs that are", offsetof(struct agree_word, size)},
    {"with root", offsetof(struct agree_word, root)},
    {"with a count of", offsetof(struct agree_word, count)},
    {"with a stride of dest of", offsetof(struct agree_word, dst)},
    {"with a stride of source of", offsetof(struct agree_word, sst)},
    {"with dest at the symmetric offset", offsetof(struct agree_word, dest)},
    {"with pSync at the symmetric offset", offsetof(struct agree_word, sync)},
};

static size_t agree_at;
static uint64_t *agree_calls; /* [pes] calls made with each */
static struct tw_symbol_program agree_program;

size_t sh_check_bytes(void)
{
	return tw_segment.pes * 2 * sizeof(struct agree_word);
}

void sh_check_open(size_t at)
{
	agree_at = at;
	tw_symbol_program(&agree_program);
	if (!agree_calls)
		agree_calls = calloc(tw_segment.pes, sizeof(*agree_calls));
	if (!agree_calls)
		tw_fatal("no memory to check calls of %u PEs", tw_segment.pes);
}

static size_t agree_place(unsigned from, uint64_t number)
{
	return agree_at + (from * 2 + number % 2) * sizeof(struct agree_word);
}

static int64_t agree_offset(const void *addr)
{
	return addr ? (int64_t)sh_find(addr, 1) : 0;
}

static struct agree_word agree_word(const struct sh_call *c)
{
	uintptr_t caller = (uintptr_t)c->caller;
	bool program = caller >= agree_program.base && caller < agree_program.end;
	struct agree_word word = {
	    .caller = program ? caller - agree_program.base : 0,
	    .start = c->active ? c->start : (int)c->team->start,
	    .stride = c->active ? 1 << c->log_stride : c->team->stride,
	    .size = c->active ? c->pes : (int)c->team->size,
	    .root = c->root,
	    .count = (int64_t)c->count,
	    .dst = c->dst,
	    .sst = c->sst,
	    .dest = agree_offset(c->dest),
	    .sync = agree_offset(c->sync),
	};

	tw_format(word.name, sizeof(word.name), "%s", c->name);
	return word;
}

static void agree_send(unsigned pe, struct agree_word *word)
{
	size_t at = agree_place(tw_segment.pe, agree_calls[pe]), body = offsetof(struct agree_word, name);

	tw_segment_put(pe, at + body, word->name, sizeof(*word) - body);
	tw_segment_fence();
	tw_segment_put(pe, at, &agree_calls[pe], sizeof(word->number));
	if (tw_segment_direct(pe))
		tw_segment_wake(tw_segment_direct(pe));
	else
		tw_segment_remote_wake(pe);
}

static const struct agree_word *agree_receive(unsigned pe, const struct sh_call *c)
{
	const struct agree_word *word = (void *)(tw_segment.base + agree_place(pe, agree_calls[pe]));
	uint64_t began = tw_time_ns();
	bool said = false;
	char line[SH_LINE_BYTES];

	for (struct tw_nap nap = {0}; atomic_load_explicit(&word->number, memory_order_acquire) != agree_calls[pe];) {
		tw_segment_nap(&nap);
		if (said || tw_time_ns() - began < AGREE_LATE_NS)
			continue;
		said = true;
		sh_line(c->caller, line);
		tw_log("PE %u has waited 10 s for PE %u in %s, in %s", tw_segment.pe, pe, c->name, line);
	}
	return word;
}

static void agree_compare(const struct agree_word *mine, const struct agree_word *other, unsigned pe,
                          const void *caller)
{
	char line[SH_LINE_BYTES], there[SH_LINE_BYTES] = "a shared library";
	size_t f = 0, fields = sizeof(agree_fields) / sizeof(agree_fields[0]);
	bool same = strcmp(mine->name, other->name) == 0;

	while (f < fields &&
	       memcmp((const char *)mine + agree_fields[f].at, (const char *)other + agree_fields[f].at, 8) == 0)
		f++;
	if (same && f == fields)
		return;
	sh_line(caller, line);
	if (other->caller)
		sh_line((const char *)agree_program.base + other->caller, there);
	if (!same)
		tw_fatal("PE %u calls %s in %s, but PE %u %s in %s", tw_segment.pe, mine->name, line, pe, other->name,
		         there);
	int64_t here, value;
	memcpy(&here, (const char *)mine + agree_fields[f].at, sizeof(here));
	memcpy(&value, (const char *)other + agree_fields[f].at, sizeof(value));
	tw_fatal("PE %u calls %s %s %ld in %s, but PE %u %s %ld in %s", tw_segment.pe, mine->name, agree_fields[f].what,
	         (long)here, line, pe, agree_fields[f].what, (long)value, there);
}

void sh_agree(const struct sh_call *c)
{
	struct agree_word mine = agree_word(c);

	for (unsigned pass = 0; pass < 2; pass++) {
		for (int64_t i = 0; i < mine.size; i++) {
			unsigned pe = (unsigned)(mine.start + mine.stride * i);
			if (pe == tw_segment.pe)
				continue;
			if (pass == 0) {
				agree_calls[pe]++;
				agree_send(pe, &mine);
			} else {
				agree_compare(&mine, agree_receive(pe, c), pe, c->caller);
			}
		}
	}
}
