/* SPDX-License-Identifier: BSD-3-Clause */
/* For profilers: the names pshmem_... are in the same header. */
#include "shmem.h"
