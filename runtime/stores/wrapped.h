/* SPDX-License-Identifier: BSD-3-Clause */
/* wrapped.h - the C library's functions that `tweed cc` replaces, by the linker's --wrap, by ones that announce their
 * stores. */
#ifndef TW_RUNTIME_STORES_WRAPPED_H
#define TW_RUNTIME_STORES_WRAPPED_H

/* clang-format off */
#define TW_WRAPPED_SCAN(X) \
	X(vsscanf) X(vfscanf) X(__isoc99_vsscanf) X(__isoc99_vfscanf) \
	X(sscanf) X(fscanf) X(scanf) X(__isoc99_sscanf) X(__isoc99_fscanf) X(__isoc99_scanf)
#define TW_WRAPPED_LIBRARY(X) \
	X(memcpy) X(memmove) X(memset) X(mempcpy) X(memccpy) X(bcopy) X(bzero) X(explicit_bzero) \
	X(strcpy) X(stpcpy) X(strncpy) X(stpncpy) X(strcat) X(strncat) X(strtok) X(strtok_r) X(strsep) \
	X(sprintf) X(snprintf) X(vsprintf) X(vsnprintf) X(fgets) X(qsort) \
	X(strtol) X(strtoul) X(strtoll) X(strtoull) X(strtof) X(strtod) X(modf) X(modff) X(frexp) X(frexpf) X(sincos) X(sincosf) \
	X(rand_r) X(erand48) X(nrand48) X(jrand48) X(time) X(gettimeofday) X(clock_gettime)
#define TW_WRAPPED(X) TW_WRAPPED_LIBRARY(X) TW_WRAPPED_SCAN(X)
/* clang-format on */

#endif
