/* SPDX-License-Identifier: BSD-3-Clause */
/* epoch.h - what containers need of the managers beyond pgas.h: a check for room before the unlink, and objects that
 * may be read after they were freed. */
#ifndef TW_PGAS_EPOCH_H
#define TW_PGAS_EPOCH_H

#include "tweed/pgas.h"

/* tw_token_room - is there room for garbage?  0, or -EAGAIN when the limit is reached and nothing can be freed now.
 * tw_token_retire - tw_token_defer_delete() without the limit: after the unlink it is too late for an error. */
int tw_token_room(struct tw_token *token);
void tw_token_retire(struct tw_token *token, tw_gptr p);
int tw_local_token_room(struct tw_local_token *token);
void tw_local_token_retire(struct tw_local_token *token, void *object);

/* Stamped objects: objects of a manager in memory that keeps this use for ever.  An object's last word is 0, or the
 * stamp of an object that was there; a stamp is a number that no other object of the manager ever has.  So an object
 * may be read after it was freed, as hints do.  The pointer carries marks from one use to the next: those with which it
 * was deleted or retired.
 * tw_token_new_stamped - @pe: as nodes_pe in pgas.h.  Null: no memory.  Deleted and retired as other objects are.
 * tw_local_token_new_stamped - 0: no memory.  Deleted and retired by tw_local_token_delete_stamped and
 * tw_local_token_retire_stamped; all marks but the lowest are kept. */
tw_gptr tw_token_new_stamped(struct tw_token *token, unsigned pe);
uint64_t tw_local_token_new_stamped(struct tw_local_token *token);
void tw_local_token_delete_stamped(struct tw_local_token *token, uint64_t object);
void tw_local_token_retire_stamped(struct tw_local_token *token, uint64_t object);
uint64_t tw_local_token_stamp(struct tw_local_token *token);

#endif
