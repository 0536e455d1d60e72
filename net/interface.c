/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/interface.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The address's bytes: 4 or 16 of them; NULL for other families. */
static const uint8_t *interface_bytes(const struct sockaddr *address, unsigned *bytes)
{
	*bytes = address->sa_family == AF_INET ? 4 : 16;
	if (address->sa_family == AF_INET)
		return (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
	if (address->sa_family == AF_INET6)
		return (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	return NULL;
}

/* Is the address with these bytes @setting, or in it, if that is a subnet? */
static bool interface_within(const char *setting, int family, const uint8_t *own, unsigned bytes)
{
	const char *slash = strchr(setting, '/');
	uint8_t wanted[16];
	char text[64];
	size_t length = slash ? (size_t)(slash - setting) : strlen(setting);
	unsigned long bits = 8ul * bytes;
	char *end;

	if (length >= sizeof(text))
		return false;
	memcpy(text, setting, length);
	text[length] = '\0';
	if (inet_pton(family, text, wanted) != 1)
		return false;
	if (slash) {
		bits = strtoul(slash + 1, &end, 10);
		if (end == slash + 1 || *end || bits > 8ul * bytes)
			return false;
	}
	unsigned whole = (unsigned)bits / 8, rest = (unsigned)bits % 8;
	return memcmp(own, wanted, whole) == 0 && (!rest || (own[whole] ^ wanted[whole]) >> (8 - rest) == 0);
}

bool tw_interface_fits(const struct ifaddrs *address, const char *setting)
{
	unsigned bytes;

	if (!address->ifa_addr || !(address->ifa_flags & IFF_UP))
		return false;
	const uint8_t *own = interface_bytes(address->ifa_addr, &bytes);
	if (!own)
		return false;
	bool link_local = bytes == 16 && own[0] == 0xfe && (own[1] & 0xc0) == 0x80;
	if (!setting || !*setting)
		return !(address->ifa_flags & IFF_LOOPBACK) && !link_local;
	return (strcmp(setting, address->ifa_name) == 0 && !link_local) ||
	       interface_within(setting, address->ifa_addr->sa_family, own, bytes);
}
