/* SPDX-License-Identifier: BSD-3-Clause */
/* pgas.h - a partitioned global address space: global pointers, atomics, epoch-based reclamation, non-blocking
 * containers.
 *
 * The job's processors are its processing elements (PEs).  Each PE has a segment, which all PEs can read, write and
 * change atomically without the owner's participation.  Objects are in segments; a global pointer, one 64-bit word,
 * names an object.  A program is started by `tweed run`, or without it as the only PE.  This layer does not need
 * tweed.h, and can be used together with it and with OpenSHMEM.
 *
 * Context, unless stated otherwise: the PE's one application thread calls a function between tw_pgas_init() and
 * tw_pgas_finalize(), and not in a signal handler.  The tw_local_ types are for all threads of a process and need no
 * job.  Functions that return int return 0 or -errno; where the user has to correct something, they also print one
 * sentence on standard error.  A call that breaks the rules (a null or wild pointer, an unregistered token) ends the
 * job with a sentence.
 *
 * Costs are stated in remote operations, those that go to another node.  An object of the own node is plain memory:
 * access to it is not a remote operation.  tw_pgas_stats() counts them.
 *
 * Sources: Dewan and Jenkins, "Paving the way for Distributed Non-Blocking Algorithms and Data Structures in the PGAS
 * model" [DJ]; the tutorial of Remus [R].  doc/internals/pgas.md explains the differences. */
#ifndef TWEED_PGAS_H
#define TWEED_PGAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TW_API
#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* Where tw_new() allocates objects [R].  "All" are the memory PEs of the job; "here" are the memory PEs of this node,
 * or all if it has none. */
enum tw_place {
	TW_PLACE_OWN,        /* this PE's segment if it is a memory PE; else as LOCAL_MOD */
	TW_PLACE_RAND,       /* one of all, at random */
	TW_PLACE_GLOBAL_RR,  /* all, round robin */
	TW_PLACE_GLOBAL_MOD, /* one of all, always the same: this PE's number modulo their count */
	TW_PLACE_LOCAL_RR,   /* those here, round robin */
	TW_PLACE_LOCAL_MOD,  /* one of those here, always the same */
};

/* The connection that an operation uses [R].  A PE has one thread and one connection to each node, so all values mean
 * the same.  They exist for programs of Remus. */
enum tw_lane { TW_LANE_ONE_TO_ONE, TW_LANE_RAND, TW_LANE_RR, TW_LANE_MOD };

/* What executes atomics on the words of segments.  This is a property of the segments, fixed at their creation, not of
 * a call.  The network decides: CPU if its atomics and the processor's are coherent on one word, else NIC, also for
 * words of the own node.  A CPU always changes 128-bit words (tw_wide): those of another node by a message to that
 * node's agent. */
enum tw_agent { TW_AGENT_AUTO, TW_AGENT_CPU, TW_AGENT_NIC };

/* Zero means the default.  Equal on all PEs. */
struct tw_pgas_options {
	size_t bytes;          /* of each segment for this layer; 0: half of TWEED_SEGMENT */
	unsigned memory_pes;   /* number of PEs that hold objects; 0: all */
	unsigned memory_first; /* the first of them */
	unsigned compute_pes;  /* number of PEs that compute; 0: all.  For others tw_pgas_computes() is false */
	unsigned compute_first;
	enum tw_place place; /* of tw_new() */
	enum tw_lane lane;
	enum tw_agent agent; /* not AUTO: tw_pgas_init() fails if the network has another one */
	uint64_t seed;       /* of TW_PLACE_RAND */
};

/* tw_pgas_init - join the job.  Collective; before or after tw_init(), if that is used.
 * @options: NULL: all defaults.
 * Returns: 0; -EINVAL, -ENOMEM, -ENOTSUP, each with a sentence on standard error.  When the environment is damaged,
 * exits with status 2 and a sentence. */
TW_API int tw_pgas_init(const struct tw_pgas_options *options);

/* tw_pgas_finalize - leave the job.  Collective; a quiet and a barrier.  Segments are gone afterwards. */
TW_API void tw_pgas_finalize(void);

/* tw_pe, tw_pes - this PE's number, 0 to tw_pes() - 1; the number of PEs.
 * tw_pgas_computes - is this a compute PE?  Other PEs only need to take part in collective calls.
 * tw_pgas_compute_pes - the number of compute PEs.
 * tw_pgas_agent - what executes atomics. */
TW_API unsigned tw_pe(void);
TW_API unsigned tw_pes(void);
TW_API bool tw_pgas_computes(void);
TW_API unsigned tw_pgas_compute_pes(void);
TW_API enum tw_agent tw_pgas_agent(void);

/* tw_pe_lives - false when @pe is dead, which only happens with `tweed run --survive`: its process has ended, and its
 * accesses to memory have ended.  Its segment and the segment's contents remain.  Objects that it had retired or
 * reserved are lost.
 * tw_pe_lost - true when the whole node of @pe is dead and the segment is gone.  A PE that reads, writes or changes
 * memory of that segment is ended with a sentence.  tw_new() chooses other segments, tw_new_at() returns null,
 * tw_delete() and reclamation skip its objects. */
TW_API bool tw_pe_lives(unsigned pe);
TW_API bool tw_pe_lost(unsigned pe);

/* tw_control_barrier - wait until all living PEs have called it.  A PE's earlier puts are visible to all PEs afterwards
 * [R]. */
TW_API void tw_control_barrier(void);

/* Counts of this PE since tw_pgas_init() or the last tw_pgas_stats_reset(). */
struct tw_pgas_stats {
	uint64_t get, put, cas, faa, swap, am; /* remote operations */
	uint64_t get_bytes, put_bytes;         /* of the first two */
	uint64_t rounds;                       /* sequential round trips: how often this PE waited for the network */
	uint64_t doorbells;                    /* operations handed to the network; a sequence counts once */
	uint64_t local;                        /* operations on this node's memory; not counted above */
	uint64_t cas_failed;                   /* compare-and-swaps that found another value, remote and local */
	uint64_t allocated, retired, freed;    /* objects allocated; passed to tw_token_defer_delete(); then freed */
	uint64_t advances;                     /* of an epoch, by this PE */
	uint64_t garbage, garbage_most;        /* retired and not yet freed: now, and at most; not reset */
};

TW_API void tw_pgas_stats(struct tw_pgas_stats *stats);
/* tw_pgas_stats_sum - the sums over all PEs (garbage_most: the maximum).  Collective. */
TW_API void tw_pgas_stats_sum(struct tw_pgas_stats *stats);
TW_API void tw_pgas_stats_reset(void);

/* ---- global pointers ------------------------------------------------------------------------------------------
 * Bits 63 to 40: the PE; 39 to 4: the offset in its segment / 16; 3 to 0: free for marks.  16 Mi PEs of 1 TiB each. */

typedef struct {
	uint64_t raw;
} tw_gptr;

#define TW_GPTR_MARKS UINT64_C(15)

static inline tw_gptr tw_gptr_of_raw(uint64_t raw)
{
	tw_gptr p;

	p.raw = raw;
	return p;
}
static inline tw_gptr tw_null(void)
{
	return tw_gptr_of_raw(0);
}
/* tw_is_null - true for a null pointer with any marks.  tw_same - the same pointer with the same marks. */
static inline bool tw_is_null(tw_gptr p)
{
	return (p.raw & ~TW_GPTR_MARKS) == 0;
}
static inline bool tw_same(tw_gptr p, tw_gptr q)
{
	return p.raw == q.raw;
}
static inline unsigned tw_marks(tw_gptr p)
{
	return (unsigned)(p.raw & TW_GPTR_MARKS);
}
static inline tw_gptr tw_marked(tw_gptr p, unsigned marks)
{
	return tw_gptr_of_raw(p.raw | (marks & TW_GPTR_MARKS));
}
static inline tw_gptr tw_unmarked(tw_gptr p)
{
	return tw_gptr_of_raw(p.raw & ~TW_GPTR_MARKS);
}
/* tw_gptr_pe - the PE in whose segment the object is: its affinity. */
static inline unsigned tw_gptr_pe(tw_gptr p)
{
	return (unsigned)(p.raw >> 40);
}
static inline size_t tw_gptr_offset(tw_gptr p)
{
	return (size_t)(p.raw & UINT64_C(0xfffffffff0));
}

/* tw_gptr_local - the object's address if it is in this node's memory, else NULL.  Words that are used atomically must
 * not be stored to through this address.
 * tw_gptr_of - the inverse; null for an address outside the node's segments, or not a multiple of 16. */
TW_API void *tw_gptr_local(tw_gptr p);
TW_API tw_gptr tw_gptr_of(const void *local);

/* ---- reading and writing --------------------------------------------------------------------------------------
 * One access to an object costs less than accesses to each of its fields.  Aligned 8-byte words are never torn; longer
 * objects may be.  Marks in @p are ignored.
 * tw_get - copy @len bytes of the object to @to; 1 round.
 * tw_get_nb - the same, complete after tw_quiet(); several of them cost 1 round.
 * tw_put - copy @len bytes to the object.  @from may be reused on return.  The write is visible to others after
 * tw_quiet(), and to a PE that finds the object through an atomic operation which this PE performed later on the same
 * PE's segment.
 * tw_quiet - wait until this PE's puts are visible everywhere and its gets are complete. */
TW_API void tw_get(tw_gptr p, void *to, size_t len);
TW_API void tw_get_nb(tw_gptr p, void *to, size_t len);
TW_API void tw_put(tw_gptr p, const void *from, size_t len);
TW_API void tw_quiet(void);

/* A sequence: several reads or writes that are handed to the network together [R]. */
struct tw_part {
	tw_gptr object;
	uint32_t offset; /* in the object */
	uint32_t len;
	void *local;
};
/* tw_get_sequence - complete on return: 1 round, 1 doorbell.  tw_put_sequence - as tw_put: 1 doorbell. */
TW_API void tw_get_sequence(const struct tw_part *parts, unsigned n);
TW_API void tw_put_sequence(const struct tw_part *parts, unsigned n);

/* Typed global pointers: TW_GPTR(struct node) p.  p.g is the word; p.t only carries the type and is never dereferenced.
 * tw_read(p, &node), tw_write(p, &node) - the whole object; another type does not compile. */
#define TW_GPTR(type)                                                                                                  \
	union {                                                                                                        \
		tw_gptr g;                                                                                             \
		type *t;                                                                                               \
	}
#define tw_read(p, to)    tw_get((p).g, 0 ? (p).t : (to), sizeof *(p).t)
#define tw_write(p, from) tw_put((p).g, 0 ? (p).t : (from), sizeof *(p).t)

/* ---- atomic words ---------------------------------------------------------------------------------------------
 * An aligned 64-bit field of an object.  Each operation is 1 remote operation and 1 round. */

typedef struct {
	tw_gptr object;
	uint32_t offset;
} tw_word;

static inline tw_word tw_word_at(tw_gptr object, size_t offset)
{
	tw_word w;

	w.object = object;
	w.offset = (uint32_t)offset;
	return w;
}
/* TW_FIELD - the field @member of the @type at @object.  Compiles only if the field has 8 bytes. */
#define TW_FIELD(object, type, member)                                                                                 \
	tw_word_at((object), offsetof(type, member) + 0 * sizeof(char[sizeof(((type *)0)->member) == 8 ? 1 : -1]))

TW_API uint64_t tw_word_load(tw_word w);
TW_API void tw_word_store(tw_word w, uint64_t value); /* visible on return */
TW_API uint64_t tw_word_exchange(tw_word w, uint64_t value);
TW_API uint64_t tw_word_fetch_add(tw_word w, uint64_t value);
/* tw_word_compare_exchange - store @value if the word is @expect.  Returns the previous value. */
TW_API uint64_t tw_word_compare_exchange(tw_word w, uint64_t expect, uint64_t value);

/* ---- allocation ----------------------------------------------------------------------------------------------- */

/* tw_new - allocate @bytes by the job's policy; objects are aligned to 16 bytes.  Contents are unspecified.
 * tw_new_at - in the segment of @pe.
 * No remote operation, except one for each new chunk (64 KiB) in another node's segment.
 * Returns: null when no segment that the policy allows has room. */
TW_API tw_gptr tw_new(size_t bytes);
TW_API tw_gptr tw_new_at(unsigned pe, size_t bytes);

/* tw_delete - free an object at once.  Any PE; the object must not be in use (otherwise: tw_token_defer_delete).
 * Objects of other nodes' PEs are returned in batches: 2 remote operations for 64 objects. */
TW_API void tw_delete(tw_gptr p);

/* A pool: objects of one type.  Its memory is reused only by this pool, so a stale pointer finds an object of the same
 * type.
 * tw_pool_create - collective; @bytes per object.  Returns 0 or -errno.
 * tw_pool_new, tw_pool_new_at - as tw_new, tw_new_at; objects are freed by tw_delete.
 * tw_pool_stamp - a number, not 0, that was never returned before in this job.  Stored in an object at allocation, it
 * distinguishes the object from earlier ones at the same place ("generation"). */
struct tw_pool;
TW_API int tw_pool_create(size_t bytes, struct tw_pool **pool);
TW_API tw_gptr tw_pool_new(struct tw_pool *pool);
TW_API tw_gptr tw_pool_new_at(struct tw_pool *pool, unsigned pe);
TW_API uint64_t tw_pool_stamp(void);
TW_API void tw_pool_destroy(struct tw_pool *pool); /* collective; its objects stay valid, its memory is not reused */

/* Roots: TW_ROOTS words that all PEs can access, initially null [R].  They are in PE 0's segment.  tw_root_set is
 * visible on return. */
#define TW_ROOTS 64u
TW_API void tw_root_set(unsigned slot, tw_gptr p);
TW_API tw_gptr tw_root_get(unsigned slot);

/* ---- AtomicObject [DJ, section II.A] ---------------------------------------------------------------------------
 * A pointer that is changed atomically.  tw_atomic_object is one word; each operation is 1 remote operation.
 * tw_aba_object is {pointer, counter}, 128 bits.  Both the ABA forms and the plain forms increment the counter with
 * every change, so a compare-and-swap that includes the counter fails when the pointer was changed and restored.  A CPU
 * changes it: 1 remote operation, a message to the agent of the owner's node. */

typedef struct {
	tw_word word;
} tw_atomic_object;

/* tw_atomic_object_at - the word @offset bytes into @object, which holds a raw pointer; for fields: {TW_FIELD(...)}.
 * tw_atomic_object_create - a new one, null, in @pe's segment. .word.object is null when there is no memory. */
TW_API tw_atomic_object tw_atomic_object_create(unsigned pe);
static inline tw_atomic_object tw_atomic_object_at(tw_gptr object, size_t offset)
{
	tw_atomic_object o;

	o.word = tw_word_at(object, offset);
	return o;
}
static inline tw_gptr tw_atomic_object_read(tw_atomic_object o)
{
	return tw_gptr_of_raw(tw_word_load(o.word));
}
static inline void tw_atomic_object_write(tw_atomic_object o, tw_gptr p)
{
	tw_word_store(o.word, p.raw);
}
static inline tw_gptr tw_atomic_object_exchange(tw_atomic_object o, tw_gptr p)
{
	return tw_gptr_of_raw(tw_word_exchange(o.word, p.raw));
}
static inline bool tw_atomic_object_compare_exchange(tw_atomic_object o, tw_gptr expect, tw_gptr p)
{
	return tw_word_compare_exchange(o.word, expect.raw, p.raw) == expect.raw;
}

/* The wide form: 16 aligned bytes of an object. */
typedef struct {
	uint64_t low, high;
} tw_wide;
TW_API tw_wide tw_wide_load(tw_gptr at);
TW_API void tw_wide_store(tw_gptr at, tw_wide value);
TW_API tw_wide tw_wide_exchange(tw_gptr at, tw_wide value);
/* tw_wide_compare_exchange - store @value if the current value equals @expect.  Returns the previous value. */
TW_API tw_wide tw_wide_compare_exchange(tw_gptr at, tw_wide expect, tw_wide value);

typedef struct {
	tw_gptr at;
} tw_aba_object;
typedef struct {
	tw_gptr object;
	uint64_t count;
} tw_aba;

TW_API tw_aba_object tw_aba_object_create(unsigned pe);
/* The four ABA forms.  write_aba and exchange_aba use only the pointer of @value; the counter is incremented. */
TW_API tw_aba tw_aba_object_read_aba(tw_aba_object o);
TW_API void tw_aba_object_write_aba(tw_aba_object o, tw_aba value);
TW_API tw_aba tw_aba_object_exchange_aba(tw_aba_object o, tw_aba value);
TW_API bool tw_aba_object_compare_exchange_aba(tw_aba_object o, tw_aba expect, tw_gptr p);
/* The plain forms on the same object. */
TW_API tw_gptr tw_aba_object_read(tw_aba_object o);
TW_API void tw_aba_object_write(tw_aba_object o, tw_gptr p);
TW_API tw_gptr tw_aba_object_exchange(tw_aba_object o, tw_gptr p);
TW_API bool tw_aba_object_compare_exchange(tw_aba_object o, tw_gptr expect, tw_gptr p);

/* LocalAtomicObject: the same for addresses of this process, on any thread. */
typedef struct {
	void *object;
} tw_local_atomic_object;
static inline void *tw_local_atomic_object_read(tw_local_atomic_object *o)
{
	return __atomic_load_n(&o->object, __ATOMIC_SEQ_CST);
}
static inline void tw_local_atomic_object_write(tw_local_atomic_object *o, void *p)
{
	__atomic_store_n(&o->object, p, __ATOMIC_SEQ_CST);
}
static inline void *tw_local_atomic_object_exchange(tw_local_atomic_object *o, void *p)
{
	return __atomic_exchange_n(&o->object, p, __ATOMIC_SEQ_CST);
}
static inline bool tw_local_atomic_object_compare_exchange(tw_local_atomic_object *o, void *expect, void *p)
{
	return __atomic_compare_exchange_n(&o->object, &expect, p, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

typedef struct {
	void *object;
	uint64_t count;
} __attribute__((aligned(16))) tw_local_aba;
typedef tw_local_aba tw_local_aba_object;
TW_API tw_local_aba tw_local_aba_object_read_aba(tw_local_aba_object *o);
TW_API void tw_local_aba_object_write_aba(tw_local_aba_object *o, tw_local_aba value);
TW_API tw_local_aba tw_local_aba_object_exchange_aba(tw_local_aba_object *o, tw_local_aba value);
TW_API bool tw_local_aba_object_compare_exchange_aba(tw_local_aba_object *o, tw_local_aba expect, void *p);
TW_API void *tw_local_aba_object_read(tw_local_aba_object *o);
TW_API void tw_local_aba_object_write(tw_local_aba_object *o, void *p);
TW_API void *tw_local_aba_object_exchange(tw_local_aba_object *o, void *p);
TW_API bool tw_local_aba_object_compare_exchange(tw_local_aba_object *o, void *expect, void *p);

/* ---- EpochManager [DJ, section II.C] ---------------------------------------------------------------------------
 * Determines when an unlinked object can no longer be in use.  A PE follows pointers to shared objects only between pin
 * and unpin of a token, and passes each object that it has unlinked to defer_delete.  Each PE has its own instance:
 * pin, unpin and defer_delete are no remote operations.  Any PE can advance the epoch, without an election.  A stopped
 * PE only delays reclamation.  The rule differs from the paper's, which frees too early: doc/internals/pgas.md. */

struct tw_epoch;
struct tw_token;

struct tw_epoch_options {
	unsigned tokens;        /* that each PE can have registered at once; 0: 16; at most 64 */
	unsigned advance_every; /* every so many calls of defer_delete try to reclaim; 0: 128; UINT32_MAX: none */
	size_t garbage_most;    /* objects that a PE may have retired and not freed; 0: 1 Mi */
};

/* tw_epoch_create - collective; @options are equal on all PEs; NULL: defaults.  Returns 0; -EINVAL, -ENOMEM, each with
 * a sentence on standard error. */
TW_API int tw_epoch_create(const struct tw_epoch_options *options, struct tw_epoch **epoch);
/* tw_epoch_destroy - clear, then free the manager.  Collective; no token may be registered. */
TW_API void tw_epoch_destroy(struct tw_epoch *epoch);

/* tw_epoch_register - a token of this PE.  Returns: NULL with errno EAGAIN when all are registered.
 * tw_token_unregister - the token must not be pinned.  Objects that it retired are still freed.  NULL is allowed. */
TW_API struct tw_token *tw_epoch_register(struct tw_epoch *epoch);
TW_API void tw_token_unregister(struct tw_token *token);
static inline void tw_token_cleanup(struct tw_token **token)
{
	tw_token_unregister(*token);
}
/* TW_TOKEN(token, epoch); - declare a token that is unregistered at the end of its scope. */
#define TW_TOKEN(name, epoch)                                                                                          \
	__attribute__((cleanup(tw_token_cleanup))) struct tw_token *name = tw_epoch_register(epoch)

/* tw_token_pin, tw_token_unpin - enter and leave a section; they nest.  The outermost unpin completes the section's
 * remote operations. */
TW_API void tw_token_pin(struct tw_token *token);
TW_API void tw_token_unpin(struct tw_token *token);
/* tw_token_defer_delete - retire @p, an object of any PE that no shared pointer leads to any more: tw_delete() it when
 * no section can be using it.  Once per object.
 * Returns: 0; -EAGAIN when garbage_most objects are retired: retry after other PEs had time to leave their sections. */
TW_API int tw_token_defer_delete(struct tw_token *token, tw_gptr p);
/* tw_token_try_reclaim, tw_epoch_try_reclaim - advance the epoch if all sections allow it, and free what is old enough.
 * At most 2 remote operations for each other PE, and 2 for the epoch.  Returns: the number of objects freed. */
TW_API int64_t tw_token_try_reclaim(struct tw_token *token);
TW_API int64_t tw_epoch_try_reclaim(struct tw_epoch *epoch);
/* tw_epoch_clear - free all retired objects of all PEs.  Collective; no token may be pinned. */
TW_API void tw_epoch_clear(struct tw_epoch *epoch);
/* tw_epoch_fence - ignore the sections of @pe from now on, on all PEs.  @pe must be dead and unable to access the job's
 * memory: its process has ended, its connections are closed.  A PE that is only slow would find its objects freed.
 * Objects that it had retired are lost.  1 remote operation.  Not needed where tw_pe_lives() is false. */
TW_API void tw_epoch_fence(struct tw_epoch *epoch, unsigned pe);
/* tw_epoch_now - the epoch as this PE knows it, for tests. */
TW_API uint64_t tw_epoch_now(struct tw_epoch *epoch);

/* LocalEpochManager: the same for the threads of a process and their private memory.  Each thread that uses it needs
 * its own token. */
struct tw_local_epoch;

struct tw_local_epoch_options {
	unsigned advance_every;     /* as above */
	size_t garbage_most;        /* of a token; 0: 1 Mi */
	void (*free)(void *object); /* NULL: the C library's */
};

/* The fields that the inline pin and unpin need, so that each is a store and a load.  The rest is private. */
struct tw_local_token {
	uint64_t slot; /* 0, or epoch << 1 | 1 */
	unsigned nest;
	bool fence; /* there is no membarrier(2): pin itself needs a fence */
	const uint64_t *now;
	struct tw_local_bag *bag;
	struct tw_local_epoch *epoch;
} __attribute__((aligned(64)));

TW_API int tw_local_epoch_create(const struct tw_local_epoch_options *options, struct tw_local_epoch **epoch);
TW_API void tw_local_epoch_destroy(struct tw_local_epoch *epoch);
TW_API struct tw_local_token *tw_local_epoch_register(struct tw_local_epoch *epoch);
TW_API void tw_local_token_unregister(struct tw_local_token *token);
static inline void tw_local_token_cleanup(struct tw_local_token **token)
{
	tw_local_token_unregister(*token);
}
#define TW_LOCAL_TOKEN(name, epoch)                                                                                    \
	__attribute__((cleanup(tw_local_token_cleanup))) struct tw_local_token *name = tw_local_epoch_register(epoch)

static inline void tw_local_token_pin(struct tw_local_token *token)
{
	if (token->nest++)
		return;
	__atomic_store_n(&token->slot, __atomic_load_n(token->now, __ATOMIC_ACQUIRE) << 1 | 1, __ATOMIC_RELAXED);
	if (__builtin_expect(token->fence, false))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST); /* advancing the epoch makes this processor fence */
}
static inline void tw_local_token_unpin(struct tw_local_token *token)
{
	if (--token->nest == 0)
		__atomic_store_n(&token->slot, 0, __ATOMIC_RELEASE);
}
TW_API int tw_local_token_defer_delete(struct tw_local_token *token, void *object);
TW_API int64_t tw_local_token_try_reclaim(struct tw_local_token *token);
/* tw_local_epoch_clear - free all retired objects.  No other thread may use the manager meanwhile. */
TW_API void tw_local_epoch_clear(struct tw_local_epoch *epoch);
TW_API uint64_t tw_local_epoch_garbage(struct tw_local_epoch *epoch);

/* ---- containers ------------------------------------------------------------------------------------------------
 * One PE creates a container; every PE attaches a handle of its own, which holds its caches.  Operations pin and unpin
 * the token themselves.  In local forms, the token is a struct tw_local_token, each thread attaches a handle, and roots
 * are addresses of the process. */

struct tw_container_options {
	unsigned pe;       /* the PE whose segment holds the container's own words */
	unsigned nodes_pe; /* 1 + the PE whose segment holds its objects; 0: by the job's policy */
	uint64_t keys;     /* expected number of keys or elements, which sizes tables and rings; 0: 4096 */
};

struct tw_map;

/* Sets and maps of 64-bit keys and 64-bit values.  UINT64_MAX is neither a key nor a value. */
struct tw_map_ops {
	const char *name, *help;
	bool local; /* tokens and roots belong to this process */

	/* create - a new empty container; @root may be published by tw_root_set().  Returns 0, -ENOMEM. */
	int (*create)(const struct tw_container_options *options, tw_gptr *root);
	/* attach - a handle on the container at @root.  @options as for create.  @token: of this PE (thread),
	 * registered as long as the handle is used.  Returns 0, -ENOMEM. */
	int (*attach)(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_map **map);
	void (*detach)(struct tw_map *map);
	/* get - 1 and *value (unless NULL) if @key is present, else 0.
	 * insert - 1 if @key was absent and has been added; else 0, without a change.
	 * remove - 1 and *value (unless NULL) if @key was present and has been removed; else 0.
	 * Linearizable.  insert and remove return -EAGAIN or -ENOMEM, without a change, when garbage or memory is at
	 * its limit. */
	int (*get)(struct tw_map *map, uint64_t key, uint64_t *value);
	int (*insert)(struct tw_map *map, uint64_t key, uint64_t value);
	int (*remove)(struct tw_map *map, uint64_t key, uint64_t *value);
	/* destroy - by one handle, which is detached; no other handle may use the map any more. */
	void (*destroy)(struct tw_map *map);
};

TW_API extern const struct tw_map_ops tw_lazy_list;       /* sorted; updates lock, get is wait-free [R] */
TW_API extern const struct tw_map_ops tw_harris_list;     /* sorted, lock-free: Harris, Michael */
TW_API extern const struct tw_map_ops tw_hinted_list;     /* with validated hints: 2 reads, not half the list */
TW_API extern const struct tw_map_ops tw_hash_map;        /* a key keeps its slot for ever: 1 operation each */
TW_API extern const struct tw_map_ops tw_interlocked_map; /* buckets that grow into tables */
TW_API extern const struct tw_map_ops tw_local_lazy_list, tw_local_harris_list, tw_local_hinted_list, tw_local_hash_map,
    tw_local_interlocked_map;

/* tw_map_find - by name, "lazy-list"; NULL: unknown.  tw_map_list - all, NULL-ended. */
TW_API const struct tw_map_ops *tw_map_find(const char *name);
TW_API const struct tw_map_ops *const *tw_map_list(void);

/* tw_hash_map_exchange, tw_local_hash_map_exchange - for a handle of tw_hash_map, tw_local_hash_map: set the value of
 * @key to @value; UINT64_MAX removes the key.  *old is the previous value, or UINT64_MAX if there was none.
 * Returns 0, or an error as insert. */
TW_API int tw_hash_map_exchange(struct tw_map *map, uint64_t key, uint64_t value, uint64_t *old);
TW_API int tw_local_hash_map_exchange(struct tw_map *map, uint64_t key, uint64_t value, uint64_t *old);

struct tw_queue;

/* Stacks and queues of 64-bit values. */
struct tw_queue_ops {
	const char *name, *help;
	bool local, lifo;
	int (*create)(const struct tw_container_options *options, tw_gptr *root);
	int (*attach)(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_queue **queue);
	void (*detach)(struct tw_queue *queue);
	/* push - 1; 0 when full (rings only); -EAGAIN, -ENOMEM as above.  pop - 1 and *value; 0 when empty.
	 * Linearizable. */
	int (*push)(struct tw_queue *queue, uint64_t value);
	int (*pop)(struct tw_queue *queue, uint64_t *value);
	void (*destroy)(struct tw_queue *queue);
};

TW_API extern const struct tw_queue_ops tw_treiber_stack;       /* lock-free */
TW_API extern const struct tw_queue_ops tw_michael_scott_queue; /* lock-free */
TW_API extern const struct tw_queue_ops tw_ring_queue;          /* bounded; a stopped PE can block others */
TW_API extern const struct tw_queue_ops tw_local_treiber_stack, tw_local_michael_scott_queue, tw_local_ring_queue;

TW_API const struct tw_queue_ops *tw_queue_find(const char *name);
TW_API const struct tw_queue_ops *const *tw_queue_list(void);

#ifdef __cplusplus
}
#endif
#endif
