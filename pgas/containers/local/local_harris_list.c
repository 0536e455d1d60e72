/* SPDX-License-Identifier: BSD-3-Clause */
#define NODE_LOCAL
#include "pgas/containers/harris_list.c"
