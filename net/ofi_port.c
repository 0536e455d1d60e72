/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_port.c - libfabric, and one endpoint of it with buffers.
 *
 * libfabric is loaded at run time; what its headers have as inline functions goes through tables of the objects themselves. */
#include "net/ofi.h"

#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "net/interface.h"

#define OFI_PROVIDER "tcp"
#define OFI_CALLS(X) X(fi_getinfo) X(fi_freeinfo) X(fi_dupinfo) X(fi_fabric) X(fi_strerror)

static struct {
#define X(name) __typeof__(name) *name;
	OFI_CALLS(X)
#undef X
	bool loaded;
} ofi;

int ofi_load(char *why, size_t why_bytes)
{
	if (ofi.loaded)
		return 0;
	void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		tw_format(why, why_bytes, "libfabric.so.1 is not installed");
		return -ENOENT;
	}
	ofi.loaded = true;
#define X(name) ofi.loaded = ofi.loaded && (*(void **)&ofi.name = dlsym(library, #name)) != NULL;
	OFI_CALLS(X)
#undef X
	if (!ofi.loaded) {
		tw_format(why, why_bytes, "libfabric.so.1 is none that we know");
		dlclose(library);
		return -ENOTSUP;
	}
	return 0;
}

const char *ofi_text(ssize_t error)
{
	return ofi.fi_strerror((int)(error < 0 ? -error : error));
}

/* ---- which fabric ---- */

/* The first of this host's addresses that @setting names, as digits; IPv4 goes first. */
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

/* What has @caps and fits the settings, first what libfabric likes best.  Returns 0 or libfabric's error. */
static int ofi_info_with(uint64_t caps, const char *provider, const char *domain, const char *address,
                         struct fi_info **info)
{
	struct fi_info *hints = ofi.fi_dupinfo(NULL);

	if (!hints)
		return -FI_ENOMEM;
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order =
	    FI_ORDER_SAS | (caps & FI_RMA ? FI_ORDER_SAW | FI_ORDER_RAW | FI_ORDER_WAW : 0);
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->fabric_attr->prov_name = strdup(provider && *provider ? provider : OFI_PROVIDER);
	if (domain && *domain)
		hints->domain_attr->name = strdup(domain);
	int error =
	    ofi.fi_getinfo(FI_VERSION(1, 17), address, NULL, address ? FI_SOURCE | FI_NUMERICHOST : 0, hints, info);
	ofi.fi_freeinfo(hints);
	return error;
}

/* With remote writes and reads that keep in line with messages, or without. */
static int ofi_info(const char *provider, const char *domain, const char *address, struct fi_info **info)
{
	int error = ofi_info_with(FI_MSG | FI_RMA, provider, domain, address, info);

	return error ? ofi_info_with(FI_MSG, provider, domain, address, info) : 0;
}

int ofi_works(const char *provider, char *why, size_t why_bytes)
{
	struct fi_info *info;
	int error = ofi_load(why, why_bytes);

	if (error)
		return error;
	error = ofi_info(provider, NULL, NULL, &info);
	if (error) {
		tw_format(why, why_bytes, "libfabric has no provider %s with reliable datagrams: %s",
		          provider && *provider ? provider : OFI_PROVIDER, ofi_text(error));
		return -ENOTSUP;
	}
	ofi.fi_freeinfo(info);
	return 0;
}

static int ofi_choose(struct ofi_port *port, const struct tw_net_config *config)
{
	bool any = !config->interface || !*config->interface;
	char digits[64], why[192];
	int error;

	if (ofi_load(why, sizeof(why))) {
		tw_log("transport ofi: %s", why);
		return -ENOTSUP;
	}
	if (!any && ofi_own_address(config->interface, digits, sizeof(digits))) {
		tw_log(
		    "transport ofi: no address of this host fits TWEED_NET_INTERFACE \"%s\"; 'ip address' lists them",
		    config->interface);
		return -EADDRNOTAVAIL;
	}
	error = ofi_info(config->provider, config->device, any ? NULL : digits, &port->info);
	if (error) {
		tw_log("transport ofi: libfabric has nothing for provider \"%s\", domain \"%s\", address \"%s\": %s; "
		       "'fi_info' "
		       "lists what it has",
		       config->provider && *config->provider ? config->provider : OFI_PROVIDER,
		       config->device ? config->device : "", any ? "" : digits, ofi_text(error));
		return -ENOTSUP;
	}
	return 0;
}

/* ---- a port ---- */

static int ofi_idle_init(struct ofi_idle *idle, struct ofi_buffer *first, unsigned use)
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

/* Buffers to receive into are first, then those to send and to tell from; transfers have no memory of their own. */
static int ofi_buffers(struct ofi_port *port)
{
	unsigned tells = port->receives + port->sends.all, messages = tells + port->tells.all;
	size_t bytes = (size_t)messages * OFI_MESSAGE;

	port->buffer = calloc(messages + port->transfers.all, sizeof(*port->buffer));
	port->arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (port->arena == MAP_FAILED)
		port->arena = NULL;
	if (!port->buffer || !port->arena || ofi_idle_init(&port->sends, port->buffer + port->receives, OFI_SENDS) ||
	    ofi_idle_init(&port->tells, port->buffer + tells, OFI_TELLS) ||
	    ofi_idle_init(&port->transfers, port->buffer + messages, OFI_TRANSFERS))
		return -FI_ENOMEM;
	for (unsigned i = 0; i < messages; i++)
		port->buffer[i].head = (struct ofi_head *)(void *)(port->arena + (size_t)i * OFI_MESSAGE);
	for (unsigned i = 0; i < port->receives; i++)
		port->buffer[i].use = OFI_RECEIVES;
	if (!(port->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	int error = fi_mr_reg(port->domain, port->arena, bytes, FI_SEND | FI_RECV, 0, 0, 0, &port->mr, NULL);
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
	struct fi_cq_attr cq = {.size = port->sends.all + port->tells.all + port->receives + port->transfers.all,
	                        .format = FI_CQ_FORMAT_MSG,
	                        .wait_obj = FI_WAIT_FD};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	size_t bytes = sizeof(port->address.bytes);
	int error;

	if ((*step = "fabric", error = ofi.fi_fabric(port->info->fabric_attr, &port->fabric, NULL)) ||
	    (*step = "domain", error = fi_domain(port->fabric, port->info, &port->domain, NULL)) ||
	    (*step = "completion queue", error = fi_cq_open(port->domain, &cq, &port->cq, NULL)) ||
	    (*step = "address vector", error = fi_av_open(port->domain, &av, &port->av, NULL)) ||
	    (*step = "endpoint", error = fi_endpoint(port->domain, port->info, &port->ep, NULL)) ||
	    (error = fi_ep_bind(port->ep, &port->av->fid, 0)) ||
	    (error = fi_ep_bind(port->ep, &port->cq->fid, FI_TRANSMIT | FI_RECV)) || (error = fi_enable(port->ep)) ||
	    (*step = "wait descriptor", error = fi_control(&port->cq->fid, FI_GETWAIT, &port->wait)) ||
	    (*step = "address", error = fi_getname(&port->ep->fid, port->address.bytes, &bytes)) ||
	    (*step = "buffers", error = ofi_buffers(port)) || (error = ofi_post_all(port)))
		return error;
	port->address.len = (uint16_t)bytes;
	return 0;
}

int ofi_port_open(struct ofi_port *port, const struct tw_net_config *config, unsigned sends, unsigned tells,
                  unsigned receives, unsigned transfers)
{
	const char *step;
	sigset_t all, old;
	int error;

	*port = (struct ofi_port){.wait = -1};
	if ((error = ofi_choose(port, config)))
		return error;
	port->direct =
	    port->info->caps & FI_RMA && !(port->info->domain_attr->mr_mode & (FI_MR_LOCAL | FI_MR_ALLOCATED));
	port->inject = TW_MIN(port->info->tx_attr->inject_size, (size_t)OFI_INJECT);
	port->sends.all = sends;
	port->tells.all = tells;
	port->transfers.all = transfers;
	port->receives = (unsigned)TW_MIN((size_t)receives, port->info->rx_attr->size);
	/* Should a provider start a thread, no signal of the program is for it. */
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
	struct fid *all[] = {
	    port->ep ? &port->ep->fid : NULL,         port->mr ? &port->mr->fid : NULL,
	    port->memory ? &port->memory->fid : NULL, port->av ? &port->av->fid : NULL,
	    port->cq ? &port->cq->fid : NULL,         port->domain ? &port->domain->fid : NULL,
	    port->fabric ? &port->fabric->fid : NULL,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i])
			fi_close(all[i]);
	if (port->info)
		ofi.fi_freeinfo(port->info);
	if (port->arena)
		munmap(port->arena, (size_t)(port->sends.all + port->tells.all + port->receives) * OFI_MESSAGE);
	free(port->buffer);
	free(port->sends.stack);
	free(port->tells.stack);
	free(port->transfers.stack);
}

int ofi_port_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer)
{
	return fi_av_insert(port->av, address->bytes, 1, peer, 0, NULL) == 1 ? 0 : -EINVAL;
}

void ofi_port_export(struct ofi_port *port, void *base, size_t bytes, struct ofi_welcome *welcome)
{
	uint64_t key;

	*welcome = (struct ofi_welcome){0};
	if (!port->direct || getrandom(&key, sizeof(key), 0) != sizeof(key) ||
	    fi_mr_reg(port->domain, base, bytes, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, key, 0, &port->memory, NULL))
		return;
	welcome->key = fi_mr_key(port->memory);
	welcome->base = port->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
	welcome->direct = 1;
}

/* ---- sending, receiving, waiting ---- */

ssize_t ofi_send(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *buffer, bool answered)
{
	ssize_t error;

	if (answered && buffer->head->bytes <= port->inject) {
		error = fi_inject(port->ep, buffer->head, buffer->head->bytes, peer);
		if (!error)
			ofi_again(port, buffer);
		return error;
	}
	return fi_send(port->ep, buffer->head, buffer->head->bytes, port->desc, peer, &buffer->context);
}

ssize_t ofi_transfer(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *transfer, bool write, void *local,
                     size_t bytes, uint64_t remote, uint64_t key)
{
	if (write)
		return fi_write(port->ep, local, bytes, NULL, peer, remote, key, &transfer->context);
	return fi_read(port->ep, local, bytes, NULL, peer, remote, key, &transfer->context);
}

void ofi_again(struct ofi_port *port, struct ofi_buffer *buffer)
{
	struct ofi_idle *idle = buffer->use == OFI_SENDS   ? &port->sends
	                        : buffer->use == OFI_TELLS ? &port->tells
	                                                   : &port->transfers;

	buffer->away = false;
	if (buffer->use != OFI_RECEIVES) {
		idle->stack[idle->count++] = buffer;
		return;
	}
	ssize_t error = ofi_post(port, buffer);
	if (error)
		tw_fatal("transport ofi: cannot receive any more: %s", ofi_text(error));
}

enum ofi_event ofi_poll(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *failure)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = {0};
	ssize_t got = fi_cq_read(port->cq, &entry, 1);

	*buffer = NULL;
	*failure = got;
	if (got == 1) {
		*buffer = entry.op_context;
		(*buffer)->bytes = entry.len;
		if ((*buffer)->use == OFI_RECEIVES)
			return OFI_RECEIVED;
		ofi_again(port, *buffer);
		return OFI_SENT;
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

bool ofi_sleep(struct ofi_port *port, int also, uint64_t timeout_ns)
{
	struct fid *fid = &port->cq->fid;
	struct pollfd wait[2] = {{.fd = port->wait, .events = POLLIN}, {.fd = also, .events = POLLIN}};
	struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
	                      .tv_nsec = (long)(timeout_ns % 1000000000u)};

	return fi_trywait(port->fabric, &fid, 1) != 0 || ppoll(wait, 2, timeout_ns ? &ts : NULL, NULL) != 0;
}
