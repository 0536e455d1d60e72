/* SPDX-License-Identifier: BSD-3-Clause */
/* For profilers: shmem.h declares the names pshmem_..., too. */
#include "shmem.h"
