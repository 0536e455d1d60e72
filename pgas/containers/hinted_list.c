/* SPDX-License-Identifier: BSD-3-Clause */
#define LIST_HINTS
#include "pgas/containers/harris_list.c"
