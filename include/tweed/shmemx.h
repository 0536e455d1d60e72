/* SPDX-License-Identifier: BSD-3-Clause */
/* shmemx.h - the header of extensions, for programs that were written for other libraries.  There are no extensions:
 * what OpenSHMEM 1.5 has adopted is in shmem.h under its name of 1.5. */
#ifndef TWEED_SHMEMX_H
#define TWEED_SHMEMX_H

#include "shmem.h"

#endif
