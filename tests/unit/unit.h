/* SPDX-License-Identifier: BSD-3-Clause */
/* unit.h - main() of a unit test: one CUnit suite; exit status 1 when anything failed. */
#ifndef TW_TESTS_UNIT_H
#define TW_TESTS_UNIT_H

#include <CUnit/Basic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* @tests: ended by CU_TEST_INFO_NULL. */
static inline int unit_main(const char *name, CU_TestInfo *tests)
{
	CU_SuiteInfo suites[] = {{name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};

	setvbuf(stdout, NULL, _IONBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) {
		fprintf(stderr, "%s: CUnit: %s\n", name, CU_get_error_msg());
		return 1;
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	unsigned failures = CU_get_number_of_failures() + (CU_get_number_of_tests_run() == 0);
	CU_cleanup_registry();
	return failures ? 1 : 0;
}

/* The same numbers in every run: xorshift64*. */
static inline uint64_t unit_random(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

#endif
