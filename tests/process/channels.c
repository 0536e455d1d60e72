/* SPDX-License-Identifier: BSD-3-Clause */
/* channels.c - pipes and sockets made by one thread and used by others. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include "process.h"

static int fd, ends[2 * MANY + 4], fds[16];

/* Two ends: to read from ends[0], or of a pair of sockets. */
static void new_pipe(void)
{
	say("pipe %s\n", err(pipe(ends)));
}

static void close_ends(void)
{
	say("closed %s", err(close(ends[0])));
	say(" %s\n", err(close(ends[1])));
}

/* ---- pipes ---- */

static void pipe_step(void *arg, int me)
{
	(void)arg;
	reads(me, ends[0], 4);
	writes(me, ends[1], "<%d>", me);
}

CASE(pipe_in_turn)
{
	new_pipe();
	writes(0, ends[1], "0123456789abcdef");
	turns(pipe_step, NULL);
	reads(0, ends[0], 100);
	close_ends();
}

static void pipe_make_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("pipe2 %s\n", err(pipe2(ends, O_CLOEXEC)));
	writes(me, ends[1], "of %d,", me);
}

CASE(pipe_made_by_thread)
{
	turns(pipe_make_step, NULL);
	reads(0, ends[0], 100);
	say("FD_CLOEXEC %d\n", fcntl(ends[0], F_GETFD));
	close_ends();
}

static void pipe_eof_step(void *arg, int me)
{
	long total = 0, n;
	char text[16];

	(void)arg;
	if (me) {
		for (int i = 0; i < 10; i++)
			if (write(fds[me], "0123456789", 10) != 10)
				say("%d: a write failed\n", me);
		close(fds[me]);
		return;
	}
	while ((n = read(ends[0], text, sizeof text)) > 0)
		total += n;
	say("%ld bytes, then %ld\n", total, n);
}

CASE(pipe_ends_with_last_writer)
{
	new_pipe();
	for (int i = 1; i <= threads; i++)
		fds[i] = dup(ends[1]);
	close(ends[1]);
	with_main(pipe_eof_step, NULL);
	close(ends[0]);
}

static void pipe_end_step(void *arg, int me)
{
	(void)arg;
	if (me == threads) {
		usleep(20000);
		close(ends[1]);
	} else if (!me) {
		reads(0, ends[0], 5);
		reads(0, ends[0], 5);
	}
}

CASE(pipe_end_while_main_reads)
{
	new_pipe();
	writes(0, ends[1], "ab");
	with_main(pipe_end_step, NULL);
	reads(0, ends[0], 5);
	close(ends[0]);
}

static void ring_step(void *arg, int me)
{
	int n = threads + 1;
	char token = 0;

	(void)arg;
	for (int round = 0; round < 20; round++) {
		if (!me)
			write(ends[1 + 2], &token, 1);
		if (read(ends[2 * me], &token, 1) != 1)
			say("%d: the token is lost\n", me);
		token++;
		if (me)
			write(ends[2 * ((me + 1) % n) + 1], &token, 1);
	}
	if (!me)
		say("token %d\n", token);
}

CASE(pipe_ring)
{
	for (int i = 0; i <= threads; i++)
		say("%s ", err(pipe(ends + 2 * i)));
	say("\n");
	with_main(ring_step, NULL);
	for (int i = 0; i < 2 * threads + 2; i++)
		close(ends[i]);
}

static void full_step(void *arg, int me)
{
	static char block[1000];
	long n, total = 0;

	(void)arg;
	while ((n = write(ends[1], block, sizeof block)) > 0)
		total += n;
	int waiting = 0;
	ioctl(ends[0], FIONREAD, &waiting);
	say("%d wrote %ld, then %s, %d waiting\n", me, total, err(n), waiting);
	n = read(ends[0], block, 600);
}

CASE(pipe_full)
{
	new_pipe();
	say("%d\n", fcntl(ends[1], F_SETPIPE_SZ, 8192));
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	turns(full_step, NULL);
	close_ends();
}

/* Transfers of no bytes do not wait. */
static void none_step(void *arg, int me)
{
	struct iovec none = {ends, 0};
	int pair[2];

	(void)arg;
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	say("%d read %zd %zd %zd ", me, read(ends[0], ends, 0), readv(ends[0], &none, 1), read(pair[0], ends, 0));
	say("wrote %zd %zd\n", write(pair[1], ends, 0), writev(pair[1], &none, 1));
	close(pair[0]);
	close(pair[1]);
}

CASE(transfers_of_none)
{
	new_pipe();
	turns(none_step, NULL);
	close_ends();
}

static void broken_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		close(ends[0]);
	writes(me, ends[1], "x");
}

CASE(pipe_broken)
{
	signal(SIGPIPE, SIG_IGN);
	new_pipe();
	turns(broken_step, NULL);
	writes(0, ends[1], "x");
	close(ends[1]);
}

static void fifo_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		int out = open("fifo", O_WRONLY);
		write(out, "by name", 7);
		close(out);
	} else if (!me) {
		int in = open("fifo", O_RDONLY);
		reads(0, in, 7);
		reads(0, in, 7);
		close(in);
	}
}

CASE(fifo)
{
	say("%s\n", err(mkfifo("fifo", 0600)));
	with_main(fifo_step, NULL);
	unlink("fifo");
}

/* ---- sockets ---- */

static void pair_step(void *arg, int me)
{
	(void)arg;
	writes(me, ends[me % 2], "from %d", me);
	reads(me, ends[(me + 1) % 2], 10);
}

CASE(socketpair_in_turn)
{
	say("%s\n", err(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)));
	turns(pair_step, NULL);
	say("shutdown %s\n", err(shutdown(ends[0], SHUT_WR)));
	reads(0, ends[1], 10);
	close_ends();
}

static void datagram_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 5; i++)
		if (send(ends[1], "datagram", (size_t)me + 1, 0) != me + 1)
			say("%d: %s\n", me, err(-1));
}

CASE(socketpair_datagrams)
{
	int n[MANY + 2] = {0};
	char text[10];

	say("%s\n", err(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)));
	together(datagram_step, NULL);
	for (int i = 0; i < 5 * threads; i++) {
		long got = recv(ends[0], text, sizeof text, MSG_DONTWAIT);
		n[got < 0 ? 0 : got]++;
	}
	for (int i = 0; i <= threads; i++)
		say("length %d: %d\n", i + 1, n[i + 1]);
	say("then %s\n", err(recv(ends[0], text, sizeof text, MSG_DONTWAIT)));
	close_ends();
}

static struct sockaddr_in address;

/* A listening socket of the loopback. */
static int listener(void)
{
	socklen_t n = sizeof address;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	say("bind %s", err(bind(s, (struct sockaddr *)&address, sizeof address)));
	say(" listen %s", err(listen(s, 8)));
	say(" name %s\n", err(getsockname(s, (struct sockaddr *)&address, &n)));
	return s;
}

static int connected(int me)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);

	say("%d connect %s\n", me, err(connect(s, (struct sockaddr *)&address, sizeof address)));
	return s;
}

static void accept_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		ends[0] = accept(fd, NULL, NULL);
		say("1 accept %s\n", err(ends[0]));
	}
	reads(me, ends[0], 3);
	writes(me, ends[0], "answer %d;", me);
}

CASE(accept_in_thread)
{
	fd = listener();
	ends[1] = connected(0);
	writes(0, ends[1], "0123456789");
	turns(accept_step, NULL);
	reads(0, ends[1], 100);
	close_ends();
	close(fd);
}

static void listen_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		fd = listener();
	if (me == threads) {
		fds[0] = connected(me);
		writes(me, fds[0], "hello");
	}
}

CASE(listen_in_thread)
{
	turns(listen_step, NULL);
	ends[0] = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	reads(0, ends[0], 100);
	close(fds[0]);
	reads(0, ends[0], 100);
	close(ends[0]);
	close(fd);
}

static void connect_step(void *arg, int me)
{
	(void)arg;
	if (me) {
		int s = socket(AF_INET, SOCK_STREAM, 0), n = 0;
		if (connect(s, (struct sockaddr *)&address, sizeof address))
			say("%d: %s\n", me, err(-1));
		write(s, &me, sizeof me);
		read(s, &n, sizeof n);
		if (n != 10 * me)
			say("%d: answer %d\n", me, n);
		close(s);
		return;
	}
	int sum = 0;
	for (int i = 0; i < threads; i++) {
		int s = accept(fd, NULL, NULL), n = 0;
		read(s, &n, sizeof n);
		sum += n;
		n *= 10;
		write(s, &n, sizeof n);
		reads(0, s, 1);
		close(s);
	}
	say("sum %d\n", sum);
}

CASE(connect_together)
{
	fd = listener();
	with_main(connect_step, NULL);
	close(fd);
}

static void unix_step(void *arg, int me)
{
	struct sockaddr_un *name = arg;
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	say("%d connect %s\n", me, err(connect(s, (struct sockaddr *)name, sizeof *name)));
	writes(me, s, "%d by path", me);
	fds[me] = accept(fd, NULL, NULL);
	fds[me + 8] = s;
}

CASE(socket_of_a_path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};

	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	say("bind %s", err(bind(fd, (struct sockaddr *)&name, sizeof name)));
	say(" listen %s\n", err(listen(fd, 5)));
	turns(unix_step, &name);
	for (int i = 1; i <= threads; i++) {
		reads(0, fds[i], 20);
		close(fds[i]);
		close(fds[i + 8]);
	}
	close(fd);
	unlink("socket");
}

static void udp_step(void *arg, int me)
{
	int *port = arg;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = *port};
	char text[10] = "";

	say("%d %zd\n", me, sendto(fd, "datagram", (size_t)me + 1, 0, (struct sockaddr *)&to, sizeof to));
	if (me == threads)
		say_text(me, "peeks", recv(fd, text, sizeof text, MSG_PEEK), text);
}

CASE(udp_to_itself)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof name;

	fd = socket(AF_INET, SOCK_DGRAM, 0);
	say("bind %s", err(bind(fd, (struct sockaddr *)&name, sizeof name)));
	say(" %s\n", err(getsockname(fd, (struct sockaddr *)&name, &n)));
	int port = name.sin_port;
	turns(udp_step, &port);
	for (int i = 0; i < threads; i++)
		reads(0, fd, 100);
	close(fd);
}

static void option_step(void *arg, int me)
{
	int on = -1, flag = me % 2;
	socklen_t n = sizeof on;

	(void)arg;
	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &n);
	say("%d TCP_NODELAY %d, set %s\n", me, on, err(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &flag, sizeof flag)));
}

CASE(socket_options)
{
	int on = -1, yes = 1;
	socklen_t n = sizeof on;

	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
	turns(option_step, NULL);
	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &n);
	say("TCP_NODELAY %d\n", on);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &n);
	say("SO_KEEPALIVE %d\n", on);
	close(fd);
}

/* Sends or receives a descriptor beside one byte. */
static int pass(int socket, int send)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.space = {0}};
	char byte = 'f';
	struct iovec part = {&byte, 1};
	struct msghdr m = {
	    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int got = -1;

	if (send < 0) {
		if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
			memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof got);
		return got;
	}
	control.head =
	    (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof send), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &send, sizeof send);
	return (int)sendmsg(socket, &m, 0);
}

static void rights_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		int mine = open("lines.txt", O_RDONLY);
		reads(1, mine, 5);
		say("send %d\n", pass(ends[0], mine));
		close(mine);
	}
}

CASE(scm_rights_from_thread)
{
	say("%s\n", err(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)));
	turns(rights_step, NULL);
	int got = pass(ends[1], -1);
	reads(0, got, 9);
	close(got);
	close_ends();
}

static void rights_receive_step(void *arg, int me)
{
	(void)arg;
	fds[me] = pass(ends[1], -1);
	writes(me, fds[me], "by %d,", me);
}

CASE(scm_rights_to_threads)
{
	int p[2];

	say("%s", err(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)));
	say(" %s\n", err(pipe(p)));
	for (int i = 1; i <= threads; i++)
		say("send %d\n", pass(ends[0], p[1]));
	close(p[1]);
	turns(rights_receive_step, NULL);
	for (int i = 1; i <= threads; i++)
		close(fds[i]);
	reads(0, p[0], 100);
	reads(0, p[0], 100);
	close(p[0]);
	close_ends();
}

/* ---- what was stored before something is sent is seen by its receiver ---- */

static struct {
	int in[2], out[2], kind; /* by side */
	int block[3000], wrong, ended;
} order;
enum { ORDER_PIPES, ORDER_SOCKETS, ORDER_EVENTS, ORDER_CALLS, ORDER_KINDS };

static void order_send(int side)
{
	const char c = 'x';
	long sent = order.kind == ORDER_EVENTS  ? 1 - eventfd_write(order.out[side], 1)
	            : order.kind == ORDER_CALLS ? sendto(order.out[side], &c, 1, 0, NULL, 0)
	                                        : write(order.out[side], &c, 1);

	if (sent != 1)
		say("%d sends: %s\n", side, err(-1));
}

static void order_receive(int side)
{
	eventfd_t n;
	char c;
	struct iovec part = {&c, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	long got = order.kind == ORDER_EVENTS  ? 1 - eventfd_read(order.in[side], &n)
	           : order.kind == ORDER_CALLS ? recvmsg(order.in[side], &message, 0)
	                                       : read(order.in[side], &c, 1);

	if (got != 1)
		say("%d receives: %s\n", side, err(-1));
}

/* The end of a pipe says something, too. */
static void order_end(int side)
{
	char c;

	if (side == 1) {
		order.ended = 1;
		close(order.out[1]);
		return;
	}
	if (read(order.in[0], &c, 1))
		say("no end\n");
	order.wrong += order.ended != 1;
}

static void order_step(void *arg, int me)
{
	(void)arg;
	if (me > 1)
		return;
	for (int round = 0; round < 10; round++) {
		for (int turn = 0; turn < 2; turn++) {
			if (turn != me) {
				order_receive(me);
				for (int i = 0; i < 3000; i++)
					order.wrong += order.block[i] != 2 * round + turn;
				continue;
			}
			for (int i = 0; i < 3000; i++)
				order.block[i] = 2 * round + turn;
			order_send(me);
		}
	}
	if (order.kind == ORDER_PIPES)
		order_end(me);
}

CASE(order_of_memory)
{
	for (order.kind = 0; order.kind < ORDER_KINDS; order.kind++) {
		order.ended = 0;
		int a[2], b[2], pair = order.kind == ORDER_SOCKETS || order.kind == ORDER_CALLS;
		if (order.kind == ORDER_EVENTS) {
			a[0] = a[1] = eventfd(0, 0);
			b[0] = b[1] = eventfd(0, 0);
		} else if (pair ? socketpair(AF_UNIX, SOCK_STREAM, 0, a) : pipe(a) || pipe(b)) {
			say("%s\n", err(-1));
			return;
		}
		order.out[0] = a[1];
		order.in[1] = a[0];
		order.in[0] = pair ? a[1] : b[0];
		order.out[1] = pair ? a[0] : b[1];
		with_main(order_step, NULL);
		close(a[0]);
		if (order.kind != ORDER_EVENTS)
			close(a[1]);
		if (!pair)
			close(b[0]);
	}
	say("wrong %d\n", order.wrong);
}

MAIN(T(pipe_in_turn), T(pipe_made_by_thread), T(pipe_ends_with_last_writer), T(pipe_end_while_main_reads), T(pipe_ring),
     T(pipe_full), T(transfers_of_none), ALONE(pipe_broken), T(fifo), T(socketpair_in_turn), T(socketpair_datagrams),
     T(accept_in_thread), T(listen_in_thread), T(connect_together), T(socket_of_a_path), T(udp_to_itself),
     T(socket_options), T(scm_rights_from_thread), T(scm_rights_to_threads), T(order_of_memory))
