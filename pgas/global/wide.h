/* SPDX-License-Identifier: BSD-3-Clause */
/* wide.h - bring-up of 128-bit words. */
#ifndef TW_PGAS_WIDE_H
#define TW_PGAS_WIDE_H

void wide_open(void);
void wide_close(void);

#endif
