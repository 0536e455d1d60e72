/* SPDX-License-Identifier: BSD-3-Clause */
/* wrapped.h - the C library's functions that `tweed cc` replaces by ones that announce what they store: the linker's --wrap. */
#ifndef TW_INSTRUMENT_WRAPPED_H
#define TW_INSTRUMENT_WRAPPED_H

#define TW_WRAPPED(X)                                                                                                  \
	X(memcpy)                                                                                                      \
	X(memmove) X(memset) X(mempcpy) X(memccpy) X(bcopy) X(bzero) X(explicit_bzero) X(strcpy) X(stpcpy) X(strncpy)  \
	    X(stpncpy) X(strcat) X(strncat) X(sprintf) X(snprintf) X(vsprintf) X(vsnprintf) X(fgets) X(qsort)

#endif
