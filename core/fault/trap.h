/* SPDX-License-Identifier: BSD-3-Clause */
/* trap.h - the signal half of the backends: which signal belongs to the application view, what to do with others. */
#ifndef TW_CORE_FAULT_TRAP_H
#define TW_CORE_FAULT_TRAP_H

#include <signal.h>

#include "tweed/driver/fault.h"

/* The rights each hardware page has, as set() last left them: enum tw_rights in a byte.  It tells a fault that the
 * protocol must resolve from one where the kernel took a mapping away on its own, and a store from a load where the
 * processor does not say.  Private to the process, or shared with processors that may shoot at it; touched by
 * whoever may call set() or downgrade(). */
#define TW_SHADOW_SHIFT 12

/* tw_trap_open - trap @signal (SIGSEGV or SIGBUS) of code @si_code inside @fault's application view, for the process
 * and with an alternate stack for the calling thread.  All else goes to the handler that was there before. @resolve:
 * called in fault context; @write is 1, 0, or -1 for unknown.  Returns false when the fault is not ours. Returns: 0;
 * -EBUSY when another backend is open; -ENOMEM; logged. */
int tw_trap_open(struct tw_fault *fault, int signal, int si_code,
		 bool (*resolve)(struct tw_fault *fault, size_t offset, int write));
void tw_trap_close(void);

/* tw_trap_forget - in a child of fork: nothing is trapped any more. */
void tw_trap_forget(void);

/* tw_shadow_create - the rights of @bytes of view, all TW_NONE; NULL when out of memory. */
uint8_t *tw_shadow_create(size_t bytes);
void tw_shadow_destroy(uint8_t *shadow, size_t bytes);

#endif
