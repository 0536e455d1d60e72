/* SPDX-License-Identifier: BSD-3-Clause */
/* epoch.h - what containers need of the managers beyond pgas.h: room for garbage is asked for before the unlink, not
 * after it. */
#ifndef TW_PGAS_EPOCH_H
#define TW_PGAS_EPOCH_H

#include "tweed/pgas.h"

/* tw_token_room - 0, or -EAGAIN when the limit is reached and nothing can be freed now.
 * tw_token_retire - tw_token_defer_delete() without the limit: after the unlink it is too late to refuse. */
int tw_token_room(struct tw_token *token);
void tw_token_retire(struct tw_token *token, tw_gptr p);
int tw_local_token_room(struct tw_local_token *token);
void tw_local_token_retire(struct tw_local_token *token, void *object);

#endif
