/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs.h - what the parts of the verbs transport share: the libraries, and how an endpoint and a server greet.
 *
 * Endpoint to server, in the private data of rdma_connect: struct verbs_hello.  The server answers in that of
 * rdma_accept: struct verbs_welcome, or rejects.  Both prove that they hold the job's secret; the texts name the
 * server's nonce, both ends and a number that rises with each connection of an endpoint, so neither can be used again
 * or elsewhere. */
#ifndef TW_NET_VERBS_H
#define TW_NET_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "base/util.h"
#include "net/auth.h"
#include "net/transports.h"

/* clang-format off */
#define VERBS_CALLS(X)                                                                                                 \
	X(ibv_fork_init) X(ibv_get_device_list) X(ibv_free_device_list) X(ibv_get_device_name)                         \
	X(ibv_query_device) X(ibv_alloc_pd) X(ibv_dealloc_pd) X(ibv_reg_mr) X(ibv_dereg_mr)                            \
	X(ibv_create_comp_channel) X(ibv_destroy_comp_channel) X(ibv_create_cq) X(ibv_destroy_cq)                      \
	X(ibv_get_cq_event) X(ibv_ack_cq_events) X(ibv_create_srq) X(ibv_destroy_srq) X(ibv_modify_qp)                 \
	X(ibv_wc_status_str)
#define VERBS_CM_CALLS(X)                                                                                              \
	X(rdma_create_event_channel) X(rdma_destroy_event_channel) X(rdma_create_id) X(rdma_destroy_id)                \
	X(rdma_bind_addr) X(rdma_listen) X(rdma_get_src_port) X(rdma_resolve_addr) X(rdma_resolve_route)               \
	X(rdma_set_option) X(rdma_create_qp) X(rdma_destroy_qp) X(rdma_connect) X(rdma_accept) X(rdma_reject)          \
	X(rdma_disconnect) X(rdma_get_cm_event) X(rdma_ack_cm_event) X(rdma_event_str)
/* clang-format on */

/* The functions of libibverbs and librdmacm that are no inline ones; ibv_reg_mr is also a macro:
 * (verbs.ibv_reg_mr)(...). */
extern struct verbs_lib {
#define X(name) __typeof__(name) *name;
	VERBS_CALLS(X)
	VERBS_CM_CALLS(X)
#undef X
} verbs;

/* verbs_load - load both libraries, once.  Returns 0, or -errno with one clause in @why.  Not in fault context. */
int verbs_load(char *why, size_t why_bytes);

/* struct tw_net_address of a server. */
struct verbs_address {
	uint16_t family; /* AF_INET, AF_INET6 */
	uint16_t port;   /* of RDMA_PS_TCP, network order */
	uint8_t ip[16];
	uint8_t nonce[16];
};

/* verbs_sockaddr - the address with port @port (network order). */
void verbs_sockaddr(const struct verbs_address *address, uint16_t port, struct sockaddr_storage *out);

#define VERBS_MAGIC 0x54575631u /* "TWV1" */

struct verbs_hello {
	uint64_t number; /* higher than at any earlier connection of this endpoint */
	uint32_t magic;
	uint16_t target, node, port; /* the server's node; the endpoint */
	uint16_t zero;
	uint8_t proof[TW_AUTH_PROOF_BYTES];
};
_Static_assert(sizeof(struct verbs_hello) <= 56, "fits into the private data of a connection request");

struct verbs_welcome {
	uint64_t base; /* of the node's memory, as its registration has it */
	uint32_t rkey;
	uint32_t magic;
	uint8_t proof[TW_AUTH_PROOF_BYTES];
};

/* What a proof proves: the greetings, and the nonce of the server that is meant. */
struct verbs_text {
	uint8_t nonce[16];
	struct verbs_hello hello;     /* with a proof of zeros */
	struct verbs_welcome welcome; /* zeros in the endpoint's own proof */
};

/* A message at the wire: struct tw_msg as far as its len; the immediate data is the port; nothing but those is a
 * notify, to VERBS_ALL_PORTS perhaps. */
#define VERBS_MESSAGE_BYTES sizeof(struct tw_msg)
#define VERBS_ALL_PORTS     0xffffu

#endif
