/* SPDX-License-Identifier: BSD-3-Clause */
#define NODE_LOCAL
#define LIST_HINTS
#include "pgas/containers/harris_list.c"
