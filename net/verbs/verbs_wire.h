/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_wire.h - the messages between endpoints and servers of verbs, written and read without a device.
 *
 * Endpoint to server, in the private data of rdma_connect: struct verbs_handshake.  The server answers in the private
 * data of
 * rdma_accept: struct verbs_welcome; or rejects.  Both prove that they hold the job's secret; the proven texts name
 * the server's nonce, both ends and a number that rises with each connection of an endpoint, so neither message can be
 * used again or elsewhere. */
#ifndef TW_NET_VERBS_VERBS_WIRE_H
#define TW_NET_VERBS_VERBS_WIRE_H

#include <sys/socket.h>

#include "net/auth.h"

#define VERBS_MAGIC       0x54575631u /* "TWV1" */
#define VERBS_NONCE_BYTES 16

/* struct tw_net_address of a server. */
struct verbs_address {
	uint16_t family; /* AF_INET, AF_INET6 */
	uint16_t port;   /* of RDMA_PS_TCP, network order */
	uint8_t ip[16];
	uint8_t nonce[VERBS_NONCE_BYTES];
};

struct verbs_handshake {
	uint64_t number; /* higher than at any earlier connection of this endpoint */
	uint32_t magic;
	uint16_t target, node, port; /* the server's node; the endpoint */
	uint16_t zero;
	uint8_t proof[TW_AUTH_PROOF_BYTES];
};
_Static_assert(sizeof(struct verbs_handshake) <= 56, "fits into the private data of a connection request");

struct verbs_welcome {
	uint64_t base; /* of the node's memory, as its registration has it */
	uint32_t rkey;
	uint32_t magic;
	uint8_t proof[TW_AUTH_PROOF_BYTES];
};

/* A message is struct tw_msg as far as its len; its immediate data is the port.  Immediate data alone is a notify, to
 * a port or VERBS_ALL_PORTS. */
#define VERBS_MESSAGE_BYTES sizeof(struct tw_msg)
#define VERBS_ALL_PORTS     0xffffu

/* verbs_address_write - the address of the server with @nonce that listens at @at, IPv4 or IPv6. */
void verbs_address_write(struct tw_net_address *own, const struct sockaddr *at, const uint8_t nonce[VERBS_NONCE_BYTES]);
/* verbs_address_read - is @from the address of a server of this transport? */
bool verbs_address_read(struct verbs_address *address, const struct tw_net_address *from);
/* verbs_sockaddr - the address with port @port (network order). */
void verbs_sockaddr(const struct verbs_address *address, uint16_t port, struct sockaddr_storage *out);

/* verbs_handshake_write - the handshake of @config's endpoint with the server, which has @nonce, of node @target. */
void verbs_handshake_write(struct verbs_handshake *handshake, const struct tw_net_config *config, unsigned target,
                           const uint8_t nonce[VERBS_NONCE_BYTES], uint64_t number);
/* verbs_handshake_read - are private data a handshake with @config's node, for @nonce, from an endpoint of its job? */
bool verbs_handshake_read(struct verbs_handshake *handshake, const struct tw_net_config *config,
                          const uint8_t nonce[VERBS_NONCE_BYTES], const void *data, size_t bytes);
/* verbs_welcome_write - the server with @nonce answers @handshake: base and rkey. */
void verbs_welcome_write(struct verbs_welcome *welcome, const struct tw_net_config *config,
                         const uint8_t nonce[VERBS_NONCE_BYTES], const struct verbs_handshake *handshake, uint64_t base,
                         uint32_t rkey);
/* verbs_welcome_read - are private data the answer to @handshake from the server with @nonce? */
bool verbs_welcome_read(struct verbs_welcome *welcome, const struct tw_net_config *config,
                        const uint8_t nonce[VERBS_NONCE_BYTES], const struct verbs_handshake *handshake,
                        const void *data, size_t bytes);

#endif
