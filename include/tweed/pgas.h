/* SPDX-License-Identifier: BSD-3-Clause */
/* pgas.h - a partitioned global address space: global pointers, atomics, epoch-based reclamation, non-blocking
 * containers.
 *
 * The job's processors are its processing elements (PE).  Each has a segment that all others can read, write and change
 * atomically, without its help; objects live there, and a global pointer, one 64-bit word, names them.  Programs are
 * started by `tweed run`, or by hand as the only PE.  This layer needs nothing of tweed.h, and may be used beside it
 * and beside OpenSHMEM.
 *
 * Context: unless said otherwise, a function is called by the PE's one application thread, between tw_pgas_init() and
 * tw_pgas_finalize(), and not from a signal handler; the tw_local_ types are for all threads of a process, and need no
 * job. Functions that return int give 0, or -errno and one sentence on standard error where a person must mend
 * something; a mistaken call (a null or wild pointer, an unregistered token) ends the job with a sentence.
 *
 * Costs are stated in remote operations: what goes to another node.  An object of the same node is plain memory, and
 * costs none. tw_pgas_stats() counts them.
 *
 * Sources: Dewan and Jenkins, "Paving the way for Distributed Non-Blocking Algorithms and Data Structures in the PGAS
 * model" [DJ]; the tutorial of Remus [R].  doc/internals/pgas.md says where and why this differs. */
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

/* Where tw_new() puts objects [R].  "All" are the memory PEs of the job, "here" those of this node, or all where it has
 * none. */
enum tw_place {
	TW_PLACE_OWN,        /* this PE's segment, when it is a memory PE; else as LOCAL_MOD */
	TW_PLACE_RAND,       /* any of all */
	TW_PLACE_GLOBAL_RR,  /* all in turn */
	TW_PLACE_GLOBAL_MOD, /* always the same of all, this PE's number modulo theirs */
	TW_PLACE_LOCAL_RR,   /* those here in turn */
	TW_PLACE_LOCAL_MOD,  /* always the same one here */
};

/* Which connection an operation takes [R].  A PE has one thread, and one connection to each node, so that all of these
 * are the same one; they are here so that a program of Remus finds its options. */
enum tw_lane { TW_LANE_ONE_TO_ONE, TW_LANE_RAND, TW_LANE_RR, TW_LANE_MOD };

/* Who executes atomics on the words of segments: a property of the segments, fixed when they are made, never of the
 * call.  The network decides: CPU where its atomics and the processor's may meet on one word, else NIC, also for words
 * of the own node.  128-bit words (tw_wide) are always changed by a CPU, the owner node's agent for other nodes. */
enum tw_agent { TW_AGENT_AUTO, TW_AGENT_CPU, TW_AGENT_NIC };

/* Zeroes are the defaults.  Equal on all PEs. */
struct tw_pgas_options {
	size_t bytes;             /* of each segment for this layer; half of TWEED_SEGMENT */
	unsigned memory_pes;      /* how many PEs have objects; 0: all */
	unsigned memory_first;    /* the first of them */
	unsigned compute_pes;     /* how many PEs compute; 0: all.  The others serve: tw_pgas_computes() is false for them */
	unsigned compute_first;
	enum tw_place place;      /* of tw_new() */
	enum tw_lane lane;
	enum tw_agent agent;      /* not AUTO: refuse to run where the network gives another one */
	uint64_t seed;            /* of TW_PLACE_RAND */
};

/* tw_pgas_init - join the job.  Collective; before or after tw_init(), if that is used.
 * @options: NULL: all defaults.
 * Returns: 0; -EINVAL, -ENOMEM, -ENOTSUP, logged.  Ends the process with status 2 and a sentence where the environment is
 * damaged. */
TW_API int tw_pgas_init(const struct tw_pgas_options *options);

/* tw_pgas_finalize - leave.  Collective; a quiet and a barrier.  Segments are gone afterwards. */
TW_API void tw_pgas_finalize(void);

/* tw_pe, tw_pes - this PE's number, 0 to tw_pes() - 1; how many there are.  tw_pgas_computes - is this a compute PE?
 * The others need only take part in what is collective.  tw_pgas_compute_pes - how many compute.  tw_pgas_agent - who
 * executes atomics. */
TW_API unsigned tw_pe(void);
TW_API unsigned tw_pes(void);
TW_API bool tw_pgas_computes(void);
TW_API unsigned tw_pgas_compute_pes(void);
TW_API enum tw_agent tw_pgas_agent(void);

/* tw_pe_lives - false: @pe is dead, as `tweed run --survive` allows: its process has ended, and nothing of it reaches any memory any
 * more.  Its segment stays, with what is in it; what it had retired, locked or taken for itself is lost.
 * tw_pe_lost - its node is dead as well, and its segment is gone: whoever reads, writes or changes what was there is ended with a
 * sentence; tw_new() chooses other segments, tw_new_at() answers null, tw_delete() and reclamation pass over what was there. */
TW_API bool tw_pe_lives(unsigned pe);
TW_API bool tw_pe_lost(unsigned pe);

/* tw_control_barrier - wait until all PEs that live are here; what a PE has put is visible to all afterwards [R]. */
TW_API void tw_control_barrier(void);

/* Operations since tw_pgas_init() or the last tw_pgas_stats_reset(), of this PE. */
struct tw_pgas_stats {
	uint64_t get, put, cas, faa, swap, am;  /* remote operations */
	uint64_t get_bytes, put_bytes;          /* of the first two */
	uint64_t rounds;                        /* round trips one after the other: how often this PE waited for the network */
	uint64_t doorbells;                     /* how often operations were handed to the network; a sequence counts once */
	uint64_t local;                         /* operations on this node's memory, which cost none of the above */
	uint64_t cas_failed;                    /* compare-and-swaps that found another value, remote and local */
	uint64_t allocated, retired, freed;     /* objects: tw_new(), tw_token_defer_delete(), and what became of it */
	uint64_t advances;                      /* of an epoch, by this PE */
	uint64_t garbage, garbage_most;         /* retired and not yet freed, now and at most; not reset */
};

TW_API void tw_pgas_stats(struct tw_pgas_stats *stats);
/* tw_pgas_stats_sum - summed over all PEs (garbage_most: the greatest).  Collective. */
TW_API void tw_pgas_stats_sum(struct tw_pgas_stats *stats);
TW_API void tw_pgas_stats_reset(void);

/* ---- global pointers ------------------------------------------------------------------------------------------
 * bits 63 to 40 the PE, 39 to 4 the offset in its segment / 16, 3 to 0 free for marks: 16 Mi PEs of 1 TiB each. */

typedef struct { uint64_t raw; } tw_gptr;

#define TW_GPTR_MARKS UINT64_C(15)

static inline tw_gptr tw_gptr_of_raw(uint64_t raw)
{
	tw_gptr p;

	p.raw = raw;
	return p;
}
static inline tw_gptr tw_null(void) { return tw_gptr_of_raw(0); }
/* tw_is_null - nothing but marks.  tw_same - the same pointer with the same marks. */
static inline bool tw_is_null(tw_gptr p) { return (p.raw & ~TW_GPTR_MARKS) == 0; }
static inline bool tw_same(tw_gptr p, tw_gptr q) { return p.raw == q.raw; }
static inline unsigned tw_marks(tw_gptr p) { return (unsigned)(p.raw & TW_GPTR_MARKS); }
static inline tw_gptr tw_marked(tw_gptr p, unsigned marks) { return tw_gptr_of_raw(p.raw | (marks & TW_GPTR_MARKS)); }
static inline tw_gptr tw_unmarked(tw_gptr p) { return tw_gptr_of_raw(p.raw & ~TW_GPTR_MARKS); }
/* tw_gptr_pe - the PE in whose segment it is: its affinity. */
static inline unsigned tw_gptr_pe(tw_gptr p) { return (unsigned)(p.raw >> 40); }
static inline size_t tw_gptr_offset(tw_gptr p) { return (size_t)(p.raw & UINT64_C(0xfffffffff0)); }

/* tw_gptr_local - the object's address where loads and stores reach it (this node's memory), else NULL.  Words that are
 * used atomically must not be stored to through it.  tw_gptr_of - the other way; null for an address outside of the
 * node's segments, or not a multiple of 16. */
TW_API void *tw_gptr_local(tw_gptr p);
TW_API tw_gptr tw_gptr_of(const void *local);

/* ---- reading and writing --------------------------------------------------------------------------------------
 * Whole objects travel better than their fields.  Aligned 8-byte words are never torn; longer objects may be.
 * tw_get - @len bytes of the object to @to; 1 round.  tw_get_nb - the same, done after tw_quiet(): several cost 1
 * round.
 * tw_put - @from may be reused on return; visible to others after tw_quiet(), and to whoever finds the object through
 * an atomic operation that this PE did later on the same PE's segment.
 * tw_quiet - puts are visible everywhere, gets done. Marks in @p are ignored. */
TW_API void tw_get(tw_gptr p, void *to, size_t len);
TW_API void tw_get_nb(tw_gptr p, void *to, size_t len);
TW_API void tw_put(tw_gptr p, const void *from, size_t len);
TW_API void tw_quiet(void);

/* A sequence: several reads or writes handed to the network together [R]. */
struct tw_part {
	tw_gptr object;
	uint32_t offset; /* in the object */
	uint32_t len;
	void *local;
};
/* tw_get_sequence - done on return: 1 round, 1 doorbell.  tw_put_sequence - as tw_put: 1 doorbell. */
TW_API void tw_get_sequence(const struct tw_part *parts, unsigned n);
TW_API void tw_put_sequence(const struct tw_part *parts, unsigned n);

/* Typed global pointers: TW_GPTR(struct node) p; p.g is the word, p.t is never followed, it only has the type.
 * tw_read(p, &node), tw_write(p, &node) - the whole object; the compiler refuses another type. */
#define TW_GPTR(type) union { tw_gptr g; type *t; }
#define tw_read(p, to) tw_get((p).g, 0 ? (p).t : (to), sizeof *(p).t)
#define tw_write(p, from) tw_put((p).g, 0 ? (p).t : (from), sizeof *(p).t)

/* ---- atomic words ---------------------------------------------------------------------------------------------
 * An aligned 64-bit field of an object.  Each operation is 1 remote operation and 1 round. */

typedef struct { tw_gptr object; uint32_t offset; } tw_word;

static inline tw_word tw_word_at(tw_gptr object, size_t offset)
{
	tw_word w;

	w.object = object;
	w.offset = (uint32_t)offset;
	return w;
}
/* TW_FIELD - the field @member of the @type at @object; it must have 8 bytes. */
#define TW_FIELD(object, type, member) \
	tw_word_at((object), offsetof(type, member) + 0 * sizeof(char[sizeof(((type *)0)->member) == 8 ? 1 : -1]))

TW_API uint64_t tw_word_load(tw_word w);
TW_API void tw_word_store(tw_word w, uint64_t value); /* visible on return */
TW_API uint64_t tw_word_exchange(tw_word w, uint64_t value);
TW_API uint64_t tw_word_fetch_add(tw_word w, uint64_t value);
/* tw_word_compare_exchange - @value if the word is @expect.  Returns what it was. */
TW_API uint64_t tw_word_compare_exchange(tw_word w, uint64_t expect, uint64_t value);

/* ---- allocation ----------------------------------------------------------------------------------------------- */

/* tw_new - @bytes, a multiple of 16 apart and aligned, by the job's policy; contents are unspecified.  tw_new_at - in
 * the segment of @pe.  No remote operation, but one for each chunk (64 KiB) of another node that this PE begins.
 * Returns: null when no segment that the policy allows has room. */
TW_API tw_gptr tw_new(size_t bytes);
TW_API tw_gptr tw_new_at(unsigned pe, size_t bytes);

/* tw_delete - give the object back at once: nobody may use it any more (else: tw_token_defer_delete).  Any PE.  Objects
 * of other nodes' PEs go home in batches: 2 remote operations for 64. */
TW_API void tw_delete(tw_gptr p);

/* A pool: objects of one type.  Its memory is used again for this pool alone, so that a stale pointer finds an object
 * of the same type.  tw_pool_create - collective; @bytes of each object.  tw_pool_new, tw_pool_new_at, tw_delete - as
 * above.
 * tw_pool_stamp - a number that no object of the job has had yet, not 0: written into an object when it is allocated,
 * it tells its lives apart ("generation"). */
struct tw_pool;
TW_API int tw_pool_create(size_t bytes, struct tw_pool **pool);
TW_API tw_gptr tw_pool_new(struct tw_pool *pool);
TW_API tw_gptr tw_pool_new_at(struct tw_pool *pool, unsigned pe);
TW_API uint64_t tw_pool_stamp(void);
TW_API void tw_pool_destroy(struct tw_pool *pool); /* collective; its objects stay valid, its memory is not used again */

/* Roots: TW_ROOTS words that all PEs know, null at first [R].  They are words of PE 0.  tw_root_set - visible on
 * return. */
#define TW_ROOTS 64u
TW_API void tw_root_set(unsigned slot, tw_gptr p);
TW_API tw_gptr tw_root_get(unsigned slot);

/* ---- AtomicObject [DJ, section II.A] ---------------------------------------------------------------------------
 * A pointer that is changed atomically.  tw_atomic_object is one word: each operation is 1 remote operation.
 * tw_aba_object is {pointer, counter}, 128 bits: every change counts, by either kind of form, so that a
 * compare-and-swap by the counter fails when the pointer came back.  It is changed by a CPU: 1 remote operation, a
 * message to the owner's agent. */

typedef struct { tw_word word; } tw_atomic_object;

/* tw_atomic_object_at - the word @offset bytes into @object, which holds a raw pointer; for fields: {TW_FIELD(...)}.
 * tw_atomic_object_create - a new one, null, in @pe's segment.  Null .word.object: no memory. */
TW_API tw_atomic_object tw_atomic_object_create(unsigned pe);
static inline tw_atomic_object tw_atomic_object_at(tw_gptr object, size_t offset)
{
	tw_atomic_object o;

	o.word = tw_word_at(object, offset);
	return o;
}
static inline tw_gptr tw_atomic_object_read(tw_atomic_object o) { return tw_gptr_of_raw(tw_word_load(o.word)); }
static inline void tw_atomic_object_write(tw_atomic_object o, tw_gptr p) { tw_word_store(o.word, p.raw); }
static inline tw_gptr tw_atomic_object_exchange(tw_atomic_object o, tw_gptr p)
{
	return tw_gptr_of_raw(tw_word_exchange(o.word, p.raw));
}
static inline bool tw_atomic_object_compare_exchange(tw_atomic_object o, tw_gptr expect, tw_gptr p)
{
	return tw_word_compare_exchange(o.word, expect.raw, p.raw) == expect.raw;
}

/* The wide form: 16 aligned bytes of an object, for what does not fit into a word. */
typedef struct { uint64_t low, high; } tw_wide;
TW_API tw_wide tw_wide_load(tw_gptr at);
TW_API void tw_wide_store(tw_gptr at, tw_wide value);
TW_API tw_wide tw_wide_exchange(tw_gptr at, tw_wide value);
/* Returns what was there; @value is stored if that equals @expect. */
TW_API tw_wide tw_wide_compare_exchange(tw_gptr at, tw_wide expect, tw_wide value);

typedef struct { tw_gptr at; } tw_aba_object;
typedef struct { tw_gptr object; uint64_t count; } tw_aba;

TW_API tw_aba_object tw_aba_object_create(unsigned pe);
/* The four ABA forms.  write_aba, exchange_aba take only the pointer of a tw_aba, the counter goes on. */
TW_API tw_aba tw_aba_object_read_aba(tw_aba_object o);
TW_API void tw_aba_object_write_aba(tw_aba_object o, tw_aba value);
TW_API tw_aba tw_aba_object_exchange_aba(tw_aba_object o, tw_aba value);
TW_API bool tw_aba_object_compare_exchange_aba(tw_aba_object o, tw_aba expect, tw_gptr p);
/* The plain forms on the same object. */
TW_API tw_gptr tw_aba_object_read(tw_aba_object o);
TW_API void tw_aba_object_write(tw_aba_object o, tw_gptr p);
TW_API tw_gptr tw_aba_object_exchange(tw_aba_object o, tw_gptr p);
TW_API bool tw_aba_object_compare_exchange(tw_aba_object o, tw_gptr expect, tw_gptr p);

/* LocalAtomicObject: the same for addresses of this process, any thread. */
typedef struct { void *object; } tw_local_atomic_object;
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

typedef struct { void *object; uint64_t count; } __attribute__((aligned(16))) tw_local_aba;
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
 * Decides when nobody can be using an unlinked object any more.  Who follows pointers to shared objects does so between
 * pin and unpin of a token; who has unlinked an object gives it to defer_delete.  Each PE has an instance of its own:
 * pin, unpin and defer_delete have no remote operation.  Any PE advances the epoch, without an election: a stopped one
 * delays reclamation, and nothing else.  The rule is not the paper's, which frees too early: doc/internals/pgas.md. */

struct tw_epoch;
struct tw_token;

struct tw_epoch_options {
	unsigned tokens;       /* each PE may have registered at once; 0: 16; at most 64 */
	unsigned advance_every; /* defer_delete tries to reclaim after so many; 0: 128; UINT32_MAX: never by itself */
	size_t garbage_most;   /* objects a PE may have retired and not freed; 0: 1 Mi */
};

/* tw_epoch_create - collective; @options equal on all PEs, NULL: defaults.  Returns 0; -EINVAL, -ENOMEM, logged. */
TW_API int tw_epoch_create(const struct tw_epoch_options *options, struct tw_epoch **epoch);
/* tw_epoch_destroy - clear, then give back.  Collective; no token is registered. */
TW_API void tw_epoch_destroy(struct tw_epoch *epoch);

/* tw_epoch_register - a token of this PE.  Returns: NULL when all are registered (errno EAGAIN).
 * tw_token_unregister - it must not be pinned; what it retired is still freed.  NULL is allowed. */
TW_API struct tw_token *tw_epoch_register(struct tw_epoch *epoch);
TW_API void tw_token_unregister(struct tw_token *token);
static inline void tw_token_cleanup(struct tw_token **token) { tw_token_unregister(*token); }
/* TW_TOKEN(token, epoch); - declares one that unregisters itself at the end of its scope. */
#define TW_TOKEN(name, epoch) \
	__attribute__((cleanup(tw_token_cleanup))) struct tw_token *name = tw_epoch_register(epoch)

/* tw_token_pin, tw_token_unpin - enter and leave a section; they nest.  unpin completes the section's remote
 * operations. */
TW_API void tw_token_pin(struct tw_token *token);
TW_API void tw_token_unpin(struct tw_token *token);
/* tw_token_defer_delete - @p, of any PE, is unlinked for everybody; tw_delete() it when nobody can be using it.  Once
 * for each object.
 * Returns: 0; -EAGAIN when garbage_most objects wait: try again after other PEs had time to leave their sections. */
TW_API int tw_token_defer_delete(struct tw_token *token, tw_gptr p);
/* tw_token_try_reclaim, tw_epoch_try_reclaim - advance the epoch if all sections allow it, and free what is old enough.
 * At most 2 remote operations for each other PE, and 2 for the epoch.  Returns: how many objects were freed. */
TW_API int64_t tw_token_try_reclaim(struct tw_token *token);
TW_API int64_t tw_epoch_try_reclaim(struct tw_epoch *epoch);
/* tw_epoch_clear - free all that was retired, on all PEs.  Collective; nobody is pinned. */
TW_API void tw_epoch_clear(struct tw_epoch *epoch);
/* tw_epoch_fence - @pe is dead, and can access no memory of the job any more (its process has ended, its connections
 * are closed): ignore its sections from now on, on all PEs.  What it had retired is lost.  1 remote operation.  Never
 * on suspicion: a PE that is only slow would find its objects freed.  Not needed where tw_pe_lives() says so. */
TW_API void tw_epoch_fence(struct tw_epoch *epoch, unsigned pe);
/* tw_epoch_now - the epoch as this PE knows it, for tests and curiosity. */
TW_API uint64_t tw_epoch_now(struct tw_epoch *epoch);

/* LocalEpochManager: the same for the threads of a process and memory of its own.  One token for each thread that uses
 * it. */
struct tw_local_epoch;

struct tw_local_epoch_options {
	unsigned advance_every;         /* as above */
	size_t garbage_most;            /* of a token; 0: 1 Mi */
	void (*free)(void *object);     /* NULL: the C library's */
};

/* What pin and unpin need is here, so that they are a store and a load each; the rest is private. */
struct tw_local_token {
	uint64_t slot; /* 0, or epoch << 1 | 1 */
	unsigned nest;
	bool fence; /* this system has no membarrier(2): pin must order by itself */
	const uint64_t *now;
	struct tw_local_bag *bag;
	struct tw_local_epoch *epoch;
} __attribute__((aligned(64)));

TW_API int tw_local_epoch_create(const struct tw_local_epoch_options *options, struct tw_local_epoch **epoch);
TW_API void tw_local_epoch_destroy(struct tw_local_epoch *epoch);
TW_API struct tw_local_token *tw_local_epoch_register(struct tw_local_epoch *epoch);
TW_API void tw_local_token_unregister(struct tw_local_token *token);
static inline void tw_local_token_cleanup(struct tw_local_token **token) { tw_local_token_unregister(*token); }
#define TW_LOCAL_TOKEN(name, epoch) \
	__attribute__((cleanup(tw_local_token_cleanup))) struct tw_local_token *name = tw_local_epoch_register(epoch)

static inline void tw_local_token_pin(struct tw_local_token *token)
{
	if (token->nest++)
		return;
	__atomic_store_n(&token->slot, __atomic_load_n(token->now, __ATOMIC_ACQUIRE) << 1 | 1, __ATOMIC_RELAXED);
	if (__builtin_expect(token->fence, false))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST); /* who advances makes this processor fence */
}
static inline void tw_local_token_unpin(struct tw_local_token *token)
{
	if (--token->nest == 0)
		__atomic_store_n(&token->slot, 0, __ATOMIC_RELEASE);
}
TW_API int tw_local_token_defer_delete(struct tw_local_token *token, void *object);
TW_API int64_t tw_local_token_try_reclaim(struct tw_local_token *token);
/* tw_local_epoch_clear - free all that was retired; no other thread uses the manager meanwhile. */
TW_API void tw_local_epoch_clear(struct tw_local_epoch *epoch);
TW_API uint64_t tw_local_epoch_garbage(struct tw_local_epoch *epoch);

/* ---- containers ------------------------------------------------------------------------------------------------
 * Made once, by one PE; every PE attaches a handle of its own, with its caches.  Their operations pin and unpin the
 * token by themselves.  Local forms take a struct tw_local_token as token, work for threads, one handle each, and their
 * roots are addresses in the process. */

struct tw_container_options {
	unsigned pe;        /* in whose segment the container's own words are */
	unsigned nodes_pe;  /* its objects: this PE's segment, + 1; 0: by the job's policy */
	uint64_t keys;      /* how many keys or elements are expected: tables and rings are sized by it; 0: 4096 */
};

struct tw_map;

/* Sets and maps of 64-bit keys, but UINT64_MAX, and 64-bit values, but UINT64_MAX. */
struct tw_map_ops {
	const char *name, *help;
	bool local; /* tokens and roots are those of this process */

	/* create - a new empty one; its root, which may be published by tw_root_set().  Returns 0, -ENOMEM. */
	int (*create)(const struct tw_container_options *options, tw_gptr *root);
	/* attach - a handle on the one at @root.  @options as for create; @token: of this PE (thread), registered as
	 * long as the handle is used.  Returns 0, -ENOMEM. */
	int (*attach)(tw_gptr root, const struct tw_container_options *options, void *token, struct tw_map **map);
	void (*detach)(struct tw_map *map);
	/* get - 1 and *value (unless NULL) if @key is in it, else 0.  insert - 1 if @key was not in it, and is now;
	 * else 0, and nothing changed.  remove - 1 and *value (unless NULL) if it was in it, and is no longer; else 0.
	 * Linearizable. insert and remove return -EAGAIN or -ENOMEM where memory or garbage is at its limit; nothing
	 * has changed then. */
	int (*get)(struct tw_map *map, uint64_t key, uint64_t *value);
	int (*insert)(struct tw_map *map, uint64_t key, uint64_t value);
	int (*remove)(struct tw_map *map, uint64_t key, uint64_t *value);
	/* destroy - by one handle; nobody uses the map any more.  Detaches the handle, too. */
	void (*destroy)(struct tw_map *map);
};

TW_API extern const struct tw_map_ops tw_lazy_list;        /* sorted, locks for updates, wait-free get [R] */
TW_API extern const struct tw_map_ops tw_harris_list;      /* sorted, lock-free: Harris, Michael */
TW_API extern const struct tw_map_ops tw_hinted_list;      /* the same with validated hints: 2 reads where the other reads half the list */
TW_API extern const struct tw_map_ops tw_hash_map;         /* a key's slot is its for ever: 1 operation each */
TW_API extern const struct tw_map_ops tw_interlocked_map;  /* the Interlocked Hash Table: buckets that grow into tables */
TW_API extern const struct tw_map_ops tw_local_lazy_list, tw_local_harris_list, tw_local_hinted_list, tw_local_hash_map,
	tw_local_interlocked_map;

/* tw_map_find - by its name, "lazy-list"; NULL: there is none.  tw_map_list - all, NULL-ended. */
TW_API const struct tw_map_ops *tw_map_find(const char *name);
TW_API const struct tw_map_ops *const *tw_map_list(void);

/* tw_hash_map_exchange, tw_local_hash_map_exchange - of a handle of tw_hash_map, tw_local_hash_map: @value, or UINT64_MAX to remove; *old is what was there, or
 * UINT64_MAX.
 * Returns 0 or as insert. */
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
	/* push - 1; 0 when it is full (rings alone); -EAGAIN, -ENOMEM as above.  pop - 1 and *value; 0 when it is
	 * empty.  Linearizable. */
	int (*push)(struct tw_queue *queue, uint64_t value);
	int (*pop)(struct tw_queue *queue, uint64_t *value);
	void (*destroy)(struct tw_queue *queue);
};

TW_API extern const struct tw_queue_ops tw_treiber_stack;  /* lock-free */
TW_API extern const struct tw_queue_ops tw_michael_scott_queue; /* lock-free */
TW_API extern const struct tw_queue_ops tw_ring_queue;     /* bounded, tickets by fetch-and-add; a stopped PE can hold up others */
TW_API extern const struct tw_queue_ops tw_local_treiber_stack, tw_local_michael_scott_queue, tw_local_ring_queue;

TW_API const struct tw_queue_ops *tw_queue_find(const char *name);
TW_API const struct tw_queue_ops *const *tw_queue_list(void);

#ifdef __cplusplus
}
#endif
#endif
