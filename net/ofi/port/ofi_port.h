/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi.h - libfabric, and an endpoint of it with buffers: what endpoint and server of the ofi transport share. */
#ifndef TW_NET_OFI_PORT_OFI_PORT_H
#define TW_NET_OFI_PORT_OFI_PORT_H

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>

#include "core/base/base.h"
#include "net/ofi/ofi_wire.h"
#include "net/transports.h"

#define OFI_INJECT 64u  /* reliable datagrams: more than that, providers over TCP only pretend to (net/ofi/ofi_wire.h) */
#define OFI_FIRST  256u /* bytes of a first message */
#define OFI_COMPLETIONS   16u  /* completions taken at once, as each look at the queue costs a system call */
#define OFI_FIRSTS_AT_ONCE   8u   /* first messages that are looked at, at once */

/* One buffer, to send from or to receive into. */
struct ofi_buffer {
	struct fi_context2 context; /* libfabric's while it is under way */
	struct ofi_head *head;
	size_t bytes; /* received */
	enum { OFI_SENDS, OFI_RECEIVES, OFI_TRANSFERS, OFI_SIGNALS, OFI_FIRSTS } use;
	unsigned peer;           /* not receiving: whom it goes to, the user's own number */
	bool away;               /* a message that the provider has not given away yet */
	unsigned *in_flight;     /* transfers: where they are counted */
	struct fi_info *request; /* of the connection that this first message asks for; NULL: of none */
};

/* Buffers, or contexts, that are not in use. */
struct ofi_pool {
	struct ofi_buffer **stack;
	unsigned count, all;
};

/* The connection to a peer, of connected endpoints. */
struct ofi_connection {
	struct fid_ep *ep; /* NULL: none */
	enum { OFI_NEW, OFI_OPENING, OFI_UP, OFI_DOWN } state;
	bool asked; /* by the peer: accepted with the first message to it, else asked for with that */
	uint8_t to[sizeof(struct sockaddr_in6)];
};

/* Descriptors that a port is slept on; -1: none. */
struct ofi_fds {
	int queue;  /* of cq, an epoll; -1: its connections are asked for each time */
	int events; /* of eq */
	int signal; /* the provider's pair of sockets for completions, which is out of what a look looks at */
	int hidden; /* the provider's number of it, where that stands for never instead */
	int never;  /* is never readable */
};
#define OFI_NO_FDS ((struct ofi_fds){-1, -1, -1, -1, -1})

/* A libfabric endpoint with its buffers.  One thread at a time; after ofi_port_open nothing here allocates. */
struct ofi_port {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;   /* to all peers; connected: what all connections receive by */
	struct fid_eq *eq;   /* connected, as what follows: what becomes of connections */
	struct fid_pep *pep; /* where they are asked for */
	struct ofi_connection *connection; /* a peer's number is that of its way */
	unsigned connections;
	unsigned eq_polls;        /* until the next one at eq */
	struct fid_mr *mr;     /* of all buffers, where the provider wants that */
	struct fid_mr *memory; /* of the node's memory, for others to reach */
	void *desc;
	bool direct;   /* remote writes and reads work from anywhere to all of a sparse memory */
	size_t inject; /* so many bytes are sent at once and forgotten */
	struct ofi_fds fds;
	char *arena;
	size_t arena_bytes;
	struct ofi_buffer *buffer;
	struct ofi_pool sends, signals, transfers, firsts;
	struct fi_cq_msg_entry completion[OFI_COMPLETIONS]; /* taken off cq: [next, completions) are still to be polled */
	unsigned next, completions;
	unsigned receives;
	struct tw_net_address address; /* its own */
};

/* ofi_library - dlopen of libfabric; @psm: with what its providers psm and psm2 need, else only where there are devices for them.
 * ofi_load - the library for @provider, once.  Returns 0, or -errno with one clause in @why.  ofi_works - and has it the provider? */
void *ofi_library(bool psm);
int ofi_load(const char *provider, char *why, size_t why_bytes);
int ofi_works(const char *provider, char *why, size_t why_bytes);
/* ofi_text - libfabric's words for one of its errors. */
const char *ofi_text(ssize_t error);

/* ofi_port_open - with so many buffers to send, to tell other endpoints from, and to receive, that many transfers at once, and to so many
 * peers at most; what is to receive is posted.  Returns 0 or -errno, logged. */
int ofi_port_open(struct ofi_port *port, const struct tw_net_config *config, unsigned sends, unsigned signals,
                  unsigned receives, unsigned transfers, unsigned peers);
void ofi_port_close(struct ofi_port *port);
/* ofi_port_peer - a peer's address as this port's number for it.  ofi_port_back - that of the peer whose first message that is, and who
 * has said that @address is his.  Allocate.  Return 0 or -errno.  ofi_port_forget - it is needed no more. */
int ofi_port_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);
int ofi_port_back(struct ofi_port *port, struct ofi_buffer *first, const struct tw_net_address *address,
                  fi_addr_t *peer);
void ofi_port_forget(struct ofi_port *port, fi_addr_t peer);

/* ofi_port_export - let others who hold the key write and read @bytes at @base; @memory is how, or that they cannot. */
void ofi_port_export(struct ofi_port *port, void *base, size_t bytes, struct ofi_window *memory);

enum ofi_event { OFI_NOTHING, OFI_SENT, OFI_RECEIVED, OFI_FAILED, OFI_BROKEN };
/* ofi_poll - the next event, and its buffer: SENT, it is idle again; RECEIVED, buffer->bytes are in it, and ofi_again gives it back, and
 * refuses the connection that it asks for unless there is a way back; FAILED, @*failure is libfabric's error, and the buffer, if not
 * NULL, is as after SENT, or posted again; BROKEN, @*failure is the number of a peer to whom there is no way any more. */
enum ofi_event ofi_poll(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *failure);
void ofi_again(struct ofi_port *port, struct ofi_buffer *buffer);
/* ofi_take - one that is idle, or NULL. */
static inline struct ofi_buffer *ofi_take(struct ofi_pool *idle)
{
	return idle->count ? idle->stack[--idle->count] : NULL;
}
/* ofi_send - a message, of head->bytes; @answered: the caller goes on polling until it hears that the message has arrived, or need not
 * know: a short one is idle again at once.  The first one to a peer, of at most OFI_FIRST bytes, is what connects.  ofi_transfer - a
 * remote write, or read.  Return 0: the buffer is libfabric's until ofi_poll says SENT or FAILED; -FI_EAGAIN: poll, then try again; or libfabric's error, and the buffer stays the caller's. */
ssize_t ofi_send(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *buffer, bool answered);
ssize_t ofi_transfer(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *transfer, bool write, void *local,
                     size_t bytes, uint64_t remote, uint64_t key);
/* Whoever waits spins first, and again after each wake-up: for config.spin_ns.  Between two looks it yields, as the other side may share
 * this very core: an idle core would take longer to wake up than a yield to come back.  Where config.spin_ns is short, for there are fewer
 * cores than processes, a wait spins a while longer than an answer takes; but once that was in vain, the next waits sleep at once: one, for
 * once may have been chance, twice as many when it was in vain again, and half as many when it was not.  If config.spin_ns is 0,
 * nobody spins. */
struct ofi_spin {
	uint64_t most_ns;
	bool adapts;
	unsigned vain;  /* so many waits */
	unsigned again; /* so many the next time */
	uint64_t woken; /* when; 0: not since the wait began */
	unsigned alone; /* so many looks until the next yield */
	unsigned stolen; /* so many waits sleep at once when a yield takes long again; 0: none took long lately */
	unsigned calm;   /* yields since then */
};

#define OFI_SOON_NS 200000u
#define OFI_VAIN    16u
#define OFI_ALONE_NS  1000u   /* a yield that took less found nobody else on this core */
#define OFI_ALONE     7u      /* looks that follow without one then */
#define OFI_STOLEN_NS 200000u /* one that took more, and soon another one, gave the core to somebody who computes */
#define OFI_CALM      256u    /* yields: no longer soon */
#define OFI_STOLEN    4096u /* waits at most that sleep at once then: a sleeper gets the core as soon as something comes */

static inline struct ofi_spin ofi_spin_new(unsigned spin_ns)
{
	return (struct ofi_spin){
	    .most_ns = spin_ns ? TW_MAX(spin_ns, OFI_SOON_NS) : 0, .adapts = spin_ns < OFI_SOON_NS, .again = 1};
}
/* ofi_spin_on - shall a wait, since @begun, still spin, that is, yield?  ofi_spin_end - it has ended, and lasted @waited_ns. */
static inline bool ofi_spin_on(const struct ofi_spin *spin, uint64_t begun, uint64_t now)
{
	return !spin->vain && now - TW_MAX(begun, spin->woken) < spin->most_ns;
}
/* ofi_spin_yield - between two looks; @now. */
static inline void ofi_spin_yield(struct ofi_spin *spin, uint64_t now)
{
	if (spin->alone) {
		spin->alone--;
		return;
	}
	sched_yield();
	uint64_t took = tw_time_ns() - now;
	if (took < OFI_ALONE_NS)
		spin->alone = OFI_ALONE;
	if (took > OFI_STOLEN_NS) {
		if (spin->stolen) /* once may be chance: the host's, too */
			spin->vain = spin->stolen;
		spin->stolen = TW_MIN(TW_MAX(4 * spin->stolen, OFI_VAIN), OFI_STOLEN);
		spin->calm = 0;
	} else if (++spin->calm >= OFI_CALM) {
		spin->stolen = 0;
	}
}
static inline void ofi_spin_end(struct ofi_spin *spin, uint64_t waited_ns)
{
	spin->woken = 0;
	if (spin->vain) {
		spin->vain--;
	} else if (spin->adapts && waited_ns >= spin->most_ns) {
		spin->vain = spin->again;
		spin->again = TW_MAX(spin->again, TW_MIN(2 * spin->again, OFI_VAIN));
	} else {
		spin->again = TW_MAX(spin->again / 2, 1u);
	}
}

/* ---- ofi_sleep.c: how a port is looked at, and slept on.
 *
 * ofi_fds_object - which kind cq is to be opened with.  ofi_fds_up - cq is open, and no connection yet.  Returns 0 or libfabric's error.
 * ofi_fds_down - all of libfabric is closed. */
enum fi_wait_obj ofi_fds_object(const struct ofi_port *port);
int ofi_fds_up(struct ofi_port *port);
void ofi_fds_down(struct ofi_fds *fds);
/* ofi_sleep - until there may be something to poll for, @also (if >= 0) is readable, or @timeout_ns passed: then false. */
bool ofi_sleep(struct ofi_port *port, int also, uint64_t timeout_ns);

/* ---- ofi_rdm.c: reliable datagrams, ofi_msg.c: connected endpoints; called by ofi_port.c alone.
 *
 * _up - bring up what is there before the buffers; on failure @*step says what libfabric does not give, and _down takes down the rest.
 * _event - as ofi_poll, of what happens to connections. _first - send where no way is up yet. */
int ofi_rdm_up(struct ofi_port *port, const char **step);
int ofi_rdm_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);
int ofi_msg_up(struct ofi_port *port, const char **step);
void ofi_msg_down(struct ofi_port *port);
int ofi_msg_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);
int ofi_msg_back(struct ofi_port *port, struct ofi_buffer *first, fi_addr_t *peer);
void ofi_msg_forget(struct ofi_port *port, fi_addr_t peer);
void ofi_msg_refuse(struct ofi_port *port, struct ofi_buffer *first);
ssize_t ofi_msg_first(struct ofi_connection *connection, const struct ofi_head *head);
enum ofi_event ofi_msg_event(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *peer);
/* ofi_free_info - as libfabric's.  ofi_before - is the library that was loaded older than @version? */
void ofi_free_info(struct fi_info *info);
bool ofi_before(uint32_t version);

#endif
