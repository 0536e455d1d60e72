/* SPDX-License-Identifier: BSD-3-Clause */
/* iostreams.h - the C++ library's standard streams. */
#ifndef TW_RUNTIME_PROCESS_IOSTREAMS_H
#define TW_RUNTIME_PROCESS_IOSTREAMS_H

/* th_iostreams_begin - before the job: initialize the C++ library's part of the streams, if it is linked.
 * th_iostreams_open - the program's processors share the streams from now on.  Collective; before the program runs. */
void th_iostreams_begin(void);
void th_iostreams_open(void);

#endif
