/* SPDX-License-Identifier: BSD-3-Clause */
/* cxx_locale.c - std::locale::global().  The C++ library has the global locale in private data, so each processor has
 * one of its own.  A processor that changes it leaves a description in shared memory; the others follow when they
 * construct a locale from it, as streams do.
 *
 * A locale with a name is made anew from that, because its facets refer to the C library's private data.  Of another
 * one a copy is left, which has no caches and is never used itself: the library fills caches without a lock that other
 * processes know.  Each processor makes its own copy of that.  The facets are shared, and live for ever: the library's
 * counts of their users are exact only within a process. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/program_heap.h"
#include "runtime/process/settings/locale.h"
#include "runtime/threads/support.h"

/* Layouts of libstdc++. */
struct cxx_facet {
	const void *functions;
	int users;
};
struct cxx_implementation {
	int users;
	struct cxx_facet **facet;
	size_t facets;
	void **cache;
	char **name;
};
struct cxx_string {
	char *at;
	size_t length;
	char here[16];
};
struct cxx_locale {
	struct cxx_implementation *implementation;
};

#define CXX_NAME  512
#define CXX_USERS (1 << 28)

static struct cxx_shared {
	uint32_t lock;
	uint64_t changes;
	struct cxx_implementation *unnamed; /* NULL: it is the one called @name */
	char name[CXX_NAME];
} * cxx_shared;           /* NULL: the locale is not shared */
static uint64_t cxx_seen; /* of the changes, by this process */

#define CXX_NEXT(function, symbol)                                                                                     \
	if (!(function))                                                                                               \
	*(void **)&(function) = dlsym(RTLD_NEXT, symbol)

static void cxx_copy(struct cxx_implementation *to, const struct cxx_implementation *from)
{
	static void (*next)(struct cxx_implementation * to, const struct cxx_implementation *from, size_t users);

	CXX_NEXT(next, "_ZNSt6locale5_ImplC1ERKS0_m");
	next(to, from, CXX_USERS);
}

static void *cxx_global(struct cxx_locale *old, const struct cxx_locale *locale)
{
	static void *(*next)(struct cxx_locale * old, const struct cxx_locale *locale);

	CXX_NEXT(next, "_ZNSt6locale6globalERKS_");
	return next(old, locale);
}

static void cxx_named(struct cxx_locale *locale, const char *name)
{
	static void (*next)(struct cxx_locale * locale, const char *name);

	CXX_NEXT(next, "_ZNSt6localeC1EPKc");
	next(locale, name);
}

/* Zeroed shared memory. */
static void *cxx_take(size_t bytes)
{
	void *taken = th_heap_take(0, bytes, NULL);

	if (!taken)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	return memset(taken, 0, bytes);
}

/* The former locale's users are not counted: it lives on. */
static void cxx_follow(void)
{
	struct cxx_locale locale, old;
	char name[CXX_NAME];

	if (!cxx_shared || !tw_me || cxx_shared->changes == cxx_seen)
		return;
	th_word_lock(&cxx_shared->lock);
	cxx_seen = cxx_shared->changes;
	locale.implementation = cxx_shared->unnamed;
	memcpy(name, cxx_shared->name, sizeof(name));
	th_word_unlock(&cxx_shared->lock);
	if (locale.implementation) {
		struct cxx_implementation *own = cxx_take(sizeof(*own));
		cxx_copy(own, locale.implementation);
		locale.implementation = own;
	} else {
		cxx_named(&locale, name);
	}
	cxx_global(&old, &locale);
}

/* The locale's name in @name; false: it has none, or none that fits. */
static bool cxx_name(const struct cxx_locale *locale, char name[CXX_NAME])
{
	static void (*next)(struct cxx_string * name, const struct cxx_locale *locale);
	struct cxx_string text;

	CXX_NEXT(next, "_ZNKSt6locale4nameB5cxx11Ev");
	next(&text, locale);
	bool named = strcmp(text.at, "*") != 0 && text.length < CXX_NAME;
	if (named)
		memcpy(name, text.at, text.length + 1);
	if (text.at != text.here)
		free(text.at);
	return named;
}

/* With the lock. */
static void cxx_publish(const struct cxx_locale *locale)
{
	struct cxx_implementation *copy = NULL;

	if (!cxx_name(locale, cxx_shared->name)) {
		struct cxx_implementation bare = *locale->implementation;
		copy = cxx_take(sizeof(*copy));
		bare.cache = cxx_take(bare.facets * sizeof(*bare.cache));
		cxx_copy(copy, &bare);
		free(bare.cache);
		for (size_t i = 0; i < copy->facets; i++)
			if (th_heap_at(copy->facet[i]) && copy->facet[i]->users < CXX_USERS)
				copy->facet[i]->users += CXX_USERS;
	}
	cxx_shared->unnamed = copy;
	cxx_seen = ++cxx_shared->changes;
}

void th_cxx_locale_open(void)
{
	cxx_shared = th_allocate_all(sizeof(*cxx_shared));
}

void th_cxx_locale_close(void)
{
	cxx_shared = NULL;
}

#pragma GCC visibility push(default)

/* std::locale::locale() */
TH_WEAK void cxx_construct(struct cxx_locale *locale) __asm__("_ZNSt6localeC1Ev");
TH_WEAK void cxx_construct(struct cxx_locale *locale)
{
	static void (*next)(struct cxx_locale * locale);

	CXX_NEXT(next, "_ZNSt6localeC1Ev");
	cxx_follow();
	next(locale);
}

/* std::locale::global(const std::locale &) */
TH_WEAK void *cxx_replace(struct cxx_locale *old, const struct cxx_locale *locale) __asm__("_ZNSt6locale6globalERKS_");
TH_WEAK void *cxx_replace(struct cxx_locale *old, const struct cxx_locale *locale)
{
	if (!cxx_shared || !tw_me || !th_heap_shares(NULL))
		return cxx_global(old, locale);
	cxx_follow();
	void *result = cxx_global(old, locale);
	th_word_lock(&cxx_shared->lock);
	cxx_publish(locale);
	th_word_unlock(&cxx_shared->lock);
	return result;
}

#pragma GCC visibility pop
