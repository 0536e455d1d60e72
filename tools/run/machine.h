/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h - machine files: what a machine's operations cost (driver/costs.h). */
#ifndef TW_TOOLS_RUN_MACHINE_H
#define TW_TOOLS_RUN_MACHINE_H

#include "tweed/driver/costs.h"

/* machine_read - the costs of @machine: a file of Tweed's (results/machines), or a path, which has a / or ends in
 * .toml; with changes, as in "hdr:latency_ns=5000,link_mb=3000".  Returns 0, or -EINVAL, printed: there is no such
 * file, or it lacks a cost, has one twice, or has what is no cost; likewise a change. */
int machine_read(const char *machine, struct tw_costs *costs);

#endif
