/* SPDX-License-Identifier: BSD-3-Clause */
/* survive.c - the launcher of a job that survives deaths of its processors and nodes (TWEED_SURVIVE).
 *
 * A death is announced in two steps.  First every node's agent shuts the dead processors out of its memory (SHUT).
 * When all agents have answered, all are informed of the death (DEAD), and what the dead processors used may be reused.
 * All agents receive all deaths in one order.  So the number of an agent's answers is its progress, and an agent that
 * dies meanwhile is not waited for any more.
 *
 * Node 0 holds words that all nodes need, such as the roots and the epoch: its loss is not survived. */
#include "tools/launch/launch.h"

/* Send DEAD for deaths that all living agents have shut out. */
static void survive_send(struct launch *l)
{
	unsigned done = l->deaths;

	for (unsigned i = 0; i < l->nodes; i++)
		if (!l->node[i].lost)
			done = TW_MIN(done, l->node[i].shut);
	for (; l->dead_sent < done; l->dead_sent++)
		for (unsigned i = 0; i < l->nodes; i++)
			launch_send(l, i, WIRE_DEAD, &l->death[l->dead_sent], sizeof(l->death[0]));
}

/* Record the death of @who, with @count processors; @status: what the job's would have been. */
static void survive_add(struct launch *l, uint32_t who, unsigned count, int status)
{
	if (l->dead == 0)
		l->first_death = status ? status : 1;
	l->dead += count;
	if (l->dead == l->nodes * l->job->settings.config.processors)
		l->job->status = l->first_death;
	l->death[l->deaths++] = who;
	for (unsigned i = 0; i < l->nodes; i++)
		launch_send(l, i, WIRE_SHUT, &who, sizeof(who));
	survive_send(l);
}

void survive_death(struct launch *l, unsigned node, const struct wire_death *d, int status)
{
	char fate[96];

	tool_say("%s processor %u (pid %d) %s; the job goes on without it", launch_where(l, node), d->processor, d->pid,
	         launch_fate(d->status, fate, sizeof(fate)));
	l->node[node].dead++;
	survive_add(l, node * (uint32_t)l->job->settings.config.processors + d->processor, 1, status);
}

/* Can the job survive the loss of a node? */
static bool survive_nodes(const struct launch *l)
{
	const struct tw_transport *transport = tw_transport_find(l->job->settings.config.transport);

	return l->job->settings.config.survive && l->going && transport && transport->caps & TW_NET_LOSES_NODES;
}

bool survive_may(const struct launch *l, unsigned node)
{
	return survive_nodes(l) && node != 0;
}

const char *survive_then(const struct launch *l, unsigned node)
{
	if (survive_may(l, node))
		return "the job goes on without the node";
	return survive_nodes(l) ? "the job is ended, for it cannot do without node 0" : "the job is ended";
}

bool survive_lost(struct launch *l, unsigned node, int status)
{
	struct launch_node *n = &l->node[node];
	unsigned processors = (unsigned)l->job->settings.config.processors;

	if (!survive_may(l, node))
		return false;
	if (!n->host && !l->job->connection)
		tool_kill_orphans(); /* of an emulated node's agent: the launcher has adopted its processors */
	n->lost = true;
	l->living--;
	l->exited -= n->exited;
	survive_add(l, l->nodes * processors + node, processors - n->dead, status);
	launch_look(l);
	return true;
}

void survive_shut(struct launch *l, unsigned node)
{
	l->node[node].shut++;
	survive_send(l);
}
