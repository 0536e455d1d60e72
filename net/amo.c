/* SPDX-License-Identifier: BSD-3-Clause */
/* amo.c - atomic operations on words of 4 and 8 bytes: by the CPU, by the transport, or by loops of its
 * compare-and-swap. */
#include "net/amo.h"

#include <stdatomic.h>

#include "core/base/base.h"

uint64_t tw_amo_sum(unsigned bytes, uint64_t a, uint64_t b)
{
	double x, y;
	float f, g;

	if (bytes == 8) {
		memcpy(&x, &a, sizeof(x));
		memcpy(&y, &b, sizeof(y));
		x += y;
		memcpy(&a, &x, sizeof(x));
		return a;
	}
	memcpy(&f, &a, sizeof(f));
	memcpy(&g, &b, sizeof(g));
	f += g;
	a = 0;
	memcpy(&a, &f, sizeof(f));
	return a;
}

#define AMO_HERE(bits)                                                                                                 \
	static uint64_t amo_here_##bits(void *at, enum tw_amo op, uint##bits##_t value, uint##bits##_t expect)         \
	{                                                                                                              \
		_Atomic uint##bits##_t *word = at;                                                                     \
		switch (op) {                                                                                          \
		case TW_AMO_SWAP:                                                                                      \
			return atomic_exchange(word, value);                                                           \
		case TW_AMO_ADD:                                                                                       \
			return atomic_fetch_add(word, value);                                                          \
		case TW_AMO_AND:                                                                                       \
			return atomic_fetch_and(word, value);                                                          \
		case TW_AMO_OR:                                                                                        \
			return atomic_fetch_or(word, value);                                                           \
		case TW_AMO_XOR:                                                                                       \
			return atomic_fetch_xor(word, value);                                                          \
		case TW_AMO_CAS:                                                                                       \
			atomic_compare_exchange_strong(word, &expect, value);                                          \
			return expect;                                                                                 \
		case TW_AMO_ADD_REAL:                                                                                  \
			expect = atomic_load(word);                                                                    \
			while (!atomic_compare_exchange_weak(word, &expect,                                            \
			                                     (uint##bits##_t)tw_amo_sum(bits / 8, expect, value)))     \
				;                                                                                      \
			return expect;                                                                                 \
		default:                                                                                               \
			return atomic_load(word);                                                                      \
		}                                                                                                      \
	}
AMO_HERE(32)
AMO_HERE(64)

uint64_t tw_amo_here(void *word, enum tw_amo op, unsigned bytes, uint64_t value, uint64_t expect)
{
	return bytes == 4 ? amo_here_32(word, op, (uint32_t)value, (uint32_t)expect)
	                  : amo_here_64(word, op, value, expect);
}

bool tw_amo_wide(void *at, uint64_t seen[2], const uint64_t value[2])
{
	bool done;

#if defined(__x86_64__)
	char(*bytes)[16] = at;

	__asm__ __volatile__("lock cmpxchg16b %1"
	                     : "=@ccz"(done), "+m"(*bytes), "+a"(seen[0]), "+d"(seen[1])
	                     : "b"(value[0]), "c"(value[1])
	                     : "memory");
#else
	unsigned __int128 expect, next;

	memcpy(&expect, seen, 16);
	memcpy(&next, value, 16);
	done = __atomic_compare_exchange_n((unsigned __int128 *)at, &expect, next, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_SEQ_CST);
	memcpy(seen, &expect, 16);
#endif
	return done;
}

bool tw_net_cas_wide(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2])
{
	if (!net->ops->cas_wide)
		return false;
	if (node == net->config.node) {
		tw_amo_wide(net->base + offset, seen, value);
		return true;
	}
	net->traffic->bytes_out += 16;
	net->traffic->bytes_in += 16;
	net->traffic->round_trips++;
	net->ops->cas_wide(net, node, offset, seen, value);
	return true;
}

static uint64_t amo_loop(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes,
                         uint64_t value, uint64_t expect)
{
	size_t at = offset / 8 * 8;
	uint64_t seen = tw_net_read64(net, node, at);

	for (;;) {
		uint64_t old = tw_amo_extract(seen, offset, bytes);
		uint64_t next = tw_amo_insert(seen, offset, bytes, tw_amo_result(op, bytes, old, value, expect));
		uint64_t was = op == TW_AMO_FETCH ? seen : tw_net_cas(net, node, at, seen, next);

		if (was == seen)
			return old;
		seen = was;
	}
}

uint64_t tw_net_amo(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                    uint64_t expect)
{
	if (bytes == 4) {
		value = (uint32_t)value;
		expect = (uint32_t)expect;
	}
	if (node == net->config.node && (net->ops->caps & TW_NET_COHERENT_ATOMICS))
		return tw_amo_here(net->base + offset, op, bytes, value, expect);
	if (net->ops->amo && node != net->config.node) {
		net->traffic->bytes_out += bytes;
		net->traffic->bytes_in += bytes;
		net->traffic->round_trips++;
		return net->ops->amo(net, node, offset, op, bytes, value, expect);
	}
	if (bytes == 8 && op == TW_AMO_ADD)
		return tw_net_fadd(net, node, offset, value);
	if (bytes == 8 && op == TW_AMO_SWAP)
		return tw_net_swap(net, node, offset, value);
	if (bytes == 8 && op == TW_AMO_CAS)
		return tw_net_cas(net, node, offset, expect, value);
	return amo_loop(net, node, offset, op, bytes, value, expect);
}

void tw_net_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                     uint64_t expect)
{
	if (!net->ops->amo_post || node == net->config.node) {
		tw_net_amo(net, node, offset, op, bytes, value, expect);
		return;
	}
	net->traffic->bytes_out += bytes;
	tw_net_wrote(net, node);
	net->ops->amo_post(net, node, offset, op, bytes, value, expect);
}
