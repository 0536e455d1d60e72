/* SPDX-License-Identifier: BSD-3-Clause */
/* none.c - no protocol: one node, whose hardware keeps memory coherent.  The baseline of every comparison. */
#include "tweed/driver/protocol.h"

const struct tw_protocol tw_protocol_none = {
    .name = "none",
    .summary = "hardware coherence only, one node: the baseline",
    .flags = TW_PROTOCOL_ONE_NODE | TW_PROTOCOL_NO_FAULTS,
};
