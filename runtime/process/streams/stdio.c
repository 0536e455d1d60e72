/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.c - the C library's streams, used by threads on several nodes.
 *
 * A stream's state and buffer are shared memory, because malloc is (program_heap.c).  The C library's functions work on
 * it as on any memory; its locks are instructions that only work inside one process.  So each function that takes a
 * stream is wrapped: it holds a lock of Tweed's around the C library's function.  No lock is taken before the program
 * has a second thread.  The number of the lock is in the last bytes of the FILE, which the C library leaves unused.
 *
 * The C library keeps a list of all streams in each process, for fflush(NULL) and the end.  A shared stream is taken
 * out of that list and entered in a shared one.
 *
 * The standard streams are objects inside the C library, so each process has its own.  Shared streams for the
 * descriptors 0, 1 and 2 take their place: in the variables stdin, stdout and stderr, and where the C++ library passes
 * the objects' addresses. */
#undef __OPTIMIZE__ /* no inline definitions of functions that are defined here */
#undef _FILE_OFFSET_BITS

#include "runtime/process/streams/stdio.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "core/process/fork.h"
#include "core/process/syscalls.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

#define STDIO_HELD 8 /* streams that a thread can hold at a time */

struct stdio_node {
	FILE *f;
	struct stdio_node *next;
};

/* In shared memory. */
struct stdio_shared {
	uint32_t lock; /* of the list */
	struct stdio_node *first;
};

static struct stdio_shared *stdio_shared;
static FILE *stdio_standard[3]; /* shared; NULL: the C library's are used */
static FILE *stdio_private[3];  /* the C library's */
static void (*stdio_unlink)(void *f);

static __thread struct {
	FILE *f;
	unsigned depth;
} stdio_held[STDIO_HELD];
static __thread unsigned stdio_holds;

/* The C library's functions: type, name, parameters, arguments.  The stream is f. */
/* clang-format off */
#define STDIO_CALLS(X) \
	X(int, fgetc, (FILE *f), (f)) \
	X(int, getc, (FILE *f), (f)) \
	X(int, fputc, (int c, FILE *f), (c, f)) \
	X(int, putc, (int c, FILE *f), (c, f)) \
	X(int, ungetc, (int c, FILE *f), (c, f)) \
	X(int, getw, (FILE *f), (f)) \
	X(int, putw, (int w, FILE *f), (w, f)) \
	X(char *, fgets, (char *restrict s, int n, FILE *restrict f), (s, n, f)) \
	X(int, fputs, (const char *restrict s, FILE *restrict f), (s, f)) \
	X(size_t, fread, (void *restrict p, size_t size, size_t n, FILE *restrict f), (p, size, n, f)) \
	X(size_t, fwrite, (const void *restrict p, size_t size, size_t n, FILE *restrict f), (p, size, n, f)) \
	X(ssize_t, getline, (char **restrict line, size_t *restrict n, FILE *restrict f), (line, n, f)) \
	X(ssize_t, getdelim, (char **restrict line, size_t *restrict n, int d, FILE *restrict f), (line, n, d, f)) \
	X(ssize_t, __getdelim, (char **restrict line, size_t *restrict n, int d, FILE *restrict f), (line, n, d, f)) \
	X(int, vfprintf, (FILE *restrict f, const char *restrict format, va_list ap), (f, format, ap)) \
	X(int, __vfprintf_chk, (FILE *restrict f, int flag, const char *restrict format, va_list ap), \
	  (f, flag, format, ap)) \
	X(int, vfscanf, (FILE *restrict f, const char *restrict format, va_list ap), (f, format, ap)) \
	X(char *, __fgets_chk, (char *restrict s, size_t room, int n, FILE *restrict f), (s, room, n, f)) \
	X(size_t, __fread_chk, (void *restrict p, size_t room, size_t size, size_t n, FILE *restrict f), \
	  (p, room, size, n, f)) \
	X(int, fseek, (FILE *f, long at, int from), (f, at, from)) \
	X(int, fseeko, (FILE *f, off_t at, int from), (f, at, from)) \
	X(int, fseeko64, (FILE *f, off_t at, int from), (f, at, from)) \
	X(long, ftell, (FILE *f), (f)) \
	X(off_t, ftello, (FILE *f), (f)) \
	X(off_t, ftello64, (FILE *f), (f)) \
	X(int, fgetpos, (FILE *restrict f, fpos_t *restrict at), (f, at)) \
	X(int, fgetpos64, (FILE *restrict f, fpos64_t *restrict at), (f, at)) \
	X(int, fsetpos, (FILE *f, const fpos_t *at), (f, at)) \
	X(int, fsetpos64, (FILE *f, const fpos64_t *at), (f, at)) \
	X(int, feof, (FILE *f), (f)) \
	X(int, ferror, (FILE *f), (f)) \
	X(int, fileno, (FILE *f), (f)) \
	X(int, setvbuf, (FILE *restrict f, char *restrict buf, int mode, size_t n), (f, buf, mode, n)) \
	X(wint_t, fgetwc, (FILE *f), (f)) \
	X(wint_t, getwc, (FILE *f), (f)) \
	X(wint_t, fputwc, (wchar_t c, FILE *f), (c, f)) \
	X(wint_t, putwc, (wchar_t c, FILE *f), (c, f)) \
	X(wint_t, ungetwc, (wint_t c, FILE *f), (c, f)) \
	X(wchar_t *, fgetws, (wchar_t *restrict s, int n, FILE *restrict f), (s, n, f)) \
	X(int, fputws, (const wchar_t *restrict s, FILE *restrict f), (s, f)) \
	X(int, fwide, (FILE *f, int mode), (f, mode)) \
	X(int, vfwprintf, (FILE *restrict f, const wchar_t *restrict format, va_list ap), (f, format, ap)) \
	X(int, vfwscanf, (FILE *restrict f, const wchar_t *restrict format, va_list ap), (f, format, ap))
/* Without a result. */
#define STDIO_ACTIONS(X) \
	X(rewind, (FILE *f), (f)) \
	X(clearerr, (FILE *f), (f)) \
	X(setbuf, (FILE *restrict f, char *restrict buf), (f, buf)) \
	X(setbuffer, (FILE *restrict f, char *restrict buf, size_t n), (f, buf, n)) \
	X(setlinebuf, (FILE *f), (f))
/* Functions that open a stream.  @path: a string that the kernel reads. */
#define STDIO_OPENS(X) \
	X(fdopen, (int fd, const char *mode), (fd, mode), NULL) \
	X(tmpfile, (void), (), NULL) \
	X(tmpfile64, (void), (), NULL) \
	X(fmemopen, (void *p, size_t n, const char *mode), (p, n, mode), NULL) \
	X(open_memstream, (char **p, size_t *n), (p, n), NULL) \
	X(open_wmemstream, (wchar_t **p, size_t *n), (p, n), NULL) \
	X(fopencookie, (void *restrict cookie, const char *restrict mode, cookie_io_functions_t io), \
	  (cookie, mode, io), NULL)
#define STDIO_OTHERS(X) \
	X(fclose) X(fflush) X(fopen) X(fopen64) X(freopen) X(freopen64) X(puts) X(fcloseall) \
	X(flockfile) X(funlockfile) X(ftrylockfile)
/* clang-format on */

/* Not declared by headers. */
extern int __vfprintf_chk(FILE *restrict f, int flag, const char *restrict format, va_list ap);
extern char *__fgets_chk(char *restrict s, size_t room, int n, FILE *restrict f);
extern size_t __fread_chk(void *restrict p, size_t room, size_t size, size_t n, FILE *restrict f);

static struct {
#define X(type, name, parameters, arguments) __typeof__(name) *name;
	STDIO_CALLS(X)
#undef X
#define X(name, parameters, arguments) __typeof__(name) *name;
	STDIO_ACTIONS(X)
#undef X
#define X(name, parameters, arguments, path) __typeof__(name) *name;
	STDIO_OPENS(X)
#undef X
#define X(name) __typeof__(name) *name;
	STDIO_OTHERS(X)
#undef X
} next;

static void __attribute__((constructor(101))) stdio_find(void)
{
	if (next.fflush)
		return;
#define FIND(name)                           *(void **)&next.name = dlsym(RTLD_NEXT, #name);
#define X(type, name, parameters, arguments) FIND(name)
	STDIO_CALLS(X)
#undef X
#define X(name, parameters, arguments) FIND(name)
	STDIO_ACTIONS(X)
#undef X
#define X(name, parameters, arguments, path) FIND(name)
	STDIO_OPENS(X)
#undef X
	STDIO_OTHERS(FIND)
#undef FIND
	*(void **)&next.vfscanf = dlsym(RTLD_NEXT, "__isoc99_vfscanf"); /* what the header makes of the name */
	*(void **)&next.vfwscanf = dlsym(RTLD_NEXT, "__isoc99_vfwscanf");
	*(void **)&stdio_unlink = dlsym(RTLD_NEXT, "_IO_un_link");
}

/* The C library's function of that name, also before this file's constructor. */
#define STDIO_NEXT(name) (next.fflush ? next.name : (stdio_find(), next.name))

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static FILE *stdio_stream(FILE *f)
{
	for (unsigned i = 0; i < 3; i++)
		if (f == stdio_private[i] && stdio_standard[i])
			return stdio_standard[i];
	return f;
}

static uint32_t *stdio_word(FILE *f)
{
	return (uint32_t *)(void *)((char *)(f + 1) - 2 * sizeof(uint32_t));
}

/* What the C library makes on the stack for one call (snprintf), which functions of register_printf_specifier see, has
 * no lock. */
static bool stdio_locks(const FILE *f)
{
	return th_others && tw_me && th_heap_at(f) && f->_lock;
}

/* The entry of @f among the streams that this thread holds, or behind them. */
static unsigned stdio_entry(const FILE *f)
{
	unsigned i = 0;

	while (i < stdio_holds && stdio_held[i].f != f)
		i++;
	return i;
}

static bool stdio_lock(FILE *f, bool try)
{
	unsigned i = stdio_entry(f);

	if (i == STDIO_HELD)
		th_refuse("a thread has locked more than %d streams (flockfile): unlock one", STDIO_HELD);
	if (i == stdio_holds) {
		th_stack_reserve();
		tw_lock_t lock = th_lock_in(stdio_word(f));
		if (!try)
			th_lock_acquire(lock);
		else if (!th_lock_try(lock))
			return false;
		stdio_held[stdio_holds].f = f;
		stdio_held[stdio_holds++].depth = 0;
	}
	stdio_held[i].depth++;
	return true;
}

static void stdio_unlock(FILE *f)
{
	unsigned i = stdio_entry(f);
	int error = errno;

	if (i == stdio_holds || --stdio_held[i].depth)
		return;
	stdio_held[i] = stdio_held[--stdio_holds];
	th_stack_reserve();
	tw_lock_release(th_lock_in(stdio_word(f)));
	errno = error;
}

static bool stdio_enter(FILE **f)
{
	*f = stdio_stream(*f);
	return stdio_locks(*f) && stdio_lock(*f, false);
}

static void stdio_leave(FILE *f, bool locked)
{
	if (locked)
		stdio_unlock(f);
}

/* ---- the list of streams ----------------------------------------------------------------------------------------- */

/* Held while a stream's lock is waited for, as by fflush(NULL): so other threads of the processor run meanwhile. */
static __thread bool stdio_list_held;

static void stdio_list_lock(void)
{
	th_stack_reserve();
	if (!th_others)
		return;
	th_lock_acquire(th_lock_in(&stdio_shared->lock));
	stdio_list_held = true;
}

static void stdio_list_unlock(void)
{
	if (!stdio_list_held)
		return;
	stdio_list_held = false;
	tw_lock_release(th_lock_in(&stdio_shared->lock));
}

static FILE *stdio_enlist(FILE *f)
{
	int error = errno;

	if (!f || !stdio_shared || !tw_me || !th_heap_at(f))
		return f;
	if (stdio_unlink)
		stdio_unlink(f);
	memset(stdio_word(f), 0, 2 * sizeof(uint32_t));
	th_stack_reserve();
	struct stdio_node *node = tw_malloc(sizeof(*node)); /* malloc gives Tweed private memory */
	if (!node)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	stdio_list_lock();
	*node = (struct stdio_node){f, stdio_shared->first};
	stdio_shared->first = node;
	stdio_list_unlock();
	errno = error;
	return f;
}

static void stdio_delist(FILE *f)
{
	struct stdio_node *node = NULL;

	stdio_list_lock();
	for (struct stdio_node **at = &stdio_shared->first; *at; at = &(*at)->next)
		if ((*at)->f == f) {
			node = *at;
			*at = node->next;
			break;
		}
	stdio_list_unlock();
	if (node)
		tw_free(node);
}

enum stdio_wait { STDIO_WAIT, STDIO_SKIP, STDIO_FORCE };

/* Flush all streams.  Those that another thread holds: wait for them; leave them out, and count them in @held; or flush
 * them, too, as the C library does at exit. */
static int stdio_flush(enum stdio_wait wait, unsigned *held)
{
	int status = 0;

	stdio_list_lock();
	for (const struct stdio_node *node = stdio_shared->first; node; node = node->next) {
		bool locks = stdio_locks(node->f);
		if (locks && !stdio_lock(node->f, wait != STDIO_WAIT)) {
			++*held;
			if (wait == STDIO_SKIP)
				continue;
			th_order(); /* as its holders left it the last time */
			locks = false;
		}
		if (__fwriting(node->f) && next.fflush(node->f))
			status = EOF;
		stdio_leave(node->f, locks);
	}
	stdio_list_unlock();
	return status;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void stdio_use(FILE *const streams[3])
{
	stdin = streams[0];
	stdout = streams[1];
	stderr = streams[2];
}

void th_stdio_open(void)
{
	static const char *const mode[] = {"r", "w", "w"};
	FILE *streams[3];

	memcpy(stdio_private, (FILE *[]){stdin, stdout, stderr}, sizeof(stdio_private));
	memcpy(streams, stdio_private, sizeof(streams));
	stdio_shared = th_allocate_all(sizeof(*stdio_shared));
	for (int i = 0; i < 3 && tw_id() == 0; i++) {
		FILE *f = stdio_enlist(next.fdopen(i, mode[i]));
		if (f)
			streams[i] = f;
		if (f && i == 2)
			setvbuf(f, NULL, _IONBF, 0);
	}
	tw_bcast(streams, sizeof(streams), 0);
	memcpy(stdio_standard, streams, sizeof(streams));
	stdio_use(streams);
}

bool th_stdio_flush(bool force)
{
	unsigned held = 0;

	if (stdio_shared && (tw_me || tw_forked()))
		stdio_flush(force ? STDIO_FORCE : STDIO_SKIP, &held);
	return !held;
}

void th_stdio_abandon(void)
{
	if (!stdio_shared)
		return;
	while (stdio_holds)
		tw_lock_release(th_lock_in(stdio_word(stdio_held[--stdio_holds].f)));
	stdio_list_unlock();
}

void th_stdio_touch(void)
{
	if (!stdio_shared)
		return;
	stdio_list_lock();
	for (const struct stdio_node *node = stdio_shared->first; node; node = node->next) {
		const FILE *f = node->f;
		tw_touch(f, sizeof(*f), false);
		tw_touch(f->_IO_buf_base, (size_t)(f->_IO_buf_end - f->_IO_buf_base), false);
	}
	stdio_list_unlock();
}

void th_stdio_close(void)
{
	if (!stdio_shared)
		return;
	stdio_use(stdio_private);
	memset(stdio_standard, 0, sizeof(stdio_standard));
	stdio_shared = NULL;
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

#pragma GCC visibility push(default)

#define X(type, name, parameters, arguments)                                                                           \
	TH_WEAK type name parameters                                                                                   \
	{                                                                                                              \
		bool locked = stdio_enter((FILE **)&f);                                                                \
		type result = STDIO_NEXT(name) arguments;                                                              \
		stdio_leave(f, locked);                                                                                \
		return result;                                                                                         \
	}
STDIO_CALLS(X)
#undef X

#define X(name, parameters, arguments)                                                                                 \
	TH_WEAK void name parameters                                                                                   \
	{                                                                                                              \
		bool locked = stdio_enter((FILE **)&f);                                                                \
		STDIO_NEXT(name) arguments;                                                                            \
		stdio_leave(f, locked);                                                                                \
	}
STDIO_ACTIONS(X)
#undef X

#define X(name, parameters, arguments, path)                                                                           \
	TH_WEAK FILE *name parameters                                                                                  \
	{                                                                                                              \
		return stdio_enlist(STDIO_NEXT(name) arguments);                                                       \
	}
STDIO_OPENS(X)
#undef X

/* Calls with a list of arguments. */
#define STDIO_LISTED(name, list, parameters, arguments)                                                                \
	TH_WEAK int name parameters                                                                                    \
	{                                                                                                              \
		va_list ap;                                                                                            \
		va_start(ap, format);                                                                                  \
		int result = list arguments;                                                                           \
		va_end(ap);                                                                                            \
		return result;                                                                                         \
	}
#define STDIO_FORMATS(name, list, standard, type)                                                                      \
	STDIO_LISTED(f##name, list, (FILE *restrict f, const type *restrict format, ...), (f, format, ap))             \
	STDIO_LISTED(name, list, (const type *restrict format, ...), (standard, format, ap))                           \
	TH_WEAK int v##name(const type *restrict format, va_list ap)                                                   \
	{                                                                                                              \
		return list(standard, format, ap);                                                                     \
	}
STDIO_FORMATS(printf, vfprintf, stdout, char)
STDIO_FORMATS(scanf, vfscanf, stdin, char)
STDIO_FORMATS(wprintf, vfwprintf, stdout, wchar_t)
STDIO_FORMATS(wscanf, vfwscanf, stdin, wchar_t)

/* The names before C99, which headers replace by others; only the meaning of %a is different. */
#define STDIO_OLD(name, list, standard, type)                                                                          \
	extern int stdio_old_f##name(FILE *restrict f, const type *restrict format, ...) __asm__("f" #name);           \
	extern int stdio_old_##name(const type *restrict format, ...) __asm__(#name);                                  \
	STDIO_LISTED(stdio_old_f##name, list, (FILE *restrict f, const type *restrict format, ...), (f, format, ap))   \
	STDIO_LISTED(stdio_old_##name, list, (const type *restrict format, ...), (standard, format, ap))
STDIO_OLD(scanf, vfscanf, stdin, char)
STDIO_OLD(wscanf, vfwscanf, stdin, wchar_t)

extern int __fprintf_chk(FILE *restrict f, int flag, const char *restrict format, ...);
extern int __printf_chk(int flag, const char *restrict format, ...);
extern int __vprintf_chk(int flag, const char *restrict format, va_list ap);
STDIO_LISTED(__fprintf_chk, __vfprintf_chk, (FILE *restrict f, int flag, const char *restrict format, ...),
             (f, flag, format, ap))
STDIO_LISTED(__printf_chk, __vfprintf_chk, (int flag, const char *restrict format, ...), (stdout, flag, format, ap))
TH_WEAK int __vprintf_chk(int flag, const char *restrict format, va_list ap)
{
	return __vfprintf_chk(stdout, flag, format, ap);
}

TH_WEAK int getchar(void)
{
	return getc(stdin);
}

TH_WEAK int putchar(int c)
{
	return putc(c, stdout);
}

TH_WEAK wint_t getwchar(void)
{
	return getwc(stdin);
}

TH_WEAK wint_t putwchar(wchar_t c)
{
	return putwc(c, stdout);
}

TH_WEAK int puts(const char *s)
{
	FILE *f = stdout;
	bool locked = stdio_enter(&f);
	int result = STDIO_NEXT(puts)(s);

	stdio_leave(f, locked);
	return result;
}

TH_WEAK void perror(const char *s)
{
	char text[256];
	int error = errno;
	const char *what = strerror_r(error, text, sizeof(text));

	if (s && *s)
		fprintf(stderr, "%s: %s\n", s, what);
	else
		fprintf(stderr, "%s\n", what);
	errno = error;
}

TH_WEAK int fflush(FILE *f)
{
	if (!f) {
		int status = STDIO_NEXT(fflush)(NULL);
		return stdio_shared && tw_me && stdio_flush(STDIO_WAIT, NULL) ? EOF : status;
	}
	bool locked = stdio_enter(&f);
	int status = STDIO_NEXT(fflush)(f);
	stdio_leave(f, locked);
	return status;
}

TH_WEAK int fclose(FILE *f)
{
	__typeof__(fclose) *closes = STDIO_NEXT(fclose);

	f = stdio_stream(f);
	if (!stdio_shared || !tw_me || !th_heap_at(f))
		return closes(f);
	stdio_delist(f); /* first: the list's lock comes before a stream's */
	bool locks = stdio_locks(f) && stdio_lock(f, false);
	uint32_t word = *stdio_word(f);
	stdio_leave(f, locks);
	if (word)
		tw_lock_destroy(th_lock_in(stdio_word(f)));
	for (unsigned i = 0; i < 3; i++)
		if (stdio_standard[i] == f) { /* other threads still name it */
			int fd = fileno(f), status = next.fflush(f);
			return close(fd) ? EOF : status;
		}
	return closes(f);
}

TH_WEAK FILE *fopen(const char *restrict path, const char *restrict mode)
{
	return stdio_enlist(tw_fopen(path, mode, __builtin_return_address(0)));
}

TH_WEAK FILE *fopen64(const char *restrict path, const char *restrict mode)
{
	return stdio_enlist(tw_fopen(path, mode, __builtin_return_address(0)));
}

/* The C library may enter the stream in its list again. */
TH_WEAK FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict f)
{
	FILE *stream = f;
	bool locked = stdio_enter(&stream);

	char copy[PATH_MAX]; /* the page may be taken at any time, and the call closes the stream first */
	if (path && strnlen(path, sizeof(copy)) < sizeof(copy))
		path = strcpy(copy, path);
	FILE *opened = STDIO_NEXT(freopen)(path, mode, stream);
	if (th_heap_at(stream) && stdio_unlink)
		stdio_unlink(stream);
	stdio_leave(stream, locked);
	return opened ? f : NULL;
}

TH_WEAK FILE *freopen64(const char *restrict path, const char *restrict mode, FILE *restrict f)
{
	return freopen(path, mode, f);
}

TH_WEAK void flockfile(FILE *f)
{
	f = stdio_stream(f);
	if (stdio_locks(f))
		stdio_lock(f, false);
	else
		STDIO_NEXT(flockfile)(f);
}

TH_WEAK int ftrylockfile(FILE *f)
{
	f = stdio_stream(f);
	return stdio_locks(f) ? !stdio_lock(f, true) : STDIO_NEXT(ftrylockfile)(f);
}

TH_WEAK void funlockfile(FILE *f)
{
	f = stdio_stream(f);
	if (stdio_entry(f) < stdio_holds)
		stdio_unlock(f);
	else
		STDIO_NEXT(funlockfile)(f);
}

#pragma GCC visibility pop
