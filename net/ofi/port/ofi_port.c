/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_port.c - which fabric is used, and a port with its buffers: of connected endpoints (net/ofi/port/ofi_msg.c) over
 * libfabric's provider tcp, of reliable datagrams (net/ofi/port/ofi_rdm.c) over any other.
 *
 * libfabric is loaded at run time; its headers' inline functions call through tables of the objects themselves. */
#include "net/ofi/port/ofi_port.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "core/base/fd.h"
#include "core/base/library.h"
#include "net/interface.h"

#define OFI_PROVIDER "tcp"
#define OFI_EQ_POLLS 32u /* polls of the completion queue between two of the event queue */

static const char *ofi_provider(const char *setting)
{
	return setting && *setting ? setting : OFI_PROVIDER;
}

/* ---- which fabric ---- */

/* The first of this host's addresses that fits @setting, as digits; IPv4 goes first.  Returns 0 or -errno. */
static int ofi_own_address(const char *setting, char *digits, size_t bytes)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct ifaddrs *all, *found = NULL;

	if (getifaddrs(&all) < 0)
		return -errno;
	for (unsigned f = 0; f < 2 && !found; f++)
		for (struct ifaddrs *a = all; a && !found; a = a->ifa_next)
			if (a->ifa_addr && a->ifa_addr->sa_family == families[f] && tw_interface_fits(a, setting))
				found = a;
	int error = -EADDRNOTAVAIL;
	if (found)
		error = getnameinfo(found->ifa_addr,
		                    found->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
		                                                          : sizeof(struct sockaddr_in6),
		                    digits, (socklen_t)bytes, NULL, 0, NI_NUMERICHOST)
		            ? -EADDRNOTAVAIL
		            : 0;
	freeifaddrs(all);
	return error;
}

/* Fabrics with @caps that fit the settings, in libfabric's order of preference.  Returns 0 or libfabric's error. */
static int ofi_info_with(uint64_t caps, const char *provider, const char *domain, const char *address,
                         struct fi_info **info)
{
	struct fi_info *hints = ofi_calls.fi_dupinfo(NULL);
	bool connected = strcmp(ofi_provider(provider), OFI_PROVIDER) == 0;

	if (!hints)
		return -FI_ENOMEM;
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = connected ? FI_EP_MSG : FI_EP_RDM;
	hints->ep_attr->rx_ctx_cnt = connected ? FI_SHARED_CONTEXT : 0;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order =
	    FI_ORDER_SAS | (caps & FI_RMA ? FI_ORDER_SAW | FI_ORDER_RAW | FI_ORDER_WAW : 0);
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->fabric_attr->prov_name = strdup(ofi_provider(provider));
	if (domain && *domain)
		hints->domain_attr->name = strdup(domain);
	struct tw_dispositions before;
	tw_dispositions_save(&before); /* the first call loads providers */
	int error = ofi_calls.fi_getinfo(FI_VERSION(1, 17), address, NULL, address ? FI_SOURCE | FI_NUMERICHOST : 0,
	                                 hints, info);
	tw_dispositions_restore(&before);
	ofi_calls.fi_freeinfo(hints);
	return error;
}

/* Fabrics with remote writes and reads in order with messages; without those, if there are none. */
static int ofi_info(const char *provider, const char *domain, const char *address, struct fi_info **info)
{
	int error = ofi_info_with(FI_MSG | FI_RMA, provider, domain, address, info);

	return error ? ofi_info_with(FI_MSG, provider, domain, address, info) : 0;
}

int ofi_works(const char *provider, char *why, size_t why_bytes)
{
	struct fi_info *info;
	int error = ofi_load(provider, why, why_bytes);

	if (error)
		return error;
	error = ofi_info(provider, NULL, NULL, &info);
	if (error) {
		tw_format(why, why_bytes, "libfabric has no provider %s with connections or reliable datagrams: %s",
		          ofi_provider(provider), ofi_text(error));
		return -ENOTSUP;
	}
	ofi_calls.fi_freeinfo(info);
	return 0;
}

/* Are all nodes on this host?  Endpoints see that by the address of their own node's server. */
static bool ofi_near(const struct tw_net_config *config)
{
	const struct tw_net_address *server = config->address ? &config->address[config->node] : NULL;
	struct sockaddr_in in;

	if (strncmp(ofi_provider(config->provider), OFI_PROVIDER, strlen(OFI_PROVIDER)) != 0)
		return false;
	if (!server || server->len != sizeof(in))
		return config->near;
	memcpy(&in, server->bytes, sizeof(in));
	return in.sin_family == AF_INET && ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Keep the first fabric of that domain alone, because not all providers respect the domain in a query; false: there is
 * none. */
static bool ofi_only(struct fi_info **all, const char *domain)
{
	const struct fi_info *info = *all;

	if (!domain || !*domain)
		return true;
	while (info && strcmp(info->domain_attr->name, domain) != 0)
		info = info->next;
	struct fi_info *only = info ? ofi_calls.fi_dupinfo(info) : NULL;
	ofi_calls.fi_freeinfo(*all);
	*all = only;
	return only;
}

/* The address to listen at and connect from, as digits; "": libfabric's first.  Returns 0 or -errno, logged. */
static int ofi_listen_at(const struct tw_net_config *config, char *digits, size_t bytes)
{
	*digits = '\0';
	if (config->interface && *config->interface) {
		if (ofi_own_address(config->interface, digits, bytes) == 0)
			return 0;
		tw_log(
		    "transport ofi: no address of this host fits TWEED_NET_INTERFACE \"%s\"; 'ip address' lists them",
		    config->interface);
		return -EADDRNOTAVAIL;
	}
	if (ofi_near(config) && !(config->device && *config->device))
		tw_format(digits, bytes, "127.0.0.1");
	return 0;
}

static int ofi_choose(struct ofi_port *port, const struct tw_net_config *config)
{
	char digits[64], why[192];
	int error;

	if (ofi_load(config->provider, why, sizeof(why))) {
		tw_log("transport ofi: %s", why);
		return -ENOTSUP;
	}
	if ((error = ofi_listen_at(config, digits, sizeof(digits))))
		return error;
	error = ofi_info(config->provider, config->device, *digits ? digits : NULL, &port->info);
	if (!error && !ofi_only(&port->info, config->device))
		error = -FI_ENODATA;
	if (!error)
		return 0;
	tw_log("transport ofi: libfabric has nothing for provider \"%s\", domain \"%s\", address \"%s\": %s; "
	       "'fi_info' lists what it has",
	       ofi_provider(config->provider), config->device ? config->device : "", digits, ofi_text(error));
	return -ENOTSUP;
}

/* ---- a port ---- */

static int ofi_pool_init(struct ofi_pool *idle, struct ofi_buffer *first, unsigned use)
{
	idle->stack = calloc(idle->all + 1, sizeof(struct ofi_buffer *));
	if (!idle->stack)
		return -FI_ENOMEM;
	for (unsigned i = 0; i < idle->all; i++) {
		first[i].use = use;
		idle->stack[idle->count++] = &first[i];
	}
	return 0;
}

/* In this order: buffers for receives, sends, signals and first messages; then transfers, which have no memory of
 * their own. */
static int ofi_buffers(struct ofi_port *port)
{
	struct ofi_pool *idle[] = {&port->sends, &port->signals, &port->firsts, &port->transfers};
	static const unsigned use[] = {OFI_SENDS, OFI_SIGNALS, OFI_FIRSTS, OFI_TRANSFERS};
	unsigned messages = port->receives + port->sends.all + port->signals.all + port->firsts.all;
	struct ofi_buffer *first;

	port->arena_bytes = (size_t)messages * OFI_MESSAGE;
	port->buffer = first = calloc(messages + port->transfers.all, sizeof(*port->buffer));
	port->arena = mmap(NULL, port->arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (port->arena == MAP_FAILED)
		port->arena = NULL;
	if (!port->buffer || !port->arena)
		return -FI_ENOMEM;
	first += port->receives;
	for (unsigned i = 0; i < 4; first += idle[i++]->all)
		if (ofi_pool_init(idle[i], first, use[i]))
			return -FI_ENOMEM;
	for (unsigned i = 0; i < messages; i++)
		port->buffer[i].head = (struct ofi_head *)(void *)(port->arena + (size_t)i * OFI_MESSAGE);
	for (unsigned i = 0; i < port->receives; i++)
		port->buffer[i].use = OFI_RECEIVES;
	if (!(port->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	int error =
	    fi_mr_reg(port->domain, port->arena, port->arena_bytes, FI_SEND | FI_RECV, 0, 0, 0, &port->mr, NULL);
	port->desc = error ? NULL : fi_mr_desc(port->mr);
	return error;
}

static ssize_t ofi_post(struct ofi_port *port, struct ofi_buffer *buffer)
{
	return fi_recv(port->ep, buffer->head, OFI_MESSAGE, port->desc, FI_ADDR_UNSPEC, &buffer->context);
}

static int ofi_post_all(struct ofi_port *port)
{
	for (unsigned i = 0; i < port->receives; i++) {
		ssize_t error = ofi_post(port, &port->buffer[i]);

		if (error)
			return (int)error;
	}
	return 0;
}

static int ofi_bring_up(struct ofi_port *port, const char **step)
{
	struct fi_cq_attr cq = {.size = port->sends.all + port->signals.all + port->receives + port->transfers.all,
	                        .format = FI_CQ_FORMAT_MSG,
	                        .wait_obj = ofi_fds_object(port)};
	int error;

	if ((*step = "fabric", error = ofi_calls.fi_fabric(port->info->fabric_attr, &port->fabric, NULL)) ||
	    (*step = "domain", error = fi_domain(port->fabric, port->info, &port->domain, NULL)) ||
	    (*step = "completion queue", error = fi_cq_open(port->domain, &cq, &port->cq, NULL)) ||
	    (*step = "wait descriptor", error = ofi_fds_up(port)) ||
	    (error = port->connections ? ofi_msg_up(port, step) : ofi_rdm_up(port, step)) ||
	    (*step = "buffers", error = ofi_buffers(port)) || (error = ofi_post_all(port)))
		return error;
	ofi_quirk_limit(&port->address);
	return 0;
}

int ofi_port_open(struct ofi_port *port, const struct tw_net_config *config, unsigned sends, unsigned signals,
                  unsigned receives, unsigned transfers, unsigned peers)
{
	const char *step;
	sigset_t all, old;
	int error;

	*port = (struct ofi_port){.fds = OFI_NO_FDS};
	if ((error = ofi_choose(port, config)))
		return error;
	bool connected = port->info->ep_attr->type == FI_EP_MSG;
	port->direct =
	    port->info->caps & FI_RMA && !(port->info->domain_attr->mr_mode & (FI_MR_LOCAL | FI_MR_ALLOCATED));
	port->inject =
	    connected ? port->info->tx_attr->inject_size : TW_MIN(port->info->tx_attr->inject_size, (size_t)OFI_INJECT);
	port->sends.all = sends;
	port->signals.all = signals;
	port->transfers.all = transfers;
	port->firsts.all = connected ? OFI_FIRSTS_AT_ONCE : 0;
	port->connections = connected ? peers : 0;
	port->receives = (unsigned)TW_MIN((size_t)receives, port->info->rx_attr->size);
	/* A thread that a provider starts must not take the program's signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = ofi_bring_up(port, &step);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!error)
		return 0;
	tw_log("transport ofi: libfabric's provider %s gives no %s: %s", port->info->fabric_attr->prov_name, step,
	       ofi_text(error));
	ofi_port_close(port);
	return -EIO;
}

void ofi_port_close(struct ofi_port *port)
{
	ofi_msg_down(port);
	struct fid *all[] = {
	    port->ep ? &port->ep->fid : NULL,         port->mr ? &port->mr->fid : NULL,
	    port->memory ? &port->memory->fid : NULL, port->av ? &port->av->fid : NULL,
	    port->cq ? &port->cq->fid : NULL,         port->pep ? &port->pep->fid : NULL,
	    port->eq ? &port->eq->fid : NULL,         port->domain ? &port->domain->fid : NULL,
	    port->fabric ? &port->fabric->fid : NULL,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i])
			fi_close(all[i]);
	ofi_quirk_pair_close(&port->fds);
	if (port->info)
		ofi_calls.fi_freeinfo(port->info);
	if (port->arena)
		munmap(port->arena, port->arena_bytes);
	free(port->buffer);
	free(port->sends.stack);
	free(port->signals.stack);
	free(port->transfers.stack);
	free(port->firsts.stack);
	*port = (struct ofi_port){.fds = OFI_NO_FDS}; /* its owner closes it again if it did not open */
}

int ofi_port_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer)
{
	return port->connection ? ofi_msg_peer(port, address, peer) : ofi_rdm_peer(port, address, peer);
}

int ofi_port_back(struct ofi_port *port, struct ofi_buffer *first, const struct tw_net_address *address,
                  fi_addr_t *peer)
{
	return port->connection ? ofi_msg_back(port, first, peer) : ofi_rdm_peer(port, address, peer);
}

void ofi_port_forget(struct ofi_port *port, fi_addr_t peer)
{
	if (port->connection)
		ofi_msg_forget(port, peer);
	else
		fi_av_remove(port->av, &peer, 1, 0);
}

void ofi_port_export(struct ofi_port *port, void *base, size_t bytes, struct ofi_window *memory)
{
	uint64_t key;

	*memory = (struct ofi_window){0};
	if (!port->direct || getrandom(&key, sizeof(key), 0) != sizeof(key) ||
	    fi_mr_reg(port->domain, base, bytes, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, key, 0, &port->memory, NULL))
		return;
	memory->key = fi_mr_key(port->memory);
	memory->base = port->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
	memory->direct = 1;
}

/* ---- sending, receiving, waiting ---- */

ssize_t ofi_send(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *buffer, bool answered)
{
	struct fid_ep *ep = port->connection ? port->connection[peer].ep : port->ep;
	size_t bytes = buffer->head->bytes;
	bool up = !port->connection || port->connection[peer].state == OFI_UP;
	bool keep = up && (!answered || bytes > port->inject);
	int saved = errno; /* the program's */
	ssize_t error = keep ? fi_send(ep, buffer->head, bytes, port->desc, peer, &buffer->context)
	                : up ? fi_inject(ep, buffer->head, bytes, peer)
	                     : ofi_msg_first(&port->connection[peer], buffer->head);

	if (!error && !keep)
		ofi_again(port, buffer);
	errno = saved;
	return error;
}

ssize_t ofi_transfer(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *transfer, bool write, void *local,
                     size_t bytes, uint64_t remote, uint64_t key)
{
	struct fid_ep *ep = port->connection ? port->connection[peer].ep : port->ep;

	if (port->connection && port->connection[peer].state != OFI_UP)
		return -FI_ENOTCONN;
	int saved = errno;
	ssize_t error = write ? fi_write(ep, local, bytes, NULL, peer, remote, key, &transfer->context)
	                      : fi_read(ep, local, bytes, NULL, peer, remote, key, &transfer->context);
	errno = saved;
	return error;
}

void ofi_again(struct ofi_port *port, struct ofi_buffer *buffer)
{
	struct ofi_pool *idle = buffer->use == OFI_SENDS     ? &port->sends
	                        : buffer->use == OFI_SIGNALS ? &port->signals
	                        : buffer->use == OFI_FIRSTS  ? &port->firsts
	                                                     : &port->transfers;

	buffer->away = false;
	if (buffer->request)
		ofi_msg_refuse(port, buffer);
	if (buffer->use != OFI_RECEIVES) {
		idle->stack[idle->count++] = buffer;
		return;
	}
	ssize_t error = ofi_post(port, buffer);
	if (error)
		tw_fatal("transport ofi: cannot receive any more: %s", ofi_text(error));
}

static enum ofi_event port_completion(struct ofi_port *port, struct ofi_buffer **buffer)
{
	const struct fi_cq_msg_entry *entry = &port->completion[port->next++];

	*buffer = entry->op_context;
	(*buffer)->bytes = entry->len;
	if ((*buffer)->use == OFI_RECEIVES)
		return OFI_RECEIVED;
	ofi_again(port, *buffer);
	return OFI_SENT;
}

static enum ofi_event port_poll(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *failure)
{
	struct fi_cq_err_entry error = {0};

	if (port->eq && port->eq_polls-- == 0) {
		enum ofi_event event = ofi_msg_event(port, buffer, failure);
		port->eq_polls = event == OFI_NOTHING ? OFI_EQ_POLLS : 0;
		if (event != OFI_NOTHING)
			return event;
	}
	ssize_t got = fi_cq_read(port->cq, port->completion, OFI_COMPLETIONS);
	*failure = got;
	if (got > 0) {
		port->next = 0;
		port->completions = (unsigned)got;
		return port_completion(port, buffer);
	}
	if (got == -FI_EAGAIN || got == 0 || got == -FI_EINTR)
		return OFI_NOTHING;
	if (got == -FI_EAVAIL && fi_cq_readerr(port->cq, &error, 0) == 1) {
		*buffer = error.op_context;
		*failure = error.err;
		if (*buffer)
			ofi_again(port, *buffer);
	}
	return OFI_FAILED;
}

enum ofi_event ofi_poll(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *failure)
{
	*buffer = NULL;
	if (port->next < port->completions)
		return port_completion(port, buffer);
	int saved = errno;
	enum ofi_event event = port_poll(port, buffer, failure);
	errno = saved;
	return event;
}
