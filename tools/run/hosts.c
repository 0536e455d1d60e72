/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/run/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define HOSTS_FILE_MOST ((size_t)1 << 20)

struct hosts_reader {
	const char *from; /* for messages: --hosts, or the file's name */
	struct tool_hosts *hosts;
	char *error;
	size_t error_bytes;
};

/* Are the characters of a name valid?  Letters and digits of a host, user or, with colons, address; no character that a
 * shell interprets or that begins an option. */
static bool hosts_name(const char *text, size_t len, bool address)
{
	const char *others = address ? ":.%" : "._@%-";

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(others, text[i]))
			return false;
	return len > 0 && len < sizeof(((struct tool_host *)0)->name) && text[0] != '-';
}

/* HOST or HOST:NODES; an IPv6 address in brackets. */
static int hosts_add(struct hosts_reader *r, const char *text, size_t len)
{
	const char *bracket = text[0] == '[' ? memchr(text, ']', len) : NULL;
	size_t skip = bracket ? (size_t)(bracket - text) : 0;
	const char *colon = memchr(text + skip, ':', len - skip);
	size_t name = colon ? (size_t)(colon - text) : len;
	unsigned long nodes = 1;
	char *end;

	if (colon) {
		nodes = isdigit((unsigned char)colon[1]) ? strtoul(colon + 1, &end, 10) : 0;
		if (nodes < 1 || nodes > TW_MAX_NODES || end != text + len) {
			snprintf(r->error, r->error_bytes,
			         "%s has '%.*s', but the nodes of a host are a number from 1 to %d", r->from,
			         (int)TW_MIN(len, (size_t)80), text, TW_MAX_NODES);
			return -EINVAL;
		}
	}
	/* The remote shell expects an address without its brackets. */
	bool address = bracket && name == skip + 1;
	if (!hosts_name(text + address, name - 2 * address, address)) {
		snprintf(r->error, r->error_bytes, "%s has '%.*s', which is no host; write HOST or HOST:NODES", r->from,
		         (int)TW_MIN(len, (size_t)80), text);
		return -EINVAL;
	}
	struct tool_host *grown = realloc(r->hosts->host, (r->hosts->count + 1) * sizeof(*grown));
	if (!grown) {
		snprintf(r->error, r->error_bytes, "out of memory");
		return -ENOMEM;
	}
	r->hosts->host = grown;
	struct tool_host *h = &grown[r->hosts->count];
	snprintf(h->name, sizeof(h->name), "%.*s", (int)(name - 2 * address), text + address);
	h->nodes = (unsigned)nodes;
	r->hosts->count++;
	r->hosts->nodes += h->nodes;
	if (r->hosts->nodes > TW_MAX_NODES) {
		snprintf(r->error, r->error_bytes, "%s names more than %d nodes; name fewer", r->from, TW_MAX_NODES);
		return -EINVAL;
	}
	return 0;
}

/* The entries of @text, separated by characters of @between. */
static int hosts_list(struct hosts_reader *r, const char *text, const char *between)
{
	int status = 0;

	for (text += strspn(text, between); *text && status == 0; text += strspn(text, between)) {
		size_t len = strcspn(text, between);
		status = hosts_add(r, text, len);
		text += len;
	}
	return status;
}

/* The contents of the finite file @path as text; NULL, with a sentence in the reader's error, if it cannot be read or
 * is no such file. */
static char *hosts_text(struct hosts_reader *r, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(HOSTS_FILE_MOST + 1) : NULL;
	size_t bytes = text ? fread(text, 1, HOSTS_FILE_MOST, f) : 0;

	if (!text || ferror(f)) {
		snprintf(r->error, r->error_bytes, "cannot read the hosts' file '%s': %s; name another", path,
		         strerror(errno));
		free(text);
		text = NULL;
	} else if (bytes == HOSTS_FILE_MOST) {
		snprintf(r->error, r->error_bytes,
		         "'%s' is no hosts' file, for it has %zu bytes and more; name another", path, HOSTS_FILE_MOST);
		free(text);
		text = NULL;
	}
	for (size_t i = 0; text && i < bytes; i++)
		if (!text[i])
			text[i] = '\1'; /* a character of no name */
	if (text)
		text[bytes] = '\0';
	if (f)
		fclose(f);
	return text;
}

static int hosts_file(struct hosts_reader *r, const char *path)
{
	char *text = hosts_text(r, path), *next = text;
	int status = text ? 0 : -EINVAL;

	for (char *line; status == 0 && (line = strsep(&next, "\n"));) {
		line[strcspn(line, "#")] = '\0';
		status = hosts_list(r, line, " \t\r");
	}
	free(text);
	return status;
}

int hosts_read(const struct tw_launch *launch, struct tool_hosts *hosts, char *error, size_t error_bytes)
{
	struct hosts_reader r = {launch->hosts[0] ? "--hosts" : launch->hostfile, hosts, error, error_bytes};
	int status;

	*hosts = (struct tool_hosts){0};
	if (!launch->hosts[0] && !launch->hostfile[0])
		return 0;
	if (launch->hosts[0] && launch->hostfile[0]) {
		snprintf(error, error_bytes, "both --hosts and --hostfile name hosts; use one of them");
		return -EINVAL;
	}
	status = launch->hosts[0] ? hosts_list(&r, launch->hosts, ", ") : hosts_file(&r, launch->hostfile);
	if (status == 0 && !hosts->count) {
		snprintf(error, error_bytes,
		         "%s names no host; write HOST[:NODES],..., or leave it out for emulated nodes here", r.from);
		status = -EINVAL;
	}
	if (status < 0)
		hosts_free(hosts);
	return status;
}

const struct tool_host *hosts_of(const struct tool_hosts *hosts, unsigned node)
{
	const struct tool_host *h = hosts->host;

	while (node >= h->nodes)
		node -= h++->nodes;
	return h;
}

void hosts_free(struct tool_hosts *hosts)
{
	free(hosts->host);
	*hosts = (struct tool_hosts){0};
}
