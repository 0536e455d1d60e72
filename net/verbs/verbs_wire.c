/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/verbs/verbs_wire.h"

#include <netinet/in.h>
#include <string.h>

/* What a proof proves: the messages of the handshake, and the nonce of the server that is meant. */
struct verbs_text {
	uint8_t nonce[VERBS_NONCE_BYTES];
	struct verbs_handshake handshake; /* with a proof of zeros */
	struct verbs_welcome welcome;     /* likewise; zeros in the endpoint's own proof */
};

void verbs_address_write(struct tw_net_address *own, const struct sockaddr *at, const uint8_t nonce[VERBS_NONCE_BYTES])
{
	struct verbs_address address = {.family = at->sa_family};

	if (at->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)at;
		address.port = in->sin_port;
		memcpy(address.ip, &in->sin_addr, sizeof(in->sin_addr));
	} else {
		const struct sockaddr_in6 *in6 = (const void *)at;
		address.port = in6->sin6_port;
		memcpy(address.ip, &in6->sin6_addr, sizeof(in6->sin6_addr));
	}
	memcpy(address.nonce, nonce, sizeof(address.nonce));
	own->len = sizeof(address);
	memcpy(own->bytes, &address, sizeof(address));
}

bool verbs_address_read(struct verbs_address *address, const struct tw_net_address *from)
{
	if (from->len != sizeof(*address))
		return false;
	memcpy(address, from->bytes, sizeof(*address));
	return address->family == AF_INET || address->family == AF_INET6;
}

void verbs_sockaddr(const struct verbs_address *address, uint16_t port, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	out->ss_family = address->family;
	if (address->family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;
		in->sin_port = port;
		memcpy(&in->sin_addr, address->ip, sizeof(in->sin_addr));
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
		in6->sin6_port = port;
		memcpy(&in6->sin6_addr, address->ip, sizeof(in6->sin6_addr));
	}
}

/* The text of @handshake's proof; with @welcome, the text of that one's. */
static struct verbs_text verbs_text(const uint8_t nonce[VERBS_NONCE_BYTES], const struct verbs_handshake *handshake,
                                    const struct verbs_welcome *welcome)
{
	struct verbs_text text = {.handshake = *handshake};

	memcpy(text.nonce, nonce, sizeof(text.nonce));
	memset(text.handshake.proof, 0, sizeof(text.handshake.proof));
	if (welcome) {
		text.welcome = *welcome;
		memset(text.welcome.proof, 0, sizeof(text.welcome.proof));
	}
	return text;
}

void verbs_handshake_write(struct verbs_handshake *handshake, const struct tw_net_config *config, unsigned target,
                           const uint8_t nonce[VERBS_NONCE_BYTES], uint64_t number)
{
	*handshake = (struct verbs_handshake){.number = number,
	                                      .magic = VERBS_MAGIC,
	                                      .target = (uint16_t)target,
	                                      .node = (uint16_t)config->node,
	                                      .port = (uint16_t)config->port};
	struct verbs_text text = verbs_text(nonce, handshake, NULL);
	tw_auth_prove(config->secret, &text, sizeof(text), handshake->proof);
}

bool verbs_handshake_read(struct verbs_handshake *handshake, const struct tw_net_config *config,
                          const uint8_t nonce[VERBS_NONCE_BYTES], const void *data, size_t bytes)
{
	if (bytes < sizeof(*handshake))
		return false;
	memcpy(handshake, data, sizeof(*handshake));
	struct verbs_text text = verbs_text(nonce, handshake, NULL);
	return handshake->magic == VERBS_MAGIC && handshake->target == config->node &&
	       handshake->node < config->nodes && handshake->port < config->ports &&
	       tw_auth_holds(config->secret, &text, sizeof(text), handshake->proof);
}

void verbs_welcome_write(struct verbs_welcome *welcome, const struct tw_net_config *config,
                         const uint8_t nonce[VERBS_NONCE_BYTES], const struct verbs_handshake *handshake, uint64_t base,
                         uint32_t rkey)
{
	*welcome = (struct verbs_welcome){.base = base, .rkey = rkey, .magic = VERBS_MAGIC};
	struct verbs_text text = verbs_text(nonce, handshake, welcome);
	tw_auth_prove(config->secret, &text, sizeof(text), welcome->proof);
}

bool verbs_welcome_read(struct verbs_welcome *welcome, const struct tw_net_config *config,
                        const uint8_t nonce[VERBS_NONCE_BYTES], const struct verbs_handshake *handshake,
                        const void *data, size_t bytes)
{
	if (bytes < sizeof(*welcome))
		return false;
	memcpy(welcome, data, sizeof(*welcome));
	struct verbs_text text = verbs_text(nonce, handshake, welcome);
	return welcome->magic == VERBS_MAGIC && tw_auth_holds(config->secret, &text, sizeof(text), welcome->proof);
}
