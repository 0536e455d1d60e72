/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c - the transport of emulated nodes on one host: every process maps every node's exported memory, and copies.
 *
 * Ordering.  A write is a plain store by this processor, so it is visible at once to whoever reads after it in the
 * coherence order; all that the hardware may still do is let a later *load* pass it in the store buffer.  Hence fence is
 * a release fence, and flush, and a read or atomic after a write, are full fences (the point where Dekker's argument
 * needs one: write my word everywhere, flush, read the local copy).
 *
 * Bell.  sleep() publishes `sleeping`, then the kernel compares the bell with @seen before it sleeps; notify() increments
 * the bell, then reads `sleeping`.  Both sides are store-then-load with sequentially consistent operations between, so of
 * a racing pair at least one sees the other's store: either the notifier sees `sleeping` and wakes, or the kernel sees
 * a bell that is not @seen and does not sleep.  (The kernel compares under the futex's own lock, which the wake
 * takes as well: a wake between compare and sleep is not lost.)
 *
 * Messages.  One bounded ring per endpoint, many senders, one receiver.  Position p uses slot p % SHM_SLOTS in lap
 * p / SHM_SLOTS; the slot's turn is 2 * lap when the sender of that lap may fill it and 2 * lap + 1 when the receiver may
 * take it, so zeroed memory is an empty ring.  A sender that stalls between claim and fill holds later messages back
 * but loses none: the bell is rung after its own fill. */
#include "net/transports.h"

#include "base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM_SLOTS      64u
#define SHM_WORDS_MOST 128u /* longer copies go to memcpy, which promises nothing about single words */

struct shm_slot {
	_Atomic uint64_t turn;
	struct tw_msg msg;
};

/* An endpoint's part of its node's control memory. */
struct shm_endpoint {
	TW_LINE_ALIGNED _Atomic uint32_t bell;
	_Atomic uint32_t sleeping;             /* the endpoint is in, or near, futex wait on bell */
	TW_LINE_ALIGNED _Atomic uint64_t tail; /* next position to claim, by senders */
	TW_LINE_ALIGNED uint64_t head;         /* next position to take, the receiver's own */
	TW_LINE_ALIGNED struct shm_slot slot[SHM_SLOTS];
};

struct shm {
	struct shm_endpoint *self;
	bool stored; /* writes since the last full fence */
	char *map[]; /* [nodes] */
};

_Static_assert(sizeof(struct shm_slot) == 256, "slots are whole cache lines");

static int shm_probe(char *why, size_t why_bytes)
{
	int fd = memfd_create("tweed-probe", MFD_CLOEXEC);

	if (fd < 0) {
		int error = errno;

		tw_format(why, why_bytes, "memfd_create fails: %s", strerror(error));
		return -error;
	}
	close(fd);
	return 0;
}

static size_t shm_control_bytes(unsigned ports)
{
	return TW_ALIGN_UP(ports * sizeof(struct shm_endpoint), (size_t)4096);
}

/* Map one node's memory at an address of huge page alignment, without which huge pages of the file cannot be mapped. */
static int shm_map(const struct tw_net_config *config, unsigned node, char **map)
{
	const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
	size_t bytes = config->bytes, spare = bytes + TW_HUGE_BYTES;
	struct stat st;

	if (fstat(config->fd[node], &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size < bytes) {
		tw_log("the memory of node %u is not a file of at least %zu bytes", node, bytes);
		return -EINVAL;
	}
	char *area = mmap(NULL, spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED) {
		int error = errno;

		tw_log("no address space for the memory of node %u (%zu bytes): %s", node, bytes, strerror(error));
		return -error;
	}
	char *at = (char *)TW_ALIGN_UP((uintptr_t)area, TW_HUGE_BYTES);
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, config->fd[node], 0) == MAP_FAILED) {
		int error = errno;

		tw_log("cannot map the memory of node %u (%zu bytes): %s", node, bytes, strerror(error));
		munmap(area, spare);
		return -error;
	}
	if (at != area)
		munmap(area, (size_t)(at - area));
	char *end = at + TW_ALIGN_UP(bytes, (size_t)sysconf(_SC_PAGESIZE));
	if (end < area + spare)
		munmap(end, (size_t)(area + spare - end));
	if (config->huge)
		madvise(at, bytes, MADV_HUGEPAGE);
	*map = at;
	return 0;
}

static struct shm_endpoint *shm_endpoint(const struct tw_net *net, unsigned node, unsigned port)
{
	const struct shm *shm = net->priv;

	return (struct shm_endpoint *)(void *)(shm->map[node] + net->config.control_offset) + port;
}

static void shm_unmap(struct shm *shm, unsigned nodes, size_t bytes)
{
	for (unsigned node = 0; node < nodes; node++)
		munmap(shm->map[node], bytes);
	free(shm);
}

static int shm_join(struct tw_net *net)
{
	const struct tw_net_config *config = &net->config;

	if (!config->fd) {
		tw_log("transport shm: no memory files were given; it joins nodes of one host only");
		return -EINVAL;
	}
	struct shm *shm = calloc(1, sizeof(*shm) + config->nodes * sizeof(shm->map[0]));
	if (!shm) {
		tw_log("transport shm: out of memory");
		return -ENOMEM;
	}
	for (unsigned node = 0; node < config->nodes; node++) {
		int error = shm_map(config, node, &shm->map[node]);

		if (error) {
			shm_unmap(shm, node, config->bytes);
			return error;
		}
	}
	net->priv = shm;
	net->base = shm->map[config->node];
	shm->self = shm_endpoint(net, config->node, config->port);
	return 0;
}

static void shm_close(struct tw_net *net)
{
	shm_unmap(net->priv, net->config.nodes, net->config.bytes);
	net->priv = NULL;
	net->base = NULL;
}

/* Fewer than 8 bytes, each stored once. */
static inline void shm_copy_part(char *dst, const char *src, size_t len)
{
	if (len & 4) {
		memcpy(dst, src, 4);
		dst += 4;
		src += 4;
	}
	if (len & 2) {
		memcpy(dst, src, 2);
		dst += 2;
		src += 2;
	}
	if (len & 1)
		*dst = *src;
}

/* Short copies to (from) exported memory: its aligned words are stored (loaded) whole, and once. */
static inline void shm_store_words(char *dst, const char *src, size_t len)
{
	size_t head = TW_MIN(-(uintptr_t)dst & 7, len);
	uint64_t word;

	shm_copy_part(dst, src, head);
	dst += head;
	src += head;
	for (len -= head; len >= 8; len -= 8, dst += 8, src += 8) {
		memcpy(&word, src, 8);
		atomic_store_explicit((_Atomic uint64_t *)(void *)dst, word, memory_order_release);
	}
	shm_copy_part(dst, src, len);
}

static inline void shm_load_words(char *dst, const char *src, size_t len)
{
	size_t head = TW_MIN(-(uintptr_t)src & 7, len);
	uint64_t word;

	shm_copy_part(dst, src, head);
	dst += head;
	src += head;
	for (len -= head; len >= 8; len -= 8, dst += 8, src += 8) {
		word = atomic_load_explicit((const _Atomic uint64_t *)(const void *)src, memory_order_acquire);
		memcpy(dst, &word, 8);
	}
	shm_copy_part(dst, src, len);
}

static void shm_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct shm *shm = net->priv;
	char *dst = shm->map[node] + offset;

	if (len <= SHM_WORDS_MOST)
		shm_store_words(dst, src, len);
	else
		memcpy(dst, src, len);
	shm->stored = true;
}

/* Reads and atomics are performed after this endpoint's writes: drain the store buffer first. */
static inline struct shm *shm_after_writes(struct tw_net *net)
{
	struct shm *shm = net->priv;

	if (shm->stored) {
		atomic_thread_fence(memory_order_seq_cst);
		shm->stored = false;
	}
	return shm;
}

static void shm_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	const char *src = shm_after_writes(net)->map[node] + offset;

	if (len <= SHM_WORDS_MOST)
		shm_load_words(dst, src, len);
	else
		memcpy(dst, src, len);
}

static void shm_read_wait(struct tw_net *net)
{
	(void)net;
	atomic_thread_fence(memory_order_acquire);
}

static inline _Atomic uint64_t *shm_word(struct tw_net *net, unsigned node, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(shm_after_writes(net)->map[node] + offset);
}

static uint64_t shm_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	atomic_compare_exchange_strong(shm_word(net, node, offset), &expect, value);
	return expect;
}

static uint64_t shm_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	return atomic_fetch_add(shm_word(net, node, offset), value);
}

static uint64_t shm_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	return atomic_exchange(shm_word(net, node, offset), value);
}

static void shm_fence(struct tw_net *net, unsigned node)
{
	(void)net;
	(void)node;
	atomic_thread_fence(memory_order_release);
}

static void shm_flush(struct tw_net *net, unsigned node)
{
	struct shm *shm = net->priv;

	(void)node;
	atomic_thread_fence(memory_order_seq_cst);
	shm->stored = false;
}

static void shm_ring(struct shm_endpoint *to)
{
	atomic_fetch_add(&to->bell, 1);
	if (atomic_load(&to->sleeping))
		tw_futex_wake(&to->bell, 1);
}

static void shm_notify(struct tw_net *net, unsigned node, unsigned port)
{
	if (port != TW_NET_ALL) {
		shm_ring(shm_endpoint(net, node, port));
		return;
	}
	for (port = 0; port < net->config.ports; port++)
		shm_ring(shm_endpoint(net, node, port));
}

static int shm_send(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg)
{
	struct shm_endpoint *to = shm_endpoint(net, node, port);
	uint64_t at = atomic_load_explicit(&to->tail, memory_order_relaxed);
	struct shm_slot *slot;

	TW_ASSERT(node < net->config.nodes && port < net->config.ports && msg->len <= TW_MSG_BODY);
	for (;;) {
		slot = &to->slot[at % SHM_SLOTS];
		uint64_t free_turn = at / SHM_SLOTS * 2;
		uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

		if (turn < free_turn)
			return -EAGAIN;
		if (turn == free_turn && atomic_compare_exchange_weak(&to->tail, &at, at + 1))
			break;
		if (turn > free_turn)
			at = atomic_load_explicit(&to->tail, memory_order_relaxed);
	}
	memcpy(&slot->msg, msg, offsetof(struct tw_msg, body) + msg->len);
	slot->msg.src_node = (uint16_t)net->config.node;
	slot->msg.src_port = (uint16_t)net->config.port;
	atomic_store_explicit(&slot->turn, at / SHM_SLOTS * 2 + 1, memory_order_release);
	shm_ring(to);
	return 0;
}

static bool shm_recv(struct tw_net *net, struct tw_msg *msg)
{
	struct shm_endpoint *self = ((struct shm *)net->priv)->self;
	struct shm_slot *slot = &self->slot[self->head % SHM_SLOTS];
	uint64_t lap = self->head / SHM_SLOTS;

	if (atomic_load_explicit(&slot->turn, memory_order_acquire) != lap * 2 + 1)
		return false;
	memcpy(msg, &slot->msg, offsetof(struct tw_msg, body));
	if (msg->type == 0 || msg->len > TW_MSG_BODY || msg->src_node >= net->config.nodes ||
	    msg->src_port >= net->config.ports)
		tw_fatal("transport shm: damaged message (type %u, %u bytes, from %u.%u)", msg->type, msg->len,
		         msg->src_node, msg->src_port);
	memcpy(msg->body, slot->msg.body, msg->len);
	self->head++;
	atomic_store_explicit(&slot->turn, lap * 2 + 2, memory_order_release);
	return true;
}

static uint32_t shm_bell(struct tw_net *net)
{
	return atomic_load(&((struct shm *)net->priv)->self->bell);
}

static void shm_sleep(struct tw_net *net, uint32_t seen, uint64_t timeout_ns)
{
	struct shm_endpoint *self = ((struct shm *)net->priv)->self;

	atomic_store(&self->sleeping, 1);
	if (atomic_load(&self->bell) == seen)
		tw_futex_wait(&self->bell, seen, timeout_ns);
	atomic_store_explicit(&self->sleeping, 0, memory_order_relaxed);
}

static void shm_progress(struct tw_net *net)
{
	(void)net;
}

const struct tw_transport tw_transport_shm = {
    .name = "shm",
    .help = "emulated nodes on one host: copies between the nodes' memory files",
#if defined(__x86_64__)
    .caps = TW_NET_COHERENT_ATOMICS | TW_NET_ORDERED_WRITES | TW_NET_REMOTE_READ,
#else
    .caps = TW_NET_COHERENT_ATOMICS | TW_NET_REMOTE_READ,
#endif
    .probe = shm_probe,
    .control_bytes = shm_control_bytes,
    .open = shm_join,
    .close = shm_close,
    .write = shm_write,
    .read = shm_read,
    .read_wait = shm_read_wait,
    .cas = shm_cas,
    .fadd = shm_fadd,
    .swap = shm_swap,
    .fence = shm_fence,
    .flush = shm_flush,
    .send = shm_send,
    .recv = shm_recv,
    .notify = shm_notify,
    .bell = shm_bell,
    .sleep = shm_sleep,
    .progress = shm_progress,
};
