/* SPDX-License-Identifier: BSD-3-Clause */
/* The header's name in older programs. */
#include "../shmemx.h"
