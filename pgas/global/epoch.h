/* SPDX-License-Identifier: BSD-3-Clause */
/* epoch.h - what containers need of the managers beyond pgas.h: room for garbage is asked for before the unlink, not
 * after it; and objects that may be read after they were freed. */
#ifndef TW_PGAS_EPOCH_H
#define TW_PGAS_EPOCH_H

#include "tweed/pgas.h"

/* tw_token_room - 0, or -EAGAIN when the limit is reached and nothing can be freed now.
 * tw_token_retire - tw_token_defer_delete() without the limit: after the unlink it is too late to refuse. */
int tw_token_room(struct tw_token *token);
void tw_token_retire(struct tw_token *token, tw_gptr p);
int tw_local_token_room(struct tw_local_token *token);
void tw_local_token_retire(struct tw_local_token *token, void *object);

/* Stamped objects: memory that stays of this kind, and of this manager's objects, for ever; its last word is 0, or the stamp of an object
 * that was there.  A stamp is a number that no other object of the manager ever has.  So an object may be read after it was
 * freed, as hints do.  Its pointer carries marks with it, from one use to the next: those with which it was deleted or retired.
 * tw_token_new_stamped - @pe: as nodes_pe in pgas.h; null: no memory.  Retired and deleted as others are.
 * tw_local_token_new_stamped - 0: no memory.  Deleted and retired by tw_local_token_delete_stamped and _retire_stamped; the marks are
 * those but the lowest. */
tw_gptr tw_token_new_stamped(struct tw_token *token, unsigned pe);
uint64_t tw_local_token_new_stamped(struct tw_local_token *token);
void tw_local_token_delete_stamped(struct tw_local_token *token, uint64_t object);
void tw_local_token_retire_stamped(struct tw_local_token *token, uint64_t object);
uint64_t tw_local_token_stamp(struct tw_local_token *token);

#endif
