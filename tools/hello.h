/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.h - the first message: who is there, and is it of the same build? */
#ifndef TW_TOOLS_HELLO_H
#define TW_TOOLS_HELLO_H

#include "tools/wire.h"

/* hello_host - this host's name. */
const char *hello_host(void);
/* hello_send - the agent's first message. */
void hello_send(struct wire *wire);
/* hello_is_here - is this agent's kernel ours? */
bool hello_is_here(const struct wire_hello *hello);
/* hello_check - may this agent take part?  0, or -EPROTO with a sentence in @error; @where: "node 1 on host b". */
int hello_check(const struct wire_hello *hello, const char *where, char *error, size_t error_bytes);

#endif
