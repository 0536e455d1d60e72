/* SPDX-License-Identifier: BSD-3-Clause */
/* reserve.h - memory of each node that the run-times of threads use. Agents, which are not linked with them, must
 * reserve it as well (core/memory/reserved.c). */
#ifndef TW_RUNTIME_OPENMP_RESERVE_H
#define TW_RUNTIME_OPENMP_RESERVE_H

#include <stddef.h>

#define OMP_EXPORTED_BYTES  ((size_t)64 << 10) /* the order, and the words of worksharing constructs: share.c */
#define LOCALE_BYTES        ((size_t)4096)     /* behind them: runtime/process/settings/locale.c */
#define EXECUTABLE_BYTES    ((size_t)4096)     /* behind them: runtime/process/settings/executable.c */
#define OMP_NODE_BYTES      ((size_t)8 << 10)  /* private: struct queue_node of queue.c */
#define OMP_PROCESSOR_BYTES ((size_t)64 << 10) /* private, of each processor: OMP_TASKS records */

#endif
