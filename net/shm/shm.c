/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c - the transport of emulated nodes on one host: every process maps every node's exported memory, and copies.
 *
 * Ordering.  A write is a plain store by this processor, so every read after it in the coherence order sees it; the
 * hardware can only let a later *load* pass it in the store buffer.  Hence fence is a release fence, and flush, and a
 * read or atomic after a write, are full fences (the point where Dekker's argument needs one: write my word
 * everywhere, flush, read the local copy).  Bells and messages: net/mailbox.h. */
#include "net/transports.h"

#include "core/base/clock.h"

#include "net/mailbox.h"
#include "net/map.h"
#include "core/base/word_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct shm {
	struct tw_mailbox *self;
	char *map[]; /* [nodes] */
};

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

static struct tw_mailbox *shm_mailbox(const struct tw_net *net, unsigned node, unsigned port)
{
	const struct shm *shm = net->priv;

	return tw_mailbox_of(&net->config, shm->map[node], port);
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
	int error = tw_net_map_all(config, &shm->map[0]);
	if (error) {
		free(shm);
		return error;
	}
	for (unsigned node = 1; node < config->nodes; node++)
		shm->map[node] = shm->map[0] + node * tw_net_map_stride(config);
	if (config->costs)
		tw_futex_name(shm->map[0], config->nodes * tw_net_map_stride(config), TW_FUTEX_EXPORTED);
	net->priv = shm;
	net->base = shm->map[config->node];
	shm->self = shm_mailbox(net, config->node, config->port);
	return 0;
}

static void shm_close(struct tw_net *net)
{
	struct shm *shm = net->priv;

	tw_net_unmap_all(&net->config, shm->map[0]);
	free(shm);
	net->priv = NULL;
	net->base = NULL;
}

static void shm_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct shm *shm = net->priv;
	char *dst = shm->map[node] + offset;

	tw_words_store(dst, src, len);
}

static void *shm_direct(struct tw_net *net, unsigned node, size_t offset)
{
	return ((struct shm *)net->priv)->map[node] + offset;
}

/* Reads and atomics are performed after this endpoint's writes. */
static void shm_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	const char *src = ((struct shm *)net->priv)->map[node] + offset;

	atomic_thread_fence(memory_order_seq_cst); /* empty the store buffer */
	tw_words_load(dst, src, len);
}

static void shm_read_wait(struct tw_net *net)
{
	(void)net;
	atomic_thread_fence(memory_order_acquire);
}

static inline _Atomic uint64_t *shm_word(struct tw_net *net, unsigned node, size_t offset)
{
#if !defined(__x86_64__) /* there, atomics are full fences */
	atomic_thread_fence(memory_order_seq_cst);
#endif
	return (_Atomic uint64_t *)(void *)(((struct shm *)net->priv)->map[node] + offset);
}

static uint64_t shm_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	atomic_compare_exchange_strong(shm_word(net, node, offset), &expect, value);
	return expect;
}

static void shm_cas_wide(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2])
{
	tw_amo_wide((char *)((struct shm *)net->priv)->map[node] + offset, seen, value);
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
	(void)net;
	(void)node;
	atomic_thread_fence(memory_order_seq_cst);
}

static void shm_notify(struct tw_net *net, unsigned node, unsigned port)
{
	if (port != TW_NET_ALL) {
		tw_mailbox_ring(shm_mailbox(net, node, port));
		return;
	}
	for (port = 0; port < net->config.ports; port++)
		tw_mailbox_ring(shm_mailbox(net, node, port));
}

static int shm_send(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg)
{
	TW_ASSERT(node < net->config.nodes && port < net->config.ports);
	return tw_mailbox_put(shm_mailbox(net, node, port), msg, net->config.node, net->config.port);
}

static bool shm_recv(struct tw_net *net, struct tw_msg *msg)
{
	return tw_mailbox_take(((struct shm *)net->priv)->self, &net->config, msg);
}

static uint32_t shm_bell(struct tw_net *net)
{
	return tw_mailbox_bell(((struct shm *)net->priv)->self);
}

static void shm_sleep(struct tw_net *net, uint32_t seen, uint64_t timeout_ns)
{
	tw_mailbox_sleep(((struct shm *)net->priv)->self, seen, timeout_ns);
}

static void shm_progress(struct tw_net *net)
{
	(void)net;
}

const struct tw_transport tw_transport_shm = {
    .name = "shm",
    .help = "emulated nodes on one host: copies between the nodes' memory files",
#if defined(__x86_64__)
    .caps = TW_NET_ONE_HOST | TW_NET_COHERENT_ATOMICS | TW_NET_ORDERED_WRITES | TW_NET_REMOTE_READ |
            TW_NET_ASCENDING_READS | TW_NET_LOSES_NODES,
#else
    .caps =
        TW_NET_ONE_HOST | TW_NET_COHERENT_ATOMICS | TW_NET_REMOTE_READ | TW_NET_ASCENDING_READS | TW_NET_LOSES_NODES,
#endif
    .probe = shm_probe,
    .control_bytes = tw_mailbox_bytes,
    .open = shm_join,
    .close = shm_close,
    .write = shm_write,
    .direct = shm_direct,
    .read = shm_read,
    .read_wait = shm_read_wait,
    .cas = shm_cas,
    .fadd = shm_fadd,
    .swap = shm_swap,
    .cas_wide = shm_cas_wide,
    .fence = shm_fence,
    .flush = shm_flush,
    .send = shm_send,
    .recv = shm_recv,
    .notify = shm_notify,
    .bell = shm_bell,
    .sleep = shm_sleep,
    .progress = shm_progress,
};
