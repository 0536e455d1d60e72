/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.c - the launcher: one agent per node, and one event loop from setup to the last exit.
 *
 * The first failure determines the job's status and is printed; consequences of ending the job are not reported.
 * Signals are handled before messages, so that a Ctrl-C that also hits the processors is recognized as such.
 *
 * Stopping (Ctrl-Z) stops the job: the agents stop their processors, then the launcher stops itself.  That time does
 * not count as silence. */
#include "tools/launch/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/launch/output_writer.h"
#include "tools/wire/handshake.h"
#include "tools/inherited.h"
#include "tools/nofile.h"
#include "tools/run/program.h"

#define LAUNCH_FILES     24u                    /* open besides the agents' connections and memories */
#define LAUNCH_GRACE_NS  ((uint64_t)700000000)  /* for agents to end by themselves */
#define LAUNCH_LATE_NS   ((uint64_t)2000000000) /* for processors to end after one has failed after tw_finalize */
#define LAUNCH_SILENT_NS ((uint64_t)2000000000) /* towards the launcher, before a node is not blamed for a link */
#define LAUNCH_CLOSE_NS                                                                                                \
	((uint64_t)10000000000) /* for agents to close what they have opened, after the last processor */
#define LAUNCH_REACH_NS  ((uint64_t)30000000000) /* for a host to answer */
#define LAUNCH_SIGNAL_NS ((uint64_t)1000000000)  /* an agent that does not answer what its program does with a signal */
#define LAUNCH_WAITS_NS  ((uint64_t)3000000000)  /* minimum for an agent that does not know its beat interval yet */
#define LAUNCH_PREPARE_NS                                                                                              \
	((uint64_t)60000000000) /* for an agent's silence while it opens or closes memory and connections */

/* ---- ending ---------------------------------------------------------------------------------------------------- */

const char *launch_host(const struct launch *l, unsigned node)
{
	const struct launch_node *n = &l->node[node];

	return !n->host && l->job->connection && n->connected ? n->handshake.host : n->host;
}

const char *launch_where(const struct launch *l, unsigned node)
{
	static char text[2][320];
	static unsigned turn;
	char *out = text[turn++ % 2];
	const char *host = launch_host(l, node);

	snprintf(out, sizeof(text[0]), host ? "node %u on host %s" : "node %u", node, host);
	return out;
}

void launch_send(struct launch *l, unsigned node, enum wire_type type, const void *body, size_t bytes)
{
	if (l->node[node].wire.in >= 0)
		wire_send(&l->node[node].wire, type, body, bytes, NULL,
		          0); /* a failure means that the agent has died, which is noticed soon */
}

/* A signal has come that the program does not handle. */
static void launch_interrupted(struct launch *l, int number)
{
	if (!l->ending)
		tool_say("interrupted by signal %d (%s); the job is ended", number, strsignal(number));
	l->job->killed = l->ending ? l->job->killed : number;
	launch_end(l, 128 + number);
}

void launch_send_all(struct launch *l, enum wire_type type)
{
	for (unsigned i = 0; i < l->nodes; i++)
		launch_send(l, i, type, NULL, 0);
}

void launch_end(struct launch *l, int status)
{
	if (l->ending)
		return;
	l->ending = true;
	l->job->status = status;
	l->job->wall_s = (double)(tw_time_ns() - l->began_ns) * 1e-9;
	l->deadline_ns = tw_time_ns() + LAUNCH_GRACE_NS;
	launch_send_all(l, WIRE_END);
}

static int launch_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *launch_fate(int status, char *out, size_t bytes)
{
	if (WIFSIGNALED(status))
		snprintf(out, bytes, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(out, bytes, "exited with status %d", WEXITSTATUS(status));
	return out;
}

/* A processor that has begun to join waits for all.  If another has ended without joining, end the job. */
static void launch_look_outside(struct launch *l)
{
	bool joined = false;
	unsigned i = 0;

	if (!l->outsiders || l->ending)
		return;
	for (unsigned k = 0; k < l->nodes; k++)
		joined = joined || l->node[k].joined;
	while (!l->node[i].outsider_pid)
		i++;
	if (!joined)
		return;
	tool_say("%s processor %u (pid %d) ended with status 0 before it called tw_init, for which the others wait; "
	         "the job is "
	         "ended",
	         launch_where(l, i), l->node[i].outsider, l->node[i].outsider_pid);
	launch_end(l, 1);
}

static void launch_outsider(struct launch *l, unsigned node, const struct wire_death *d)
{
	l->outsiders++;
	l->node[node].outsider = d->processor;
	l->node[node].outsider_pid = d->pid;
	launch_look_outside(l);
}

static void launch_processor_died(struct launch *l, unsigned node, const struct wire_death *d)
{
	char fate[96];
	bool exited = WIFEXITED(d->status);
	int status = launch_status(d->status);

	l->node[node].ended |= (uint64_t)1 << d->processor;
	if (l->ending)
		return;
	if (d->status == 0 && !d->joined) {
		launch_outsider(l, node, d);
	} else if (d->exec_errno) {
		tool_say("cannot run '%s': %s; name a program for this machine", l->job->path,
		         d->exec_errno == ENOENT ? "its interpreter does not exist" : strerror(d->exec_errno));
		launch_end(l, TOOL_USAGE);
	} else if (exited && d->finalized) {
		/* The program's own verdict: the others are about to end. */
		if (!l->late) {
			l->job->status = status;
			l->deadline_ns = tw_time_ns() + LAUNCH_LATE_NS;
		}
		l->late = true;
	} else if (l->job->settings.config.survive && d->initialized && d->refused != TW_ENDED_JOB) {
		survive_death(l, node, d, status);
	} else {
		if (!d->refused)
			tool_say("%s processor %u (pid %d) %s%s; the job is ended", launch_where(l, node), d->processor,
			         d->pid, launch_fate(d->status, fate, sizeof(fate)),
			         !exited          ? ""
			         : d->initialized ? " before tw_finalize"
			         : d->joined      ? " before tw_init was through"
			                          : "");
		if (!exited)
			l->job->killed = WTERMSIG(d->status);
		l->strange = exited && !d->joined && !d->refused;
		l->as_asked = d->refused == TW_ENDED_JOB;
		launch_end(l, status || d->refused == TW_ENDED_JOB ? status : 1);
	}
}

/* An agent only has to close now; the launcher does not wait for processes that hold its stream open. */
static void launch_parted(struct launch *l, unsigned node)
{
	l->node[node].parted = true;
	for (unsigned i = 0; i < l->nodes; i++)
		if (l->node[i].wire.in >= 0 && !l->node[i].parted)
			return;
	l->closing = true;
	l->deadline_ns = tw_time_ns() + LAUNCH_GRACE_NS;
}

/* The supervisor reports how its agent has ended. */
static void launch_agent_ended(struct launch *l, unsigned i, int status)
{
	char fate[96];
	int code = launch_status(status);

	l->node[i].fate_known = true;
	if (!l->ending && !l->node[i].delivered) {
		if (!WIFEXITED(status) || code != 1) /* status 1: it has printed why */
			tool_say("the agent of %s %s; %s", launch_where(l, i), launch_fate(status, fate, sizeof(fate)),
			         survive_then(l, i));
		if (!survive_lost(l, i, code))
			launch_end(l, code ? code : 1);
	}
	launch_parted(l, i);
}

/* The connection is closed, so the agent is dead or about to be. */
static void launch_agent_gone(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];
	char fate[96];
	pid_t child = n->child;

	wire_close(&n->wire);
	n->gone = true;
	int status = start_wait(n), code = launch_status(status);
	l->agents--;
	if (l->ending || n->delivered || n->lost)
		return;
	if (!n->connected && n->host) {
		start_failed(l, i, status);
		code = TOOL_USAGE;
	} else if (!child) {
		tool_say("the connection to the agent of %s is closed; %s", launch_where(l, i), survive_then(l, i));
	} else if (n->host && !(WIFEXITED(status) && code <= TOOL_USAGE)) {
		tool_say("the agent of %s is gone ('%s' %s); %s", launch_where(l, i), l->job->settings.launch.rsh,
		         launch_fate(status, fate, sizeof(fate)), survive_then(l, i));
	} else if (!WIFEXITED(status) || code != 1) { /* status 1: it has printed why */
		tool_say("the agent of %s (pid %d) %s; %s", launch_where(l, i), child,
		         launch_fate(status, fate, sizeof(fate)), survive_then(l, i));
	}
	if (!survive_lost(l, i, code))
		launch_end(l, code ? code : 1);
}

/* Ignore the agent from now on. */
static void launch_drop(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];

	start_kill(n);
	wire_close(&n->wire);
	start_wait(n);
	n->gone = true;
	l->agents--;
}

/* The agent has sent data that is not a message. */
static void launch_damaged(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];
	char text[48] = "";

	memcpy(text, n->wire.msg, TW_MIN(n->wire.have, sizeof(text) - 1));
	if (n->lost) { /* the others continue */
		launch_drop(l, i);
		return;
	}
	if (!l->ending && !n->connected && n->host)
		tool_say("host %s answers with '%s' in place of an agent's message: its shell must print nothing for "
		         "commands "
		         "that are not interactive",
		         n->host, text);
	else if (!l->ending)
		tool_say("the agent of %s sent a damaged message; the job is ended", launch_where(l, i));
	launch_end(l, n->connected ? 1 : TOOL_USAGE);
	launch_drop(l, i);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void launch_take_stats(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	size_t slots = l->job->settings.config.processors + 1;

	memcpy(l->job->stats + i * slots, msg->stats, msg->bytes);
	l->node[i].delivered = true;
	l->delivered++;
	launch_look(l);
}

void launch_look(struct launch *l)
{
	if (l->ending)
		return;
	if (l->exited == l->living && !l->stopping) {
		l->stopping = true;
		l->job->wall_s = (double)(tw_time_ns() - l->began_ns) * 1e-9;
		l->deadline_ns = tw_time_ns() + LAUNCH_CLOSE_NS;
		launch_send_all(l, WIRE_STOP);
	}
	if (l->delivered == l->living)
		launch_send_all(l, WIRE_END);
}

/* Two nodes that both reach the launcher do not reach each other.  Ignored if a processor is stopped, because that may
 * block its node's service, and for a node that has been silent towards the launcher: that is reported elsewhere. */
static void launch_cut(struct launch *l, unsigned i, unsigned other)
{
	uint64_t silent_ns = TW_MIN(l->job->settings.config.watch * 500000000, LAUNCH_SILENT_NS);

	if (l->ending || other >= l->nodes || l->node[other].lost || l->node[i].stopped || l->node[other].stopped ||
	    l->node[other].watch.silent_ns > silent_ns)
		return;
	tool_say("%s has received nothing from %s through transport %s for %u s; the job is ended", launch_where(l, i),
	         launch_where(l, other), l->job->settings.config.transport, (unsigned)l->job->settings.config.watch);
	launch_end(l, 1);
}

static void launch_event(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	switch (msg->type) {
	case WIRE_HANDSHAKE:
		prepare_connected(l, i, msg);
		break;
	case WIRE_MEMORY:
		prepare_have_memory(l, i, msg);
		break;
	case WIRE_READY:
		l->node[i].ready = msg->ready;
		prepare_agent_ready(l, i);
		break;
	case WIRE_CLOCK:
		trace_clock_answer(&l->trace, i, &msg->clock);
		prepare_agent_ready(l, i);
		break;
	case WIRE_DEATH:
		launch_processor_died(l, i, &msg->death);
		break;
	case WIRE_EXITED:
		l->exited++;
		l->node[i].exited = true;
		launch_look(l);
		break;
	case WIRE_TRACE:
		trace_take(&l->trace, l->job, i, &msg->trace);
		if (!l->ending && l->deadline_ns) /* it is active */
			l->deadline_ns = tw_time_ns() + LAUNCH_CLOSE_NS;
		break;
	case WIRE_STATS:
		launch_take_stats(l, i, msg);
		break;
	case WIRE_FAILED: /* the agent has printed why */
		launch_end(l, (int)msg->number);
		break;
	case WIRE_BEAT:
		l->node[i].stopped = msg->beat.stopped;
		l->node[i].joined = msg->beat.joined;
		waits_beat(l, i, &msg->beat);
		launch_look_outside(l);
		break;
	case WIRE_OUTPUT:
		stdio_output(l, i, msg);
		break;
	case WIRE_CREDIT:
		l->window = TW_MIN(l->window + msg->number, WIRE_WINDOW);
		break;
	case WIRE_SHUT:
		survive_shut(l, i);
		break;
	case WIRE_WAITS:
		waits_answered(l, i, &msg->waits);
		break;
	case WIRE_SIGNAL:
		l->signal = 0;
		if (msg->number == SIGUSR1)
			where_ask(l, NULL);
		else if (msg->number)
			launch_interrupted(l, (int)msg->number);
		break;
	case WIRE_WHERE:
		where_answered(l, i, msg);
		break;
	case WIRE_TOP:
		top_answered(l, i, msg);
		break;
	case WIRE_CUT:
		launch_cut(l, i, msg->number);
		break;
	case WIRE_GONE:
		launch_agent_ended(l, i, (int)msg->number);
		break;
	case WIRE_END:
		launch_parted(l, i);
		break;
	default:
		break;
	}
}

/* Is this message of the job's course valid now?  Each is sent once, in its step. */
static bool launch_step_fits(const struct launch *l, const struct launch_node *n, const struct wire_msg *msg)
{
	switch (msg->type) {
	case WIRE_HANDSHAKE:
		return n->step == LAUNCH_STARTED;
	case WIRE_MEMORY:
		return n->step == LAUNCH_CONFIGURED;
	case WIRE_READY:
		return n->step == LAUNCH_JOINED;
	case WIRE_CLOCK:
		return n->step == LAUNCH_CLOCK;
	case WIRE_DEATH:
		return l->going && msg->death.processor < l->job->settings.config.processors &&
		       !(n->ended >> msg->death.processor & 1);
	case WIRE_EXITED:
		return l->going && !n->exited;
	case WIRE_STATS:
		return (l->stopping || l->ending) && !n->delivered &&
		       msg->bytes == (l->job->settings.config.processors + 1) * sizeof(struct tw_stats);
	default: /* BEAT, FAILED; END and GONE */
		return msg->type == WIRE_BEAT || msg->type == WIRE_FAILED || msg->type == WIRE_END ||
		       (msg->type == WIRE_GONE && !n->fate_known);
	}
}

/* May this agent send this message now?  The host may be another user's: anything else counts as damage. */
static bool launch_fits(const struct launch *l, unsigned i, const struct wire_msg *msg)
{
	const struct launch_node *n = &l->node[i];

	switch (msg->type) {
	case WIRE_OUTPUT:
		return l->output && l->going && msg->bytes - offsetof(struct wire_output, bytes) <= n->window;
	case WIRE_CREDIT:
		return msg->number <= WIRE_WINDOW - l->window;
	case WIRE_TRACE:
		return l->job->settings.config.trace[0] && msg->trace.processor <= l->job->settings.config.processors;
	case WIRE_SHUT:
		return n->shut < l->deaths && msg->number == l->death[n->shut];
	case WIRE_WAITS:
		return n->waits_asked && msg->bytes == sizeof(msg->waits);
	case WIRE_SIGNAL:
		return i == 0 && l->signal && (!msg->number || msg->number == l->signal);
	case WIRE_WHERE:
		return l->going;
	case WIRE_TOP:
		return l->going && msg->bytes == (l->job->settings.config.processors + 1) * sizeof(struct tw_stats);
	case WIRE_CUT:
		return msg->number < l->nodes;
	default:
		return launch_step_fits(l, n, msg);
	}
}

static void launch_receive(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];
	int got;

	while ((got = wire_recv(&n->wire)) == 1) {
		const struct wire_msg *msg = n->wire.msg;
		watch_received(&n->watch);
		if (!launch_fits(l, i, msg)) {
			wire_drop_descriptors(&n->wire);
			got = -EPROTO;
			break;
		}
		if ((n->connected || msg->type == WIRE_HANDSHAKE) && (!n->parted || msg->type == WIRE_GONE))
			launch_event(l, i, msg);
	}
	if (got == -EMFILE) {
		nofile_short(LAUNCH_FILES + 2 * l->nodes, "the launcher");
		launch_end(l, TOOL_USAGE);
	} else if (got == -EPROTO)
		launch_damaged(l, i);
	else if (got != -EAGAIN)
		launch_agent_gone(l, i);
	else
		wire_push(&n->wire);
}

/* ---- signals --------------------------------------------------------------------------------------------------- */

/* Send all pending messages, but do not wait for agents that do not read. */
static void launch_push(struct launch *l)
{
	for (unsigned round = 0, waits = 1; waits && round < 20; round++) {
		waits = 0;
		for (unsigned i = 0; i < l->nodes; i++)
			waits += l->node[i].wire.in >= 0 && wire_push(&l->node[i].wire) == -EAGAIN;
		if (waits)
			usleep(10000);
	}
}

static void launch_stop(struct launch *l)
{
	sigset_t stop;

	launch_send_all(l, WIRE_PAUSE);
	launch_push(l);
	/* The kernel knows whether a shell exists that could continue this process; if not, it does not stop. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	for (unsigned i = 0; i < l->nodes; i++)
		if (l->node[i].child)
			kill(l->node[i].child, SIGCONT);
	launch_send_all(l, WIRE_RESUME);
}

static void launch_signal(struct launch *l)
{
	const bool may = l->going && l->node[0].wire.in >= 0;
	struct signalfd_siginfo info;
	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;
		if (number == SIGTSTP) {
			launch_stop(l);
			continue;
		}
		if (info.ssi_signo == l->signal)
			continue; /* timeout(1) sends twice */
		if (may && !l->ending && !l->signal) {
			l->signal = info.ssi_signo;
			l->signal_ns = tw_time_ns();
			bool key = info.ssi_code == SI_KERNEL && !l->group && l->node[0].child && !l->node[0].host;
			uint32_t sent = l->signal | (key ? WIRE_BY_KEY : 0);
			launch_send(l, 0, WIRE_SIGNAL, &sent, sizeof(sent));
		} else {
			launch_interrupted(l, number);
		}
	}
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

/* The time that a node may be silent; 0: any.  An agent that creates or closes memory and connections has more time,
 * unless it is stopped.  An agent that waits for the launcher sends beats.  @silent_ns: its present silence. */
static uint64_t launch_patience(const struct launch *l, const struct launch_node *n, uint64_t silent_ns)
{
	uint64_t watch_ns = l->job->settings.config.watch * 1000000000u;
	bool works = l->going ? l->exited >= l->living
	                      : n->step == LAUNCH_STARTED || n->step == LAUNCH_CONFIGURED || n->step == LAUNCH_JOINED;

	if (!n->connected && n->host)
		return LAUNCH_REACH_NS;
	if (!watch_ns)
		return 0;
	if (n->step == LAUNCH_CONNECTED)
		return TW_MAX(watch_ns, LAUNCH_WAITS_NS);
	bool stopped = works && silent_ns > watch_ns && n->child && !n->host && tool_stopped(n->child);
	return works && !stopped ? LAUNCH_PREPARE_NS : watch_ns;
}

static void launch_silent(struct launch *l, unsigned i, uint64_t limit_ns)
{
	struct launch_node *n = &l->node[i];
	unsigned seconds = (unsigned)(limit_ns / 1000000000u);

	if (!n->connected && n->host)
		tool_say("host %s has not answered for %u s; try '%s %s true'", n->host, seconds,
		         l->job->settings.launch.rsh, n->host);
	else if (n->child && !n->host)
		tool_say("the agent of %s (pid %d) has been silent for %u s; %s", launch_where(l, i), n->child, seconds,
		         survive_then(l, i));
	else
		tool_say("the agent of %s has been silent for %u s; %s", launch_where(l, i), seconds,
		         survive_then(l, i));
	if (!survive_may(l, i)) {
		launch_end(l, n->connected || !n->host ? 1 : TOOL_USAGE);
		return;
	}
	launch_drop(l, i);
	survive_lost(l, i, 1);
}

static void launch_tick(struct launch *l)
{
	struct wire_beat beat = {0};

	watch_tick(&l->clock);
	where_look(l);
	top_look(l);
	if (l->signal && tw_time_ns() - l->signal_ns > LAUNCH_SIGNAL_NS)
		launch_interrupted(l, (int)l->signal);
	for (unsigned i = 0; i < l->nodes; i++) {
		struct launch_node *n = &l->node[i];
		if (n->wire.in < 0)
			continue;
		uint64_t silent_ns = watch_tick(&n->watch), limit_ns = launch_patience(l, n, silent_ns);
		if (n->connected && !wire_waits(&n->wire))
			launch_send(l, i, WIRE_BEAT, &beat, sizeof(beat));
		if (limit_ns && silent_ns > limit_ns && !l->ending && !n->delivered && !n->lost)
			launch_silent(l, i, limit_ns);
	}
}

/* The deadline has passed: end without waiting any longer. */
static void launch_overdue(struct launch *l)
{
	l->deadline_ns = 0;
	if (!l->ending && !l->closing) {
		if (!l->late)
			tool_say("the job's end takes too long; it is ended by force");
		launch_end(l, l->job->status ? l->job->status : 1);
		return;
	}
	for (unsigned i = 0; i < l->nodes; i++) {
		start_kill(&l->node[i]);
		if (l->node[i].wire.in >= 0)
			launch_agent_gone(l, i);
	}
}

static int launch_timeout_ms(const struct launch *l)
{
	uint64_t now = tw_time_ns();
	int tick = watch_ms(&l->clock);

	if (!l->deadline_ns)
		return tick;
	return now >= l->deadline_ns ? 0 : TW_MIN(tick, (int)((l->deadline_ns - now) / 1000000 + 1));
}

static void launch_loop(struct launch *l)
{
	struct pollfd poller[3 + 2 * TW_MAX_NODES + 1 + TOP_CLIENTS];

	while (l->agents) {
		poller[0] = (struct pollfd){l->signals, POLLIN, 0};
		stdio_events(l, poller + 1);
		for (unsigned i = 0; i < l->nodes; i++)
			wire_events(&l->node[i].wire, poller + 3 + 2 * i);
		struct pollfd *top = poller + 3 + 2 * l->nodes;
		top_events(l, top);
		int n = poll(poller, 4 + 2 * l->nodes + TOP_CLIENTS, launch_timeout_ms(l));
		launch_signal(l);
		if (n > 0)
			stdio_act(l, poller + 1);
		for (unsigned i = 0; n > 0 && i < l->nodes; i++)
			if (l->node[i].wire.in >= 0 && (poller[3 + 2 * i].revents || poller[4 + 2 * i].revents))
				launch_receive(l, i);
		if (n > 0)
			top_act(l, top);
		if (watch_due(&l->clock))
			launch_tick(l);
		if (l->deadline_ns && tw_time_ns() >= l->deadline_ns)
			launch_overdue(l);
	}
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* The program gets the usual signals if it handles them; otherwise they end the job. Those that the caller had ignored
 * are not caught (nohup, background jobs). */
static void launch_catch_signals(struct launch *l)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sigaction old;
		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&set, ends[i]);
	}
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, &l->mask);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The names at @offset of the nodes' READY, each once. */
static void launch_used(const struct launch *l, size_t offset, char *out, size_t bytes)
{
	size_t have = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < l->nodes; i++) {
		const char *name = (const char *)&l->node[i].ready + offset;
		unsigned first = 0;
		while (strcmp((const char *)&l->node[first].ready + offset, name) != 0)
			first++;
		if (first == i && have + strlen(name) + 2 < bytes)
			have += (size_t)snprintf(out + have, bytes - have, "%s%s", have ? "," : "", name);
	}
}

static int launch_end_trace(struct launch *l)
{
	const struct wire_handshake *handshake[TW_MAX_NODES];

	for (unsigned i = 0; i < l->nodes; i++)
		handshake[i] = &l->node[i].handshake;
	return trace_end(&l->trace, l->job, handshake);
}

int tool_launch(struct tool_job *job)
{
	static struct launch l;

	l.job = job;
	l.nodes = l.living = (unsigned)job->settings.config.nodes;
	if (!job->connection && !job->hosts.host)
		inherited_find(-1);
	nofile_raise();
	if (nofile_check(LAUNCH_FILES + 2 * l.nodes, "the launcher") < 0)
		return TOOL_USAGE;
	size_t bytes = l.nodes * (job->settings.config.processors + 1) * sizeof(struct tw_stats);
	job->stats = aligned_alloc(_Alignof(struct tw_stats), bytes);
	if (!job->stats) {
		tool_say("out of memory");
		return 1;
	}
	memset(job->stats, 0, bytes);
	for (unsigned i = 0; i < l.nodes; i++) {
		l.node[i].wire.in = l.node[i].wire.out = -1;
		l.node[i].window = WIRE_WINDOW;
		if (job->hosts.host)
			l.node[i].host = hosts_of(&job->hosts, i / (unsigned)job->settings.config.host_nodes)->name;
	}
	/* A shell may have exec'ed this command with children of its own: neither those nor their orphans may be
	 * killed. */
	bool childless = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	launch_catch_signals(&l);
	top_open(&l);
	watch_set(&l.clock);
	if (job->secret) {
		memcpy(l.secret, job->secret, sizeof(l.secret));
	} else if (getrandom(l.secret, sizeof(l.secret), 0) != (ssize_t)sizeof(l.secret)) {
		tool_say("cannot draw the job's secret: %s", strerror(errno));
		return 1;
	}
	if (start_program(&l) < 0 || start_agents(&l) < 0 || stdio_start(&l) < 0)
		launch_end(&l, TOOL_USAGE);
	launch_loop(&l);
	if (childless)
		tool_kill_descendants();
	else
		tool_kill_orphans();
	free(l.program);
	sigprocmask(SIG_SETMASK, &l.mask, NULL); /* SIGINT works even if the output is not read */
	writer_finish();
	job->complete = l.delivered == l.living && (!l.ending || l.as_asked);
	if (job->complete) {
		launch_used(&l, offsetof(struct wire_ready, fault), job->fault, sizeof(job->fault));
		launch_used(&l, offsetof(struct wire_ready, shootdown), job->shootdown, sizeof(job->shootdown));
	}
	if (launch_end_trace(&l) < 0 && job->status == 0)
		job->status = 1;
	unsigned processors = l.nodes * (unsigned)job->settings.config.processors;
	if (processors > 1 && (l.strange || (job->status == 0 && l.outsiders == processors)))
		program_warn(job->path, processors);
	return job->status;
}
