/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of extensions, in programs for other libraries.  There are none here: what is OpenSHMEM 1.5 under such a name has its
 * name of 1.5 in shmem.h. */
#ifndef TWEED_SHMEMX_H
#define TWEED_SHMEMX_H

#include "shmem.h"

#endif
