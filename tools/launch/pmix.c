/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch/pmix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TW_PMIX
#include <dlfcn.h>
#include <pmix.h>

#include "core/base/library.h"

#define PMIX_KEY_RENDEZVOUS "tweed.meeting"

static struct {
	pmix_status_t (*init)(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo);
	pmix_status_t (*finalize)(const pmix_info_t info[], size_t ninfo);
	pmix_status_t (*put)(pmix_scope_t scope, const char key[], pmix_value_t *value);
	pmix_status_t (*commit)(void);
	pmix_status_t (*fence)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo);
	pmix_status_t (*get)(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t ninfo,
	                     pmix_value_t **value);
	const char *(*error)(pmix_status_t status);
} pmix;
static pmix_proc_t pmix_me;

static int pmix_load(char *error, size_t error_bytes)
{
	static const struct {
		const char *name;
		void *place;
	} functions[] = {
	    {"PMIx_Init", &pmix.init},          {"PMIx_Finalize", &pmix.finalize}, {"PMIx_Put", &pmix.put},
	    {"PMIx_Commit", &pmix.commit},      {"PMIx_Fence", &pmix.fence},       {"PMIx_Get", &pmix.get},
	    {"PMIx_Error_string", &pmix.error},
	};
	void *library = tw_library_open("libpmix.so.2");

	if (!library) {
		snprintf(error, error_bytes,
		         "the resource manager speaks PMIx, but libpmix.so.2 is not installed here: install it");
		return -ENOTSUP;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(library, functions[i].name);
		if (!function) {
			snprintf(error, error_bytes, "libpmix.so.2 has no %s: install another version",
			         functions[i].name);
			return -ENOTSUP;
		}
		memcpy(functions[i].place, &function, sizeof(function));
	}
	return 0;
}

static int pmix_failed(const char *what, pmix_status_t status, char *error, size_t error_bytes)
{
	snprintf(error, error_bytes, "the resource manager's PMIx server fails to %s: %s", what, pmix.error(status));
	return -EIO;
}

int pmix_open(unsigned *rank, unsigned *size, char *error, size_t error_bytes)
{
	pmix_value_t *value = NULL;
	pmix_status_t status;

	if (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK")) {
		snprintf(error, error_bytes,
		         "'tweed agent' is for resource managers that speak PMIx, as in 'mpirun -n 4 tweed agent "
		         "PROGRAM' or 'srun "
		         "--mpi=pmix -n 4 tweed agent PROGRAM'; without one use 'tweed run'");
		return -ENOENT;
	}
	int loaded = pmix_load(error, error_bytes);
	if (loaded < 0)
		return loaded;
	if ((status = pmix.init(&pmix_me, NULL, 0)) != PMIX_SUCCESS)
		return pmix_failed("let us in", status, error, error_bytes);
	pmix_proc_t all = pmix_me;
	all.rank = PMIX_RANK_WILDCARD;
	status = pmix.get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
	if (status != PMIX_SUCCESS || value->type != PMIX_UINT32)
		return pmix_failed("report the job's size", status, error, error_bytes);
	*rank = pmix_me.rank;
	*size = value->data.uint32;
	return 0;
}

int pmix_share(void *data, size_t bytes, char *error, size_t error_bytes)
{
	pmix_value_t mine = {.type = PMIX_BYTE_OBJECT, .data.bo = {.bytes = data, .size = bytes}}, *value = NULL;
	pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
	pmix_proc_t first = pmix_me;
	pmix_status_t status = PMIX_SUCCESS;

	if (pmix_me.rank == 0 && (status = pmix.put(PMIX_GLOBAL, PMIX_KEY_RENDEZVOUS, &mine)) == PMIX_SUCCESS)
		status = pmix.commit();
	if (status == PMIX_SUCCESS)
		status = pmix.fence(NULL, 0, &collect, 1);
	if (status != PMIX_SUCCESS)
		return pmix_failed("exchange data", status, error, error_bytes);
	if (pmix_me.rank == 0)
		return (int)bytes;
	first.rank = 0;
	status = pmix.get(&first, PMIX_KEY_RENDEZVOUS, NULL, 0, &value);
	if (status != PMIX_SUCCESS || value->type != PMIX_BYTE_OBJECT || value->data.bo.size > bytes)
		return pmix_failed("hand over what the first process has put", status, error, error_bytes);
	memcpy(data, value->data.bo.bytes, value->data.bo.size);
	return (int)value->data.bo.size;
}

void pmix_close(void)
{
	pmix.finalize(NULL, 0);
}

#else

int pmix_open(unsigned *rank, unsigned *size, char *error, size_t error_bytes)
{
	(void)rank;
	(void)size;
	snprintf(error, error_bytes,
	         "this tweed was built without PMIx: install its headers (libpmix-dev) and build again, or use "
	         "'tweed run --hosts'");
	return -ENOTSUP;
}

int pmix_share(void *data, size_t bytes, char *error, size_t error_bytes)
{
	(void)data;
	(void)bytes;
	(void)error;
	(void)error_bytes;
	return -ENOTSUP;
}

void pmix_close(void) {}

#endif
