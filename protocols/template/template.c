/* SPDX-License-Identifier: BSD-3-Clause */
/* template.c - skeleton of a protocol: copy it, replace `template` by your name, and each #error by what its
 * sentence asks for.  doc/internals/writing-a-protocol.md explains each of them; protocols/simple.c is a complete
 * protocol of this shape. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/driver/protocol.h"

#error "helpers: what several hooks need, page locked: the right of this mapping, is the copy fresh, fetch, flush"

static void template_read_fault(struct tw_proc *me, tw_page_t p)
{
#error "read_fault: lock the page, claim its home, fetch a stale copy, set the bit in mapped, tw_map, unlock"
}

static void template_write_fault(struct tw_proc *me, tw_page_t p)
{
#error "write_fault: as a read fault; before it maps, make a twin, set the bit in writers, add to the dirty set"
}

static void template_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
#error "release: perform this processor's writes at the homes, then notices where copies may be; then return"
}

static void template_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
#error "acquire: collect the notices that have arrived; unmap or update this processor's mappings that are older"
}

static int template_init(struct tw_proc *me)
{
#error "init: allocate now what hooks will need, for they must not; 0 or -errno"
}

static void template_fini(struct tw_proc *me)
{
#error "fini: free what init allocated"
}

const struct tw_protocol tw_protocol_template = {
    .name = "template",
#error "summary: one line for `tweed info`, as .summary = and a string, and .flags if any"
    .init = template_init,
    .fini = template_fini,
    .read_fault = template_read_fault,
    .write_fault = template_write_fault,
    .release = template_release,
    .acquire = template_acquire,
};
