/* SPDX-License-Identifier: BSD-3-Clause */
/* response.c - arguments in files, @FILE, as gcc and ld read them: separated by blanks; with quotes and backslashes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tools/compile/compile.h"

char *compile_join(const char *a, const char *b, const char *c)
{
	char *text;

	if (asprintf(&text, "%s%s%s", a, b, c) < 0)
		tw_fatal("out of memory");
	return text;
}

#define RESPONSE_DEEP 8 /* files named in files */

struct response {
	char **word;
	size_t n, room;
};

static void response_add(struct response *r, char *word)
{
	if (r->n == r->room) {
		r->room = 2 * r->room + 16;
		r->word = realloc(r->word, r->room * sizeof(*r->word));
	}
	if (!r->word)
		tw_fatal("out of memory");
	r->word[r->n++] = word;
}

/* The next word of *@text, unquoted in place; NULL: there is none. */
static char *response_next(char **text)
{
	char *from = *text, *to, *word, quote = 0;

	while (isspace((unsigned char)*from))
		from++;
	if (!*from)
		return NULL;
	for (word = to = from; *from && (quote || !isspace((unsigned char)*from)); from++) {
		if (*from == '\\' && from[1])
			*to++ = *++from;
		else if (*from == quote)
			quote = 0;
		else if (!quote && (*from == '\'' || *from == '"'))
			quote = *from;
		else
			*to++ = *from;
	}
	*text = *from ? from + 1 : from;
	*to = '\0';
	return word;
}

static char *response_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = calloc(1, 1);
	}
	fclose(f);
	return text;
}

/* A file that cannot be read is an argument itself, as for gcc. */
static void response_expand(struct response *r, char *word, unsigned deep)
{
	char *text = word[0] == '@' && deep < RESPONSE_DEEP ? response_read(word + 1) : NULL;

	if (!text) {
		response_add(r, word);
		return;
	}
	for (char *next; (next = response_next(&text));)
		response_expand(r, next, deep + 1);
}

char **compile_arguments(char **argv, size_t *n)
{
	static struct response r; /* kept for the life of the process */

	for (; *argv; argv++)
		response_expand(&r, *argv, 0);
	*n = r.n;
	response_add(&r, NULL);
	return r.word;
}
