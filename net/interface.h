/* SPDX-License-Identifier: BSD-3-Clause */
/* interface.h - the setting TWEED_NET_INTERFACE against the addresses of this host. */
#ifndef TW_NET_INTERFACE_H
#define TW_NET_INTERFACE_H

#include <ifaddrs.h>
#include <stdbool.h>

/* tw_interface_fits - may this address be used under @setting: a name (eth0), an address, a subnet (10.0.0.0/24); NULL
 * or "" fits all but loopback and link-local addresses.  False for addresses that are down, or neither IPv4 nor
 * IPv6. */
bool tw_interface_fits(const struct ifaddrs *address, const char *setting);

#endif
