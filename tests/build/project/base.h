/* SPDX-License-Identifier: BSD-3-Clause */
/* base.h - a library that another library uses. */
#ifndef BASE_H
#define BASE_H

int base_ready(void);
void base_note(void);
int base_notes(void);

#endif
