/* SPDX-License-Identifier: BSD-3-Clause */
/* sequential.c - SC: every access sees the newest store, so programs with data races behave as on one machine, too. */
#include "protocols/sequential/sequential.h"

#include <errno.h>
#include <stdlib.h>

static void seq_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind, (void)object;
	seq_relaxed_release(me);
}

static void seq_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind, (void)object;
	seq_relaxed_acquire(me);
}

static size_t seq_exported_bytes(const struct tw_layout *layout)
{
	return TW_ALIGN_UP(layout->pages * SEQ_ENTRY_BYTES, (size_t)4096);
}

static size_t seq_private_bytes(const struct tw_layout *layout)
{
	return TW_ALIGN_UP(tw_pageset_bytes(layout->pages), (size_t)4096);
}

static int seq_init(struct tw_proc *me)
{
	struct seq *s = calloc(1, sizeof(*s));

	me->proto = s;
	if (s)
		s->scratch = aligned_alloc(4096, me->layout.page_bytes);
	if (!s || !s->scratch)
		return -ENOMEM;
	tw_pageset_init((void *)(me->private_mem + me->layout.protocol_private), me->layout.pages);
	return 0;
}

static void seq_fini(struct tw_proc *me)
{
	if (me->proto)
		free(seq_of(me)->scratch);
	free(me->proto);
	me->proto = NULL;
}

static struct seq_parameters values;
static const struct tw_setting parameters[] = {
    {"hold", TW_NUMBER(struct seq_parameters, hold, 0, 100000), .initial = "50",
     .help = "microseconds for which a node keeps a page that it got, before another one takes it"},
    {.name = NULL},
};

const struct tw_protocol tw_protocol_sc = {
    .name = "SC",
    .summary = "sequential consistency by pages: one writer or many readers; programs with data races run right",
    .flags = TW_PROTOCOL_NO_DIRECTORY | TW_PROTOCOL_SHOOTDOWN | TW_PROTOCOL_REVOKES,
    .parameters = parameters,
    .values = &values,
    .exported_bytes = seq_exported_bytes,
    .private_bytes = seq_private_bytes,
    .init = seq_init,
    .fini = seq_fini,
    .read_fault = seq_read_fault,
    .write_fault = seq_write_fault,
    .pin = seq_pin,
    .unpin = seq_unpin,
    .release = seq_release,
    .acquire = seq_acquire,
    .word = seq_word,
    .word_peek = seq_word_peek,
    .word_done = seq_word_done,
    .message = seq_message,
};
