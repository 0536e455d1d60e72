/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/wire/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HANDSHAKE_CPUS 8192

const char *handshake_host(void)
{
	static char name[64];
	if (!name[0] && gethostname(name, sizeof(name) - 1) < 0)
		snprintf(name, sizeof(name), "?");
	return name;
}

static void handshake_boot(char *out, size_t bytes)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, bytes - 1);

	if (n <= 0)
		n = snprintf(out, bytes, "%.*s", (int)bytes - 1, handshake_host());
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* A hash of the set of cpus that this process may use; their number in @*count. */
static uint64_t handshake_cpus(uint32_t *count)
{
	static cpu_set_t set[HANDSHAKE_CPUS / CPU_SETSIZE];
	const unsigned char *p = (const void *)set;
	uint64_t hash = 0xcbf29ce484222325;

	*count = 1;
	if (sched_getaffinity(0, sizeof(set), set) < 0)
		return 0;
	*count = (uint32_t)CPU_COUNT_S(sizeof(set), set);
	for (size_t i = 0; i < sizeof(set); i++)
		hash = (hash ^ p[i]) * 0x100000001b3;
	return hash;
}

void handshake_send(struct wire *wire)
{
	struct wire_handshake h = {
	    .magic = WIRE_HANDSHAKE_MAGIC, .version = TWEED_VERSION, .build = wire_build(), .pid = (uint32_t)getpid()};

	snprintf(h.host, sizeof(h.host), "%s", handshake_host());
	handshake_boot(h.boot, sizeof(h.boot));
	h.cpus = handshake_cpus(&h.cores);
	wire_send(wire, WIRE_HANDSHAKE, &h, sizeof(h), NULL, 0);
}

bool handshake_is_here(const struct wire_handshake *h)
{
	char boot[sizeof(h->boot)];

	handshake_boot(boot, sizeof(boot));
	return strcmp(h->boot, boot) == 0;
}

int handshake_check(const struct wire_handshake *h, const char *where, char *error, size_t error_bytes)
{
	if (strcmp(h->version, TWEED_VERSION) == 0 && h->build == wire_build())
		return 0;
	snprintf(error, error_bytes,
	         "%s runs tweed %s (build %016" PRIx64 "), but this is tweed %s (build %016" PRIx64
	         "); install the same build on every host",
	         where, h->version, h->build, TWEED_VERSION, wire_build());
	return -EPROTO;
}
