/* SPDX-License-Identifier: BSD-3-Clause */
/* survive.c - the launcher of a job that survives its processors (TWEED_SURVIVE).
 *
 * A death is told in two steps.  First every node's agent shuts the processor out of its memory; when all have answered, all are told
 * that it is dead, and what it used may be used again. */
#include "tools/launch.h"

void survive_death(struct launch *l, unsigned node, const struct wire_death *d, int status)
{
	uint32_t processor = node * (uint32_t)l->job->config.processors + d->processor;
	char fate[96];

	tool_say("%s processor %u (pid %d) %s; the job goes on without it", launch_where(l, node), d->processor, d->pid,
	         launch_fate(d->status, fate, sizeof(fate)));
	if (l->dead++ == 0)
		l->first_death = status ? status : 1;
	if (l->dead == l->nodes * l->job->config.processors)
		l->job->status = l->first_death;
	for (unsigned i = 0; i < l->nodes; i++)
		launch_send(l, i, WIRE_SHUT, &processor, sizeof(processor));
}

void survive_shut(struct launch *l, uint32_t processor)
{
	if (processor >= l->nodes * l->job->config.processors || ++l->shut[processor] != l->nodes)
		return;
	for (unsigned i = 0; i < l->nodes; i++)
		launch_send(l, i, WIRE_DEAD, &processor, sizeof(processor));
}
