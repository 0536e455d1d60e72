/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.h - the processors' output leaves the launcher: threads write it, so that a reader that does not read (a pager, a
 * stopped terminal) holds up nothing but the output. */
#ifndef TW_TOOLS_DRAIN_H
#define TW_TOOLS_DRAIN_H

#include <stdbool.h>
#include <stddef.h>

/* drain_start - start them.  Returns a descriptor that can be read (eventfd) when there is something new for
 * drain_written or drain_deaf, or -errno. */
int drain_start(void);
/* drain_put - write it, after all that was put before for the same stream (1 or 2).  Returns 0 or -ENOMEM. */
int drain_put(unsigned node, unsigned stream, const char *bytes, size_t count);
/* drain_written - bytes of @node written, or thrown away, since the last call. */
size_t drain_written(unsigned node);
/* drain_deaf - true once: nobody reads @stream any more. */
bool drain_deaf(unsigned stream);
/* drain_finish - wait until all is written.  Without drain_start, nothing. */
void drain_finish(void);

#endif
