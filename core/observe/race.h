/* SPDX-License-Identifier: BSD-3-Clause */
/* race.h - write-write data races that the protocols find (TWEED_RACE=ww): the core's part.  What protocols call is in
 * driver/protocol.h, what is found and what is not in doc/guide/races.md. */
#ifndef TW_CORE_OBSERVE_RACE_H
#define TW_CORE_OBSERVE_RACE_H

#include "tweed/driver/protocol.h"

#define TW_RACE_LOCKS 4096u /* words of layout.race, for the pages in turn */

/* tw_race_open - learn where the program lies in memory.  [start] */
void tw_race_open(struct tw_proc *me);
/* tw_race_end - say so if no memory was looked at, as the program has never called tw_init.  [processor] */
void tw_race_end(const struct tw_proc *me);

/* tw_race_print - print what was found since the last call: one line each on standard error, with function and source
 * line.  Only in the application's thread, outside of every hook; allocates. */
void tw_race_print(struct tw_proc *me);

#endif
