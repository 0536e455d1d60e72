/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow.h - a protocol that keeps a copy of the shared memory from the stores it is told of, and what tests ask of
 * it. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stddef.h>

/* shadow_spoil - make the copy of [ptr, ptr + bytes) differ from the memory in every byte. */
void shadow_spoil(const void *ptr, size_t bytes);
/* shadow_announced - was the protocol told of the byte at @ptr since it was spoilt?  Only after a synchronization. */
bool shadow_announced(const void *ptr);

#endif
