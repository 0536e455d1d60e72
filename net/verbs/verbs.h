/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs.h - the libraries, for all files of the verbs transport. */
#ifndef TW_NET_VERBS_VERBS_H
#define TW_NET_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "core/base/base.h"
#include "net/transports.h"
#include "net/verbs/verbs_wire.h"

/* clang-format off */
#define VERBS_CALLS(X)                                                                                                 \
	X(ibv_fork_init) X(ibv_get_device_list) X(ibv_free_device_list) X(ibv_get_device_name)                         \
	X(ibv_query_device) X(ibv_alloc_pd) X(ibv_dealloc_pd) X(ibv_reg_mr) X(ibv_dereg_mr)                            \
	X(ibv_create_comp_channel) X(ibv_destroy_comp_channel) X(ibv_create_cq) X(ibv_destroy_cq)                      \
	X(ibv_get_cq_event) X(ibv_ack_cq_events) X(ibv_create_srq) X(ibv_destroy_srq) X(ibv_modify_qp)                 \
	X(ibv_wc_status_str)
#define VERBS_CM_CALLS(X)                                                                                              \
	X(rdma_create_event_channel) X(rdma_destroy_event_channel) X(rdma_create_id) X(rdma_destroy_id)                \
	X(rdma_bind_addr) X(rdma_listen) X(rdma_resolve_addr) X(rdma_resolve_route) X(rdma_set_option)                 \
	X(rdma_create_qp) X(rdma_destroy_qp) X(rdma_connect) X(rdma_accept) X(rdma_reject)          \
	X(rdma_disconnect) X(rdma_get_cm_event) X(rdma_ack_cm_event) X(rdma_event_str)
/* clang-format on */

/* The functions of libibverbs and librdmacm that are not inline ones; ibv_reg_mr is also a macro:
 * (verbs.ibv_reg_mr)(...). */
extern struct verbs_lib {
#define X(name) __typeof__(name) *name;
	VERBS_CALLS(X)
	VERBS_CM_CALLS(X)
#undef X
} verbs;

/* verbs_load - load both libraries, once.  Returns 0, or -errno with one clause in @why.  Not in fault context. */
int verbs_load(char *why, size_t why_bytes);

#endif
