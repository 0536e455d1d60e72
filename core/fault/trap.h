/* SPDX-License-Identifier: BSD-3-Clause */
/* trap.h - the backends' signal handling: which signal belongs to the application view, and what happens to others. */
#ifndef TW_CORE_FAULT_TRAP_H
#define TW_CORE_FAULT_TRAP_H

#include <signal.h>

#include "tweed/driver/fault.h"

/* The rights of each hardware page as set() last left them: enum tw_rights in a byte. They distinguish a fault that the
 * protocol must resolve from one where the kernel dropped a mapping by itself, and a store from a load where the CPU
 * does not report it. Private to the process, or shared with processors that may shoot at it. Accessed by callers of
 * set() or downgrade(). */
#define TW_SHADOW_SHIFT 12

/* tw_trap_open - trap @signal (SIGSEGV or SIGBUS) of code @si_code inside @fault's application view, for the process,
 * with an alternate stack for the calling thread. Other occurrences go to the previous handler. @resolve is called in
 * fault context; @write is 1, 0, or -1 for unknown; it returns false when the fault is not the backend's. Returns 0,
 * -EBUSY when another backend is open, or -ENOMEM; errors are logged. */
int tw_trap_open(struct tw_fault *fault, int signal, int si_code,
                 bool (*resolve)(struct tw_fault *fault, size_t offset, int write));
void tw_trap_close(void);

/* tw_trap_execute - make all that this processor can read of its view executable.  Returns whether it is: false under a
 * backend whose rights are the mapping's.
 * tw_trap_fetches - was it an instruction's fetch that faulted in the context @uc? */
bool tw_trap_execute(void);
bool tw_trap_fetches(const void *uc);

/* tw_trap_forget - in a child of fork: trap nothing any more. */
void tw_trap_forget(void);

/* tw_trap_breakpoints - take SIGTRAP until the process ends, whether a backend is open or not.  @breakpoint is called
 * in its handler for what is no step of Tweed's, and returns whether that was one of its breakpoints.  Called once. */
void tw_trap_breakpoints(bool (*breakpoint)(const siginfo_t *si, void *uc));

/* tw_shadow_create - allocate the rights of @bytes of view, all TW_NONE. Returns NULL when out of memory. */
uint8_t *tw_shadow_create(size_t bytes);
void tw_shadow_destroy(uint8_t *shadow, size_t bytes);

#endif
