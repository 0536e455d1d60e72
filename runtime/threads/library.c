/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c - shared libraries that Tweed's compilers have not made (libopenblas.so).  Each process has variables of
 * them. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "runtime/threads/support.h"

#define LIBRARY_SEEN    64u
#define LIBRARY_CALLERS 256

/* The program's code, then Tweed's (runtime/stores/globals.ld). */
extern const char tw_program_start[], tw_text_end[];

/* Libraries whose threads use none of their variables. */
static const char *const library_known[] = {"libfftw3", "libstdc++"};

static bool library_private(const void *code)
{
	struct link_map *map;
	Dl_info info;
	const char *name;

	if (!dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) || !map->l_name[0])
		return false;
	name = strrchr(map->l_name, '/');
	name = name ? name + 1 : map->l_name;
	for (size_t i = 0; i < sizeof(library_known) / sizeof(library_known[0]); i++)
		if (!strncmp(name, library_known[i], strlen(library_known[i])))
			return false;
	return true;
}

/* What Tweed's linker makes exports a mark (tools/compile/ld.c). */
const char *th_library_foreign(const void *code)
{
	static const char mark[] = "\0tw_made_";
	struct link_map *map;
	Dl_info info;
	const char *names = NULL;
	size_t bytes = 0;

	if (!th_library_private(code) || !dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		names = d->d_tag == DT_STRTAB ? (const void *)d->d_un.d_ptr : names;
		bytes = d->d_tag == DT_STRSZ ? d->d_un.d_val : bytes;
	}
	return names && memmem(names, bytes, mark, sizeof(mark) - 1) ? NULL : map->l_name;
}

/* Does the file name in @path begin so?  @path may be NULL. */
static bool library_named(const char *path, const char *name)
{
	const char *base = path ? strrchr(path, '/') : NULL;

	return base && !strncmp(base + 1, name, strlen(name));
}

void th_library_thread(void)
{
	static _Atomic bool ends;
	void *callers[LIBRARY_CALLERS];
	int n = backtrace(callers, LIBRARY_CALLERS);

	if (n == LIBRARY_CALLERS)
		return; /* where the thread began is not among them */
	/* The outermost ones are the C library's, then comes what the thread runs. */
	while (n > 0 && library_named(th_library_foreign(callers[n - 1]), "libc.so"))
		n--;
	const char *library = n > 0 ? th_library_foreign(callers[n - 1]) : NULL;
	if (!library || library_named(library, "ld-linux"))
		return;
	while (atomic_exchange(&ends, true))
		pause(); /* until the job ends: one thread prints the sentence */
	th_refuse("a thread that %s has made, which gcc has linked, runs the program's code: link its archive, or "
	          "compile the library with Tweed's compiler",
	          library);
}

bool th_library_private(const void *code)
{
	static struct {
		const void *code;
		bool private;
	} seen[LIBRARY_SEEN];
	unsigned at = (unsigned)((uintptr_t)code >> 4) % LIBRARY_SEEN;

	if ((size_t)((const char *)code - tw_program_start) < (size_t)(tw_text_end - tw_program_start))
		return false;
	if (seen[at].code != code) {
		seen[at].private = library_private(code);
		seen[at].code = code;
	}
	return seen[at].private;
}

/* ---- MPI --------------------------------------------------------------------------------------------------------
 * Its libraries start threads and processes that use the program's memory, which Tweed does not know of. */

int MPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided);

TH_WEAK int MPI_Init(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	th_refuse(
	    "this program calls MPI, whose processes cannot be a job's processors: build it without MPI, or, as one "
	    "process of MPI, with gcc");
}

TH_WEAK int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided)
{
	(void)wanted, (void)provided;
	return MPI_Init(argc, argv);
}

/* ---- functions of threads by their names ---- */

/* dlsym.S: Tweed's function in place of that of the C library with this @name; NULL: there is none.  The linker exports
 * Tweed's functions from programs that call dlsym (tools/compile/ld.c). */
void *th_dlsym(const void *handle, const char *name);
void *th_dlsym(const void *handle, const char *name)
{
	static const char *const kinds[] = {"pthread_", "sem_", "thrd_", "mtx_", "cnd_", "tss_", "call_once"};
	static const char own[] = "tw_", of_threads[] = "_threads";
	char text[64];
	size_t bytes = name ? strlen(name) : 0;

	if ((handle != RTLD_NEXT && handle != RTLD_DEFAULT) || !bytes ||
	    bytes + sizeof(own) + sizeof(of_threads) > sizeof(text))
		return NULL;
	memcpy(text, own, sizeof(own) - 1);
	memcpy(text + sizeof(own) - 1, name, bytes + 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return dlsym(RTLD_DEFAULT, text);
	memcpy(text + sizeof(own) - 1 + bytes, of_threads, sizeof(of_threads));
	return dlsym(RTLD_DEFAULT, text);
}
