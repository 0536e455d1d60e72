/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c - teams and contexts.
 *
 * A team has a slot of control memory, the same one on all its PEs: all PEs of the parent agree on a slot that is free
 * everywhere.  Disjoint teams may share a slot.  When a team is destroyed, its words become 0 again.  Its PEs have
 * synchronized by then, so no signal to them is in flight, and no PE creates a team in the slot before it has destroyed
 * this one. */
#include <pthread.h>
#include <stdlib.h>

#include "pgas/shmem/check.h"
#include "pgas/shmem/collective/collective.h"

struct shmem_team tws_team_world, tws_team_shared;
struct shmem_ctx tws_ctx_default = {.team = &tws_team_world};
static struct shmem_ctx *team_ended; /* destroyed contexts, kept when calls are checked */

static uint64_t team_free;                  /* bits of slots */
static struct shmem_team *team_of_slot[64]; /* those that the program created */

void sh_teams_open(void)
{
	tws_team_world = (struct shmem_team){.size = tw_segment.pes, .me = tw_segment.pe, .stride = 1, .slot = 0};
	tws_team_shared = (struct shmem_team){.start = tw_segment.first,
	                                      .size = tw_segment.locals,
	                                      .me = tw_segment.pe - tw_segment.first,
	                                      .stride = 1,
	                                      .slot = 1};
	team_free = ~(uint64_t)3;
	tws_ctx_default.flow = tw_segment.flow;
}

int pshmem_team_my_pe(shmem_team_t team)
{
	if (sh.check)
		sh_need_open(SH_CALLER);
	return team == SHMEM_TEAM_INVALID ? -1 : (int)team->me;
}

int pshmem_team_n_pes(shmem_team_t team)
{
	if (sh.check)
		sh_need_open(SH_CALLER);
	return team == SHMEM_TEAM_INVALID ? -1 : (int)team->size;
}

int pshmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
	if (team == SHMEM_TEAM_INVALID || (config_mask && !config))
		return -1;
	if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
		config->num_contexts = team->contexts;
	return 0;
}

/* The number in @team of the job's PE @pe; -1: not in the team. */
static int team_index(const struct shmem_team *team, unsigned pe)
{
	int distance = (int)pe - (int)team->start;

	if (distance % team->stride || distance / team->stride < 0 || distance / team->stride >= (int)team->size)
		return -1;
	return distance / team->stride;
}

int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
	if (src_team == SHMEM_TEAM_INVALID || dest_team == SHMEM_TEAM_INVALID || (unsigned)src_pe >= src_team->size)
		return -1;
	return team_index(dest_team, sh_team_pe(src_team, (unsigned)src_pe));
}

/* ---- creation ---- */

/* Create a team of @size PEs of @parent, with or without this PE.  All PEs of the parent call this, for the same team
 * or for disjoint ones.  Returns 0, or -1 on all PEs when there is no slot. */
static int team_make(struct shmem_team *parent, unsigned start, int stride, unsigned size,
                     const shmem_team_config_t *config, long mask, shmem_team_t *made)
{
	struct shmem_team *team = calloc(1, sizeof(*team));
	uint64_t both = sh_team_and(parent, team ? team_free : 0);

	if (!both) {
		free(team);
		return -1;
	}
	team->start = sh_team_pe(parent, start);
	team->stride = size > 1 ? parent->stride * stride : 1;
	team->size = size;
	team->slot = (unsigned)__builtin_ctzll(both);
	team->contexts = mask & SHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
	int me = team_index(team, tw_segment.pe);
	if (me < 0) {
		free(team);
		return 0;
	}
	team->me = (unsigned)me;
	team_free &= ~((uint64_t)1 << team->slot);
	team_of_slot[team->slot] = *made = team;
	return 0;
}

static void contexts_end(struct shmem_ctx **list)
{
	while (*list) {
		struct shmem_ctx *ctx = *list;
		*list = ctx->next;
		tw_segment_flow_free(ctx->flow);
		free(ctx);
	}
}

static void team_end(struct shmem_team *team)
{
	contexts_end(&team->ctx);
	free(team);
}

/* All PEs of the team call this. */
static void team_destroy(struct shmem_team *team)
{
	struct sh_set set = set_of_team(team);
	sync_dissemination(&set); /* polls only own words: no PE reads the words that become 0 */
	memset(tw_segment.base + sh.teams_at + team->slot * SH_TEAM_BYTES, 0, SH_WORDS * SH_WORD_BYTES);
	team_free |= (uint64_t)1 << team->slot;
	team_of_slot[team->slot] = NULL;
	team_end(team);
}

int pshmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t *config,
                              long config_mask, shmem_team_t *new_team)
{
	*new_team = SHMEM_TEAM_INVALID;
	SH_CHECK_COLLECTIVE("shmem_team_split_strided", .team = parent, .root = start, .count = (size_t)size,
	                    .dst = stride);
	if (parent == SHMEM_TEAM_INVALID)
		return -1;
	int64_t last = start + (int64_t)stride * (size - 1);
	if (size < 1 || start < 0 || start >= (int)parent->size || last < 0 || last >= (int64_t)parent->size ||
	    (stride == 0 && size > 1) || (config_mask && !config))
		return -1;
	return team_make(parent, (unsigned)start, stride, (unsigned)size, config, config_mask, new_team);
}

int pshmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
                         shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
                         shmem_team_t *yaxis_team)
{
	*xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
	SH_CHECK_COLLECTIVE("shmem_team_split_2d", .team = parent, .count = (size_t)xrange);
	if (parent == SHMEM_TEAM_INVALID || xrange < 1 || (xaxis_mask && !xaxis_config) ||
	    (yaxis_mask && !yaxis_config))
		return -1;
	unsigned width = TW_MIN((unsigned)xrange, parent->size), x = parent->me % width, row = parent->me - x;
	if (team_make(parent, row, 1, TW_MIN(width, parent->size - row), xaxis_config, xaxis_mask, xaxis_team))
		return -1;
	if (team_make(parent, x, (int)width, (parent->size - x + width - 1) / width, yaxis_config, yaxis_mask,
	              yaxis_team)) {
		team_destroy(*xaxis_team);
		*xaxis_team = SHMEM_TEAM_INVALID;
		return -1;
	}
	return 0;
}

void pshmem_team_destroy(shmem_team_t team)
{
	if (team == SHMEM_TEAM_INVALID || team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
		return;
	SH_CHECK_COLLECTIVE("shmem_team_destroy", .team = team);
	team_destroy(team);
}

void sh_teams_close(void)
{
	for (unsigned slot = 0; slot < 64; slot++)
		if (team_of_slot[slot])
			team_end(team_of_slot[slot]);
	contexts_end(&tws_team_world.ctx);
	contexts_end(&tws_team_shared.ctx);
	contexts_end(&team_ended);
}

bool sh_team_known(const struct shmem_team *team)
{
	bool known = team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED;

	for (unsigned slot = 0; slot < 64 && !known; slot++)
		known = team && team_of_slot[slot] == team;
	return known;
}

/* ---- contexts ---- */

static pthread_mutex_t team_mutex = PTHREAD_MUTEX_INITIALIZER; /* any thread may create contexts */

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
	const long known = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;

	*ctx = SHMEM_CTX_INVALID;
	SH_CHECK(team, team);
	if (sh.check && options & ~known)
		SH_MISTAKE(SH_CALLER, "0x%lx are no options of a context; use SHMEM_CTX_...", options);
	if (team == SHMEM_TEAM_INVALID)
		return -1;
	struct shmem_ctx *made = options & ~known ? NULL : calloc(1, sizeof(*made));
	struct tw_net_flow *flow = made ? tw_segment_flow_new() : NULL;
	if (!made || (tw_segment.net && !flow)) {
		free(made);
		return -1;
	}
	made->flow = flow;
	made->team = team;
	made->options = options;
	made->thread = (uint64_t)pthread_self();
	pthread_mutex_lock(&team_mutex);
	made->next = team->ctx;
	team->ctx = made;
	pthread_mutex_unlock(&team_mutex);
	*ctx = made;
	return 0;
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
	return pshmem_team_create_ctx(SHMEM_TEAM_WORLD, options, ctx);
}

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
	if (ctx == SHMEM_CTX_INVALID || ctx == SHMEM_CTX_DEFAULT)
		return;
	SH_CHECK(ctx, ctx);
	tw_segment_flow_free(ctx->flow);
	ctx->flow = NULL;
	pthread_mutex_lock(&team_mutex);
	struct shmem_ctx **at = &ctx->team->ctx;
	while (*at && *at != ctx)
		at = &(*at)->next;
	if (*at)
		*at = ctx->next;
	if (sh.check) {
		ctx->next = team_ended;
		team_ended = ctx;
	}
	pthread_mutex_unlock(&team_mutex);
	if (!sh.check)
		free(ctx);
}

static bool ctx_in(const struct shmem_ctx *list, const struct shmem_ctx *ctx)
{
	while (list && list != ctx)
		list = list->next;
	return list != NULL;
}

bool sh_ctx_known(const struct shmem_ctx *ctx)
{
	pthread_mutex_lock(&team_mutex);
	bool known = ctx == SHMEM_CTX_DEFAULT || ctx_in(tws_team_world.ctx, ctx) || ctx_in(tws_team_shared.ctx, ctx);
	for (unsigned slot = 0; slot < 64 && !known; slot++)
		known = team_of_slot[slot] && ctx_in(team_of_slot[slot]->ctx, ctx);
	pthread_mutex_unlock(&team_mutex);
	return known;
}

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
	*team = ctx == SHMEM_CTX_INVALID ? SHMEM_TEAM_INVALID : ctx->team;
	return ctx == SHMEM_CTX_INVALID ? -1 : 0;
}

TWS_FUNCTIONS_TEAM(SH_ALIAS)
