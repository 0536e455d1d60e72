/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow.c - takes the place of the protocols' list in a program under test: its `none` receives announced stores and
 * copies them. */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory/regions.h"
#include "tweed/driver/protocol.h"

static struct tw_proc *shadow_me;
static char *shadow_copy;

static int shadow_init(struct tw_proc *me)
{
	shadow_copy =
	    mmap(NULL, me->config.memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shadow_copy == MAP_FAILED)
		return -1;
	shadow_me = me;
	return 0;
}

static bool shadow_stored(struct tw_proc *me, size_t offset, size_t bytes)
{
	if (bytes == 0 || offset / me->layout.page_bytes != (offset + bytes - 1) / me->layout.page_bytes)
		abort();
	memcpy(shadow_copy + offset, me->view + offset, bytes);
	return true;
}

static void shadow_nothing(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)me, (void)kind, (void)object;
}

static const struct tw_protocol shadow = {
    .name = "none",
    .summary = "copies stores",
    .flags = TW_PROTOCOL_ONE_NODE | TW_PROTOCOL_NO_FAULTS | TW_PROTOCOL_NEEDS_STORES,
    .init = shadow_init,
    .release = shadow_nothing,
    .acquire = shadow_nothing,
    .stored = shadow_stored,
};

const struct tw_protocol *const *tw_protocol_list(void)
{
	static const struct tw_protocol *const list[] = {&shadow, NULL};
	return list;
}

const struct tw_protocol *tw_protocol_find(const char *name)
{
	return strcmp(name, shadow.name) == 0 ? &shadow : NULL;
}

static size_t shadow_offset(const void *ptr)
{
	return (uintptr_t)ptr - TW_SPACE_BASE;
}

void shadow_spoil(const void *ptr, size_t bytes)
{
	size_t at = shadow_offset(ptr);
	for (size_t i = at; i < at + bytes; i++)
		shadow_copy[i] = (char)~shadow_me->view[i];
}

bool shadow_announced(const void *ptr)
{
	size_t at = shadow_offset(ptr);
	return shadow_copy[at] == shadow_me->view[at];
}
