/* SPDX-License-Identifier: BSD-3-Clause */
/* iostreams.c - the C++ library's standard streams.  The objects are shared memory (copies.ld).  Their buffers, which
 * pass everything on to C's streams, are the library's own, one in each process.  Once the program has made them
 * independent of C's streams, the buffers hold text, so the process's buffers are moved to shared memory. */
#include "runtime/process/streams/iostreams.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

#define IOSTREAMS_BUFFER 240 /* sizeof(std::filebuf), sizeof(std::wfilebuf) in libstdc++ */

/* A section that is read-only has their addresses: the linker makes copies, if the C++ library is linked. */
#define IOSTREAMS(X)                                                                                                   \
	X(_ZSt3cin) X(_ZSt4cout) X(_ZSt4cerr) X(_ZSt4clog) X(_ZSt4wcin) X(_ZSt5wcout) X(_ZSt5wcerr) X(_ZSt5wclog)
__asm__("	.section .rodata.tw_iostreams, \"a\"\n"
        "iostreams_streams:\n"
#define X(name) "	.weak " #name "\n	.quad " #name "\n"
        IOSTREAMS(X)
#undef X
            "	.previous\n");
extern char *const iostreams_streams[8] __attribute__((visibility("hidden")));

static struct iostreams_shared {
	uint32_t lock;
	bool own; /* the streams have buffers of their own */
} * iostreams_shared;

static void *iostreams_find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/* Each C++ source that includes <iostream> has a constructor that does this.  Only processor 0 runs it. */
void th_iostreams_begin(void)
{
	static char init[16];
	void (*open)(void *) = (void (*)(void *))(uintptr_t)iostreams_find("_ZNSt8ios_base4InitC1Ev");

	if (open)
		open(init);
}

void th_iostreams_open(void)
{
	iostreams_shared = th_allocate_all(sizeof(*iostreams_shared));
}

/* A stream's virtual base, std::basic_ios: its distance stands before the virtual functions. */
static void *iostreams_base(char *stream)
{
	return stream + ((ptrdiff_t **)(void *)stream)[0][-3];
}

/* cerr and clog have one buffer.  A buffer that is new holds no address of itself. */
static void iostreams_move(void)
{
	void *(*get[2])(void *), *(*set[2])(void *, void *), *old = NULL, *moved = NULL;

	*(void **)&get[0] = iostreams_find("_ZNKSt9basic_iosIcSt11char_traitsIcEE5rdbufEv");
	*(void **)&set[0] = iostreams_find("_ZNSt9basic_iosIcSt11char_traitsIcEE5rdbufEPSt15basic_streambufIcS1_E");
	*(void **)&get[1] = iostreams_find("_ZNKSt9basic_iosIwSt11char_traitsIwEE5rdbufEv");
	*(void **)&set[1] = iostreams_find("_ZNSt9basic_iosIwSt11char_traitsIwEE5rdbufEPSt15basic_streambufIwS1_E");
	for (unsigned i = 0; i < 8; i++) {
		void *base = iostreams_base(iostreams_streams[i]), *buffer = get[i / 4](base);
		if (buffer != old) {
			old = buffer;
			moved = th_heap_take(0, IOSTREAMS_BUFFER, NULL);
			if (!moved)
				th_refuse("no memory is left of TWEED_MEMORY: raise it");
			memcpy(moved, buffer, IOSTREAMS_BUFFER);
		}
		set[i / 4](base, moved);
	}
}

#pragma GCC visibility push(default)

bool th_iostreams_sync(bool sync) __asm__("_ZNSt8ios_base15sync_with_stdioEb");
bool th_iostreams_sync(bool sync)
{
	bool (*next)(bool);

	*(void **)&next = dlsym(RTLD_NEXT, "_ZNSt8ios_base15sync_with_stdioEb");
	if (!iostreams_shared || !tw_me || !th_heap_shares(NULL))
		return next(sync);
	th_word_lock(&iostreams_shared->lock);
	bool synced = !iostreams_shared->own;
	if (synced && !sync) {
		next(false);
		iostreams_move();
		iostreams_shared->own = true;
	}
	th_word_unlock(&iostreams_shared->lock);
	return synced;
}

#pragma GCC visibility pop
