/* SPDX-License-Identifier: BSD-3-Clause */
/* tag.h - a processor's output stream, passed on in whole lines with a prefix. */
#ifndef TW_TOOLS_TAG_H
#define TW_TOOLS_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tag_stream {
	int fd;  /* read end, non-blocking; -1 when closed */
	int out; /* where the lines go */
	char prefix[32];
	char *line; /* an incomplete line */
	size_t length, room;
};

/* tag_open - make the pipe; @*write_end (close-on-exec) goes to the processor.  0 or -errno. */
int tag_open(struct tag_stream *t, int out, unsigned node, unsigned processor, int *write_end);
/* tag_pump - pass on what is there; closes at end of file, or when nobody reads the lines any more. */
void tag_pump(struct tag_stream *t);
/* tag_close - pass on what is there, an incomplete last line too, and close. */
void tag_close(struct tag_stream *t);

#endif
