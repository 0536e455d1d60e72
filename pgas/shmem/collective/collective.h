/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.h - collectives over a set of PEs: the table of algorithms, and what they are made of.
 *
 * A set is a team or an active set.  It has SH_WORDS signal words on each PE, in control memory or in the caller's pSync.  Each word
 * has one sender at a time, and it is always the same one for a receiver: a function of their distance or of the tree's level, never of
 * an argument alone.  So signals of a sender that is one collective ahead are not taken for those of a slower one. */
#ifndef TW_PGAS_SHMEM_COLLECTIVE_H
#define TW_PGAS_SHMEM_COLLECTIVE_H

#include "pgas/shmem/impl.h"

/* First of the words of each kind, a word for each of log2 of the most PEs. */
enum { SET_SYNC = 0, SET_TREE = 16, SET_SCAN = 32 };

struct sh_set {
	struct shmem_team *team; /* NULL: an active set */
	unsigned start, size, me;
	int stride;
	size_t words, word_bytes;      /* where they are in the segment */
	size_t scratch, scratch_bytes; /* for reductions; a team has another one behind it */
};

/* set_of_team; set_of_active - of the deprecated collectives: @work of @work_bytes is pWrk, or NULL. */
struct sh_set set_of_team(struct shmem_team *team);
struct sh_set set_of_active(int start, int log_stride, int size, long *sync, void *work, size_t work_bytes);

static inline unsigned set_pe(const struct sh_set *set, unsigned i)
{
	return set->start + (unsigned)set->stride * i;
}

/* set_signal - of @word to the set's @i-th; puts to it before are seen first.  set_wait - for one at this PE. */
void set_signal(const struct sh_set *set, unsigned i, unsigned word);
void set_wait(const struct sh_set *set, unsigned word);
/* set_send, set_receive - a number, through @word, which is used for nothing else; until the set's next sync there may be no other. */
void set_send(const struct sh_set *set, unsigned i, unsigned word, uint64_t value);
uint64_t set_receive(const struct sh_set *set, unsigned word);

/* What is done to @n elements: into[i] = into[i] op from[i]. */
typedef void (*sh_reduce_op)(void *into, const void *from, size_t n);

/* The algorithms.  All pointers are checked; dest of broadcast, collect and alltoall is symmetric.
 * sync: nobody returns before all have come.  It completes nothing.
 * broadcast: @source of the @root-th to @dest of the others; the root's own is the caller's.
 * collect: @bytes of each, one behind the other, to everyone's @dest; @before is what comes before this PE's, @all of all.
 * alltoall: @n elements of @size from each to each, @dst and @sst elements apart.
 * reduce: @n elements of @size; @dest may be @source. */
struct sh_collectives {
	void (*sync)(const struct sh_set *set);
	void (*broadcast)(const struct sh_set *set, void *dest, const void *source, size_t bytes, unsigned root);
	void (*collect)(const struct sh_set *set, void *dest, const void *source, size_t bytes, size_t before);
	void (*alltoall)(const struct sh_set *set, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
	                 size_t n, size_t size);
	void (*reduce)(const struct sh_set *set, void *dest, const void *source, size_t n, size_t size,
	               sh_reduce_op op);
};
extern struct sh_collectives sh_collectives;

void sync_dissemination(const struct sh_set *set);
void broadcast_binomial(const struct sh_set *set, void *dest, const void *source, size_t bytes, unsigned root);
void collect_flat(const struct sh_set *set, void *dest, const void *source, size_t bytes, size_t before);
void alltoall_flat(const struct sh_set *set, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                   size_t size);
void reduce_flat(const struct sh_set *set, void *dest, const void *source, size_t n, size_t size, sh_reduce_op op);
/* set_scan - the sum of @value over the PEs before this one. */
size_t set_scan(const struct sh_set *set, size_t value);

#endif
