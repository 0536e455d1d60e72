/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow.h - a protocol that keeps a copy of the shared memory from the stores announced to it, and what tests ask of
 * it. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stddef.h>

/* shadow_spoil - make the copy of [ptr, ptr + bytes) differ from the memory in every byte. */
void shadow_spoil(const void *ptr, size_t bytes);
/* shadow_announced - was the byte at @ptr announced to the protocol since it was spoilt?  Only after a
 * synchronization. */
bool shadow_announced(const void *ptr);

#endif
