/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ofi/ofi_link.h"

#include <errno.h>
#include <string.h>

#include "core/base/word_copy.h"

/* Store results from @result to @end where reads want them. */
static int link_results(struct ofi_link *link, const char *result, const char *end)
{
	while (result < end) {
		struct ofi_result *read = &link->read[link->first];

		if (!link->reads || read->bytes > (size_t)(end - result))
			return -EPROTO;
		tw_words_store(read->to, result, read->stored);
		result += read->bytes;
		link->first = (link->first + 1) % OFI_READS;
		link->reads--;
	}
	return 0;
}

static int link_reply(struct ofi_link *link, const struct ofi_reply *reply, size_t bytes)
{
	uint64_t number = reply->head.number;

	if (!link->session || !ofi_sealed(&link->key, &reply->head, bytes) || number < link->answered ||
	    number > link->sent || reply->placed < link->placed || reply->placed > link->puts ||
	    (number == link->answered && bytes > sizeof(*reply)))
		return 0; /* received before, or not from this session */
	int error = link_results(link, (const char *)(reply + 1), (const char *)reply + bytes);
	if (error)
		return error;
	link->answered = number;
	link->placed = reply->placed;
	return 0;
}

int ofi_link_delegated(struct ofi_link *link, const struct ofi_delegated *reply)
{
	if (reply->batch <= link->answered || reply->batch > link->asked)
		return -EPROTO;
	int error = link_results(link, (const char *)(reply + 1), (const char *)reply + reply->head.bytes);
	if (!error)
		link->answered = reply->batch;
	return error;
}

static void link_welcome(struct ofi_link *link, const struct tw_net_config *config, const struct ofi_welcome *welcome,
                         size_t bytes)
{
	if (link->session || bytes != sizeof(*welcome) || welcome->head.number != link->handshake ||
	    !welcome->session || !ofi_proves(config->secret, &welcome->head, bytes))
		return;
	link->session = welcome->session;
	link->memory = welcome->memory;
	ofi_key_derive(config->secret, link->session, welcome->head.node, config->node, config->port, &link->key);
}

int ofi_link_take(struct ofi_link *link, const struct tw_net_config *config, const struct ofi_head *head, size_t bytes)
{
	if (bytes < sizeof(*head) || head->node >= config->nodes || head->node == config->node ||
	    head->port != config->port || tw_net_lost(config, head->node))
		return 0;
	link += head->node;
	if (head->kind == OFI_REPLY)
		return link_reply(link, (const void *)head, bytes);
	if (head->kind == OFI_WELCOME)
		link_welcome(link, config, (const void *)head, bytes);
	return 0;
}
