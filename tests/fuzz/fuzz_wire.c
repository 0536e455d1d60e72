/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_wire.c - any bytes as what comes over a wire, in pieces: frames that make sense, or the end of the connection.
 *
 * The first byte says how many bytes each piece has. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "tools/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire wire;
	int pair[2], got = -EAGAIN;

	if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 0;
	if (wire_open(&wire, pair[0], pair[0]) < 0)
		return 0;
	for (size_t at = 1, piece = data[0] + 1u; at < size && (got == 1 || got == -EAGAIN); at += piece) {
		size_t bytes = TW_MIN(piece, size - at);
		if (send(pair[1], data + at, bytes, 0) != (ssize_t)bytes)
			break;
		while ((got = wire_recv(&wire)) == 1)
			TW_ASSERT(wire.msg->fds == 0 && wire.msg->bytes <= sizeof(struct wire_msg));
		TW_ASSERT(got == -EAGAIN || got == -EPROTO);
	}
	close(pair[1]);
	if (got == -EAGAIN)
		TW_ASSERT(wire_recv(&wire) == 0);
	wire_close(&wire);
	return 0;
}
