/* SPDX-License-Identifier: BSD-3-Clause */
/* output_writer.h - writes the processors' output, in threads: a reader that does not read (a pager, a stopped
 * terminal) blocks only the output. */
#ifndef TW_TOOLS_LAUNCH_OUTPUT_WRITER_H
#define TW_TOOLS_LAUNCH_OUTPUT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

/* writer_start - start the threads.  Returns an eventfd that becomes readable when writer_written or writer_deaf has
 * something new, or -errno. */
int writer_start(void);
/* writer_put - write @bytes, after all earlier ones for the same stream (1 or 2).  Returns 0 or -ENOMEM. */
int writer_put(unsigned node, unsigned stream, const char *bytes, size_t count);
/* writer_written - bytes of @node written or discarded since the last call. */
size_t writer_written(unsigned node);
/* writer_deaf - true once: @stream has no reader any more. */
bool writer_deaf(unsigned stream);
/* writer_finish - wait until all is written.  Without writer_start, does nothing. */
void writer_finish(void);

#endif
