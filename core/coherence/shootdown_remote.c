/* SPDX-License-Identifier: BSD-3-Clause */
/* shootdown_remote.c - the mechanism protect: a processor changes the rights in the views of other processors of the
 * node, through the descriptors that their fault backends created. Victims continue until they store.
 *
 * Before tw_init returns, each processor of a node sends its descriptor to all others and to the agent, through the
 * socket pairs of the boot file. A receiver takes descriptors out when it first needs them. So every processor that
 * holds a right has sent its descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/base.h"
#include "core/memory/regions.h"
#include "core/coherence/shootdown.h"

union remote_control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

struct remote_view {
	char *app;
	uint32_t local;
};

static struct {
	int box;                       /* this process's end of its socket pair; -1: closed */
	int handle[TW_MAX_PROCESSORS]; /* of each processor's view; -1: not taken out yet */
	char *app[TW_MAX_PROCESSORS];  /* the address of that view */
} remote = {.box = -1};

static struct msghdr remote_message(union remote_control *control, struct iovec *io)
{
	return (struct msghdr){
	    .msg_iov = io, .msg_iovlen = 1, .msg_control = control->bytes, .msg_controllen = sizeof(control->bytes)};
}

/* Take out one descriptor. Returns 0, or -EAGAIN when there is none and @flags contain MSG_DONTWAIT. */
static int remote_take(int flags)
{
	union remote_control control;
	struct remote_view view = {.local = TW_MAX_PROCESSORS};
	struct iovec io = {&view, sizeof(view)};
	struct msghdr m = remote_message(&control, &io);
	ssize_t n;

	while ((n = recvmsg(remote.box, &m, flags | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	const struct cmsghdr *c = n == (ssize_t)sizeof(view) ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)) || view.local >= TW_MAX_PROCESSORS)
		tw_fatal("a neighbour's view did not arrive: %s; raise the limit of open files (ulimit -n), or use "
		         "--shootdown polled",
		         n < 0 ? strerror(errno) : "damaged message");
	int handle;
	memcpy(&handle, CMSG_DATA(c), sizeof(int));
	remote.handle[view.local] = tw_fd_keep(handle);
	if (remote.handle[view.local] < 0)
		tw_fatal("a neighbour's view has no place: %s; raise the limit of open files (ulimit -Hn), or use "
		         "--shootdown polled",
		         strerror(errno));
	remote.app[view.local] = view.app;
	return 0;
}

static int remote_send(const struct tw_proc *me, int box)
{
	union remote_control control = {0};
	struct remote_view view = {.app = me->app, .local = me->local};
	struct iovec io = {&view, sizeof(view)};
	struct msghdr m = remote_message(&control, &io);

	control.header =
	    (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(&control.header), &me->fault.handle, sizeof(int));
	while (sendmsg(box, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno != EINTR && errno != EAGAIN && errno != ETOOMANYREFS)
			return -errno;
		/* Too many descriptors are in flight: take out some of this process's. */
		if (remote_take(MSG_DONTWAIT))
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return 0;
}

int tw_shootdown_remote_open(struct tw_proc *me, const struct tw_boot *boot)
{
	int error = 0;

	for (unsigned k = 0; k < TW_MAX_PROCESSORS; k++)
		remote.handle[k] = -1;
	remote.box = boot->handle_fd[me->local][0];
	if (me->agent)
		return 0;
	for (unsigned k = 0; k <= me->locals && !error; k++) {
		const int32_t *pair = boot->handle_fd[k];
		if (k != me->local) {
			error = remote_send(me, pair[1]);
			tw_fd_close(pair[0]);
		}
		tw_fd_close(pair[1]);
	}
	if (error)
		tw_log("cannot hand this processor's view to its neighbours: %s; use --shootdown polled",
		       strerror(-error));
	return error;
}

void tw_shootdown_remote_close(void)
{
	for (unsigned k = 0; k < TW_MAX_PROCESSORS; k++)
		if (remote.handle[k] >= 0)
			tw_fd_close(remote.handle[k]);
	if (remote.box >= 0)
		tw_fd_close(remote.box);
	remote.box = -1;
}

void tw_shootdown_remote(struct tw_proc *me, tw_page_t first, unsigned count, uint64_t victims, enum tw_rights left)
{
	TW_ASSERT(left == TW_READ);
	for (; victims; victims &= victims - 1) {
		unsigned v = (unsigned)__builtin_ctzll(victims);
		while (remote.handle[v] < 0)
			remote_take(0);
		struct tw_fault_view view = {remote.app[v], tw_shootdown_shadow(me, v), remote.handle[v]};
		tw_fault_find(me->config.fault)
		    ->downgrade(&view, (size_t)first << me->layout.page_shift, (size_t)count << me->layout.page_shift);
	}
}
