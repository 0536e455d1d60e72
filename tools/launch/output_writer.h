/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.h - the processors' output leaves the launcher: threads write it, so that a reader that does not read (a pager, a
 * stopped terminal) holds up nothing but the output. */
#ifndef TW_TOOLS_LAUNCH_OUTPUT_WRITER_H
#define TW_TOOLS_LAUNCH_OUTPUT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

/* writer_start - start them.  Returns a descriptor that can be read (eventfd) when there is something new for
 * writer_written or writer_deaf, or -errno. */
int writer_start(void);
/* writer_put - write it, after all that was put before for the same stream (1 or 2).  Returns 0 or -ENOMEM. */
int writer_put(unsigned node, unsigned stream, const char *bytes, size_t count);
/* writer_written - bytes of @node written, or thrown away, since the last call. */
size_t writer_written(unsigned node);
/* writer_deaf - true once: nobody reads @stream any more. */
bool writer_deaf(unsigned stream);
/* writer_finish - wait until all is written.  Without writer_start, nothing. */
void writer_finish(void);

#endif
