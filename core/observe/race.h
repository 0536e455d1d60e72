/* SPDX-License-Identifier: BSD-3-Clause */
/* race.h - write-write data races that the protocols find (TWEED_RACE=ww): the core's part. The protocols' part is in
 * driver/protocol.h; what is found and what is not is in doc/guide/races.md. */
#ifndef TW_CORE_OBSERVE_RACE_H
#define TW_CORE_OBSERVE_RACE_H

#include "tweed/driver/protocol.h"

#define TW_RACE_LOCKS 4096u /* words of layout.race; page p uses word p % TW_RACE_LOCKS */

/* tw_race_open - find out where the program lies in memory. [start] */
void tw_race_open(struct tw_proc *me);
/* tw_race_end - report when no memory was checked because the program never called tw_init. [processor] */
void tw_race_end(const struct tw_proc *me);

/* tw_race_print - print what was found since the last call on standard error, a line each with function and source
 * line. Only in the application's thread, outside all hooks; allocates. */
void tw_race_print(struct tw_proc *me);

#endif
