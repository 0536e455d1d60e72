/* SPDX-License-Identifier: BSD-3-Clause */
#include "base.h"

static int ready, notes;

static void __attribute__((constructor)) base_begin(void)
{
	ready = 1;
}

int base_ready(void)
{
	return ready;
}

void base_note(void)
{
	notes++;
}

int base_notes(void)
{
	return notes;
}
