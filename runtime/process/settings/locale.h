/* SPDX-License-Identifier: BSD-3-Clause */
/* locale.h - the locale of the program. */
#ifndef TW_RUNTIME_PROCESS_SETTINGS_LOCALE_H
#define TW_RUNTIME_PROCESS_SETTINGS_LOCALE_H

/* th_locale_open - the program's processors have one locale from now on.  Collective; before the program runs.
 * th_locale_close - the processor's locale stays as it is. */
void th_locale_open(void);
void th_locale_close(void);
/* The same for the global locale of C++ (cxx_locale.c). */
void th_cxx_locale_open(void);
void th_cxx_locale_close(void);

#endif
