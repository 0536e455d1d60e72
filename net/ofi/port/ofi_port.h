/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_port.h - a port: libfabric's endpoint with buffers, as endpoint and server of the ofi transport use it. */
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

#define OFI_INJECT         64u  /* reliable datagrams: providers over TCP do not really send longer messages at once */
#define OFI_FIRST          256u /* most bytes of a first message */
#define OFI_COMPLETIONS    16u  /* taken at once: each read of the queue costs a system call */
#define OFI_FIRSTS_AT_ONCE 8u   /* first messages that are handled at the same time */

/* A buffer to send from or to receive into. */
struct ofi_buffer {
	struct fi_context2 context; /* libfabric's while the buffer is in flight */
	struct ofi_head *head;
	size_t bytes; /* received */
	enum { OFI_SENDS, OFI_RECEIVES, OFI_TRANSFERS, OFI_SIGNALS, OFI_FIRSTS } use;
	unsigned peer;           /* not for receiving: the destination, a number of the port's user */
	bool away;               /* a message that the provider has not sent yet */
	unsigned *in_flight;     /* transfers: the counter of those in flight */
	struct fi_info *request; /* of the connection that this first message requests; NULL: of none */
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
	bool asked; /* requested by the peer: the first message to it accepts, else the first message requests */
	uint8_t to[sizeof(struct sockaddr_in6)];
};

/* Descriptors that a port sleeps on; -1: none. */
struct ofi_fds {
	int queue;  /* of cq, an epoll; -1: its connections are asked for each time */
	int events; /* of eq */
	int signal; /* the provider's pair of sockets, kept out of its polls (ofi_quirks.c) */
	int hidden; /* the provider's number of the pair, at which `never` is instead */
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
	struct fid_ep *ep;                 /* to all peers; of connected endpoints: receives of all connections */
	struct fid_eq *eq;                 /* connected endpoints, as the next three: events of connections */
	struct fid_pep *pep;               /* at which peers request connections */
	struct ofi_connection *connection; /* a peer's number is the index of its connection */
	unsigned connections;
	unsigned eq_polls;     /* calls of ofi_poll until the next poll of eq */
	struct fid_mr *mr;     /* registration of all buffers, where the provider wants that */
	struct fid_mr *memory; /* registration of the node's memory, for remote access */
	void *desc;
	bool direct;   /* remote writes and reads work with any local memory, and with all of a sparse node's memory */
	size_t inject; /* messages of up to so many bytes are sent at once, and their buffer is idle again */
	struct ofi_fds fds;
	char *arena;
	size_t arena_bytes;
	struct ofi_buffer *buffer;
	struct ofi_pool sends, signals, transfers, firsts;
	struct fi_cq_msg_entry completion[OFI_COMPLETIONS]; /* taken off cq; [next, completions) are to be handled */
	unsigned next, completions;
	unsigned receives;
	struct tw_net_address address; /* its own */
};

/* ---- ofi_library.c
 *
 * ofi_load - load the library for @provider, once.  Returns 0, or -errno with one clause in @why.
 * ofi_calls - its functions that are not inline ones, once it is loaded.
 * ofi_text - libfabric's text for one of its errors. */
#define OFI_CALLS(X) X(fi_getinfo) X(fi_freeinfo) X(fi_dupinfo) X(fi_fabric) X(fi_strerror) X(fi_version)
extern struct ofi_calls {
#define X(name) __typeof__(name) *name;
	OFI_CALLS(X)
#undef X
} ofi_calls;
int ofi_load(const char *provider, char *why, size_t why_bytes);
const char *ofi_text(ssize_t error);

/* ---- ofi_quirks.c: what particular versions of libfabric need
 *
 * ofi_quirk_polls - should cq be opened without a descriptor of its own, so that the provider polls its connections?
 * ofi_quirk_pair_hide - take the provider's pair of sockets out of its polls, if it has one; cq is open, and no
 * connection yet.
 * ofi_quirk_pair_close - after everything of libfabric is closed.
 * ofi_quirk_trywait - fi_trywait, with the pair in place.
 * ofi_quirk_limit - bound the time that the provider waits for the rest of a request; @address: at which the port
 * listens.
 * ofi_quirk_eq_read - fi_eq_read. */
bool ofi_quirk_polls(const struct ofi_port *port);
void ofi_quirk_pair_hide(struct ofi_port *port);
void ofi_quirk_pair_close(struct ofi_fds *fds);
int ofi_quirk_trywait(struct ofi_port *port, struct fid **fid, int count);
void ofi_quirk_limit(const struct tw_net_address *address);
ssize_t ofi_quirk_eq_read(struct fid_eq *eq, uint32_t *event, void *data, size_t bytes);

/* ---- ofi_sleep.c
 *
 * ofi_fds_object - the kind of wait object that cq is to be opened with.
 * ofi_fds_up - cq is open, and no connection yet.  Returns 0 or libfabric's error.
 * ofi_sleep - until there may be something to poll for, or @also (if >= 0) is readable: true; or @timeout_ns (0: no
 * limit) have
 * passed: false. */
enum fi_wait_obj ofi_fds_object(const struct ofi_port *port);
int ofi_fds_up(struct ofi_port *port);
bool ofi_sleep(struct ofi_port *port, int also, uint64_t timeout_ns);

/* ---- ofi_rdm.c: reliable datagrams; ofi_msg.c: connected endpoints.  Called by ofi_port.c alone.
 *
 * _up - open what is there before the buffers.  Returns 0, or libfabric's error with the object that it is about in
 * @*step; _down, and ofi_port_close, undo it.
 * _peer, _back, _forget - as ofi_port_peer and so on.
 * ofi_msg_refuse - refuse the connection that @first requests.
 * ofi_msg_first - send the first message of a connection.  Returns as ofi_send.
 * ofi_msg_event - as ofi_poll, of the events of connections. */
int ofi_rdm_up(struct ofi_port *port, const char **step);
int ofi_rdm_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);
int ofi_msg_up(struct ofi_port *port, const char **step);
void ofi_msg_down(struct ofi_port *port);
int ofi_msg_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);
int ofi_msg_back(struct ofi_port *port, struct ofi_buffer *first, fi_addr_t *peer);
void ofi_msg_forget(struct ofi_port *port, fi_addr_t peer);
void ofi_msg_refuse(struct ofi_port *port, struct ofi_buffer *first);
ssize_t ofi_msg_first(struct ofi_connection *connection, const struct ofi_head *head);

enum ofi_event { OFI_NOTHING, OFI_SENT, OFI_RECEIVED, OFI_FAILED, OFI_BROKEN };
enum ofi_event ofi_msg_event(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *peer);

/* ---- ofi_port.c
 *
 * ofi_works - ofi_load, and: does the library have @provider?  Returns as ofi_load. */
int ofi_works(const char *provider, char *why, size_t why_bytes);

/* ofi_port_open - open a port with @sends buffers to send to servers, or from one; @signals to send to peers;
 * @receives to receive, which are posted; for @transfers remote writes and reads at once; and at most @peers
 * connections.  Returns 0 or -errno, logged. */
int ofi_port_open(struct ofi_port *port, const struct tw_net_config *config, unsigned sends, unsigned signals,
                  unsigned receives, unsigned transfers, unsigned peers);
void ofi_port_close(struct ofi_port *port);
/* ofi_port_peer - this port's number for the peer at @address.
 * ofi_port_back - the number of the peer that sent the first message @first and gave @address as its own: by the
 * connection that @first requests, or by @address.
 * Both allocate, and return 0 or -errno.  ofi_port_forget - the number is needed no more. */
int ofi_port_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer);
int ofi_port_back(struct ofi_port *port, struct ofi_buffer *first, const struct tw_net_address *address,
                  fi_addr_t *peer);
void ofi_port_forget(struct ofi_port *port, fi_addr_t peer);

/* ofi_port_export - allow holders of the key to write and read @bytes at @base; @memory says how, or that they
 * cannot. */
void ofi_port_export(struct ofi_port *port, void *base, size_t bytes, struct ofi_window *memory);

/* ofi_poll - the next event, and its buffer:
 * SENT - the buffer is idle again;
 * RECEIVED - buffer->bytes are in it.  ofi_again returns it, and refuses the connection that it requests, unless
 * ofi_port_back took that;
 * FAILED - @*failure is libfabric's error; the buffer, if not NULL, is idle as after SENT, or posted again;
 * BROKEN - @*failure is the number of a peer whose connection is broken. */
enum ofi_event ofi_poll(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *failure);
void ofi_again(struct ofi_port *port, struct ofi_buffer *buffer);
/* ofi_take - an idle buffer, or NULL. */
static inline struct ofi_buffer *ofi_take(struct ofi_pool *idle)
{
	return idle->count ? idle->stack[--idle->count] : NULL;
}
/* ofi_send - a message, of head->bytes.  @answered: the caller goes on polling until an answer shows that the message
 * arrived, or need not know; then the buffer of a short message is idle again at once.  The first message to a peer,
 * of at most OFI_FIRST bytes, connects.
 * ofi_transfer - a remote write, or read.
 * Return 0: the buffer is libfabric's until ofi_poll returns SENT or FAILED; -FI_EAGAIN: poll, then try again; or
 * libfabric's error.  After an error the buffer is still the caller's. */
ssize_t ofi_send(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *buffer, bool answered);
ssize_t ofi_transfer(struct ofi_port *port, fi_addr_t peer, struct ofi_buffer *transfer, bool write, void *local,
                     size_t bytes, uint64_t remote, uint64_t key);

/* ---- how waits spin
 *
 * A wait spins first, and again after each wake-up, for config.spin_ns.  Between two polls it yields, because the
 * other side may share this core, and an idle core takes longer to wake up than a yield to return.  Where
 * config.spin_ns is short, because there are fewer cores than processes, a wait spins a while longer than an answer
 * takes; if that was in vain, the next waits sleep at once: one, because it may have been chance; twice as many if it
 * was in vain again; half as many if it was not.  If config.spin_ns is 0, no wait spins. */
struct ofi_spin {
	uint64_t most_ns;
	bool adapts;
	unsigned vain;   /* so many waits do not spin */
	unsigned again;  /* `vain` after the next wait that spins in vain */
	uint64_t woken;  /* time of the last wake-up; 0: none since the wait began */
	unsigned alone;  /* polls until the next yield */
	unsigned stolen; /* so many waits do not spin after the next long yield; 0: no yield was long lately */
	unsigned calm;   /* yields since the last long one */
};

#define OFI_SOON_NS   200000u
#define OFI_VAIN      16u
#define OFI_ALONE_NS  1000u   /* a shorter yield found no other thread on this core */
#define OFI_ALONE     7u      /* polls without a yield after that */
#define OFI_STOLEN_NS 200000u /* a longer yield, if another follows soon, gave the core to a thread that computes */
#define OFI_CALM      256u    /* yields: after so many it is not soon */
#define OFI_STOLEN    4096u   /* most waits that do not spin then: a sleeping thread gets the core at once */

static inline struct ofi_spin ofi_spin_new(unsigned spin_ns)
{
	return (struct ofi_spin){
	    .most_ns = spin_ns ? TW_MAX(spin_ns, OFI_SOON_NS) : 0, .adapts = spin_ns < OFI_SOON_NS, .again = 1};
}
/* ofi_spin_on - should a wait since @begun spin on?  Then call ofi_spin_yield between two polls.  ofi_spin_end - the
 * wait is over. */
static inline bool ofi_spin_on(const struct ofi_spin *spin, uint64_t begun, uint64_t now)
{
	return !spin->vain && now - TW_MAX(begun, spin->woken) < spin->most_ns;
}
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
		if (spin->stolen) /* one may be chance, the host's too */
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

#endif
