/* SPDX-License-Identifier: BSD-3-Clause */
/* handshake.h - an agent's first message: its host, and whether it is of the same build. */
#ifndef TW_TOOLS_WIRE_HANDSHAKE_H
#define TW_TOOLS_WIRE_HANDSHAKE_H

#include "tools/wire/wire.h"

/* handshake_host - this host's name. */
const char *handshake_host(void);
/* handshake_send - the agent's first message. */
void handshake_send(struct wire *wire);
/* handshake_is_here - does this agent run on this process's kernel? */
bool handshake_is_here(const struct wire_handshake *handshake);
/* handshake_check - may this agent take part?  0, or -EPROTO with a sentence in @error; @where: "node 1 on host b". */
int handshake_check(const struct wire_handshake *handshake, const char *where, char *error, size_t error_bytes);

#endif
