/* SPDX-License-Identifier: BSD-3-Clause */
/* psm.c - a substitute for libpsm_infinipath and libpsm2 (net/ofi/port/ofi_library.c): each function that libfabric
 * 1.17 calls reports that they do not work. */
#define PSM_INIT_NOT_INIT 5 /* in both */

#define PSM_FUNCTION(name)                                                                                             \
	long name(void);                                                                                               \
	long name(void)                                                                                                \
	{                                                                                                              \
		return PSM_INIT_NOT_INIT;                                                                              \
	}
#define PSM_TEXT(name)                                                                                                 \
	const char *name(void);                                                                                        \
	const char *name(void)                                                                                         \
	{                                                                                                              \
		return "not loaded by Tweed";                                                                          \
	}

/* clang-format off */
#define PSM_1(X) \
	X(psm_am_get_parameters) X(psm_am_register_handlers) X(psm_am_reply_short) X(psm_am_request_short) \
	X(psm_ep_close) X(psm_ep_connect) X(psm_ep_epid_lookup) X(psm_ep_num_devunits) X(psm_ep_open) \
	X(psm_ep_open_opts_get_defaults) X(psm_epaddr_getctxt) X(psm_epaddr_setctxt) X(psm_error_register_handler) \
	X(psm_finalize) X(psm_init) X(psm_mq_cancel) X(psm_mq_finalize) X(psm_mq_init) X(psm_mq_ipeek) \
	X(psm_mq_iprobe) X(psm_mq_irecv) X(psm_mq_isend) X(psm_mq_send) X(psm_mq_test)
#define PSM_2(X) \
	X(psm2_am_get_parameters) X(psm2_am_get_source) X(psm2_am_register_handlers_2) X(psm2_am_reply_short) \
	X(psm2_am_request_short) X(psm2_ep_close) X(psm2_ep_connect) X(psm2_ep_disconnect2) X(psm2_ep_epid_lookup2) \
	X(psm2_ep_open) X(psm2_ep_open_opts_get_defaults) X(psm2_epaddr_getctxt) X(psm2_epaddr_setctxt) \
	X(psm2_epaddr_to_epid) X(psm2_error_register_handler) X(psm2_finalize) X(psm2_get_capability_mask) \
	X(psm2_info_query) X(psm2_init) X(psm2_mq_cancel) X(psm2_mq_improbe2) X(psm2_mq_imrecv) X(psm2_mq_init) \
	X(psm2_mq_ipeek) X(psm2_mq_iprobe2) X(psm2_mq_irecv2) X(psm2_mq_isend2) X(psm2_mq_send2) X(psm2_mq_test2) \
	X(psm2_mq_wait2) X(psm2_poll)
/* clang-format on */

PSM_1(PSM_FUNCTION)
PSM_2(PSM_FUNCTION)
PSM_TEXT(psm_error_get_string)
PSM_TEXT(psm2_error_get_string)
