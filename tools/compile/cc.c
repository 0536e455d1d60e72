/* SPDX-License-Identifier: BSD-3-Clause */
/* cc.c - `tweed cc` and `tweed c++`: run the compiler so that it announces each store (runtime/stores/), places global
 * variables where they can be shared or copied, and links Tweed. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "runtime/stores/wrapped.h"
#include "tools/tools.h"

#define CC_WORDS 64 /* maximum of added arguments */

enum cc_kind { CC_UNKNOWN, CC_GCC, CC_CLANG };

struct cc {
	bool cxx;
	bool poll, show, silent, parmacs, copied_globals, shared_globals,
	    shared_heap; /* Tweed's options; silent: stores are not announced */
	bool openmp;     /* tweed omp: implies some of them */
	bool pthreads;   /* implies some of them */
	bool below;      /* the caller is a compiler that this command has started */
	enum cc_kind kind;
	bool compiles, links, shared;              /* what the compiler is asked for */
	bool language;                             /* -x was given */
	char *include, *stores, *library, *script; /* paths */
	char *run_time, *tasks, *helper, *spec;    /* for threads: their libraries, and folders with gcc's helpers */
	const char **command;
	size_t words;
};

/* Do global variables get addresses that are known when the program is linked? */
static bool cc_places_globals(const struct cc *cc)
{
	return cc->parmacs || cc->shared_globals;
}

static int cc_usage(const char *name)
{
	printf("usage: tweed %s [OPTIONS] ARGUMENTS OF THE COMPILER...\n\n"
	       "Compiles and links as the compiler does (CC, else clang, else gcc; CXX, else clang++, else g++), with\n"
	       "instructions that report every store to Tweed, with its headers, and with its library.\n\n"
	       "  --no-stores       no such instructions: faster, but not for protocol 1L\n"
	       "  --poll            instructions that poll for requests of other processors, too\n"
	       "  --parmacs         for programs with the PARMACS macros: global variables are shared memory\n"
	       "  --copied-globals  with --parmacs: private, CREATE copies them\n"
	       "  --shared-globals  global variables are shared memory\n"
	       "  --shared-heap     malloc and its kin give shared memory\n"
	       "  --pthreads        POSIX threads are the job's processors, and share everything; with gcc\n"
	       "  --show            print the command in place of running it\n",
	       name);
	return 0;
}

static int cc_usage_openmp(const char *name)
{
	printf("usage: tweed %s [--show] ARGUMENTS OF THE COMPILER...\n\n"
	       "Compiles and links an OpenMP program with gcc (CC; CXX for c++), and Tweed's run-time of OpenMP in "
	       "place of\n"
	       "gcc's: its threads are the processors of a job, on several nodes, and share all memory.\n\n"
	       "  tweed omp cc -O2 -o heat heat.c && tweed run -n 2 -p 2 ./heat\n\n"
	       "  --show   print the command in place of running it\n",
	       name);
	return 0;
}

/* Are threads processors, by OpenMP or POSIX? */
static bool cc_threads(const struct cc *cc)
{
	return cc->openmp || cc->pthreads;
}

static void cc_add(struct cc *cc, const char *word)
{
	cc->command[cc->words++] = word;
}

static void cc_add_all(struct cc *cc, const char *const *words)
{
	for (; *words; words++)
		cc_add(cc, *words);
}

static char *cc_join(const char *a, const char *b, const char *c)
{
	char *text;
	if (asprintf(&text, "%s%s%s", a, b, c) < 0)
		tw_fatal("out of memory");
	return text;
}

/* ---- the caller's arguments -------------------------------------------------------------------------------------- */

/* Options whose value is the next argument. */
static const char *const cc_valued[] = {
    "-o",         "-x",       "-I",       "-L",       "-D",       "-U",          "-l",
    "-include",   "-imacros", "-isystem", "-iquote",  "-iprefix", "-idirafter",  "-isysroot",
    "-MF",        "-MT",      "-MQ",      "-T",       "-Xlinker", "-Xassembler", "-Xpreprocessor",
    "-Xclang",    "-mllvm",   "-target",  "-u",       "-z",       "-e",          "-aux-info",
    "-dumpbase",  "-dumpdir", "--param",  "-wrapper", "-B",       "-specs",      "-A",
    "-framework", "-soname",  "-h",       "-rpath",   NULL};
/* Options that end before linking, and before compiling. */
static const char *const cc_no_link[] = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r", NULL};
static const char *const cc_objects[] = {".o", ".lo", ".a", ".so", ".obj", ".ld", ".lds", NULL};

static bool cc_among(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static bool cc_ends(const char *word, const char *end)
{
	size_t n = strlen(word), m = strlen(end);
	return n > m && strcmp(word + n - m, end) == 0;
}

static bool cc_for_linker(const char *file)
{
	for (size_t i = 0; cc_objects[i]; i++)
		if (cc_ends(file, cc_objects[i]))
			return true;
	return strstr(file, ".so.") != NULL;
}

/* The reason why @word is refused when global variables are placed, or NULL. */
static const char *cc_refusal_placed(const struct cc *cc, const char *word)
{
	if (strcmp(word, "-shared") == 0 && cc_threads(cc))
		return "but only a program's global variables can be shared by its threads on several nodes, not a "
		       "library's: make it an archive, "
		       "and link that";
	if (strcmp(word, "-shared") == 0 && cc->parmacs)
		return "but only a program's global variables can be shared or copied (--parmacs), not a library's: "
		       "make it an "
		       "archive, and link that";
	if (strcmp(word, "-shared") == 0)
		return "but only a program's global variables can be placed: link it statically, or leave "
		       "--shared-globals out";
	if (strncmp(word, "-mcmodel=", 9) == 0 && strcmp(word, "-mcmodel=small") != 0)
		return "but global variables are placed for the small code model: leave it out";
	if (strncmp(word, "-fuse-ld=", 9) == 0 && strcmp(word, "-fuse-ld=bfd") != 0)
		return "but only GNU ld can place global variables: leave it out";
	return NULL;
}

/* The reason why @word is refused, or NULL. */
static const char *cc_refusal(const struct cc *cc, const char *word)
{
	const char *why = cc_places_globals(cc) ? cc_refusal_placed(cc, word) : NULL;

	if (why)
		return why;
	if (cc->pthreads && strcmp(word, "-fopenmp") == 0)
		return "but threads are either OpenMP's ('tweed omp cc') or POSIX's: leave one of them out";
	if (word[0] == '@')
		return "which is not read: give its arguments themselves";
	if (strcmp(word, "-static") == 0 || strcmp(word, "-static-pie") == 0)
		return "but Tweed needs the C library linked dynamically: leave it out";
	if (strncmp(word, "-fsanitize=", 11) == 0 &&
	    (strstr(word, "address") || strstr(word, "thread") || strstr(word, "memory")))
		return "which takes the place of the instrumentation: leave it out";
	if (strcmp(word, "-m32") == 0 || strcmp(word, "-mx32") == 0)
		return "but Tweed is for 64 bits: leave it out";
	return NULL;
}

/* Does the object @file lack the mark of instrumented.h?  False for files that are no objects, or cannot be read. */
static bool cc_unmarked(const char *file)
{
	struct stat st;
	bool unmarked = false;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)sizeof(Elf64_Ehdr)) {
		size_t bytes = (size_t)st.st_size;
		void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		const Elf64_Ehdr *elf = at;
		if (at != MAP_FAILED) {
			unmarked = memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 && elf->e_type == ET_REL &&
			           !memmem(at, bytes, "\0.tweed.stores", sizeof("\0.tweed.stores"));
			munmap(at, bytes);
		}
	}
	close(fd);
	return unmarked;
}

/* Find out what the arguments ask for.  0, or -EINVAL, printed. */
static int cc_read(struct cc *cc, const char *name, char **argv)
{
	bool link = true, compile = true, input = false;

	for (; *argv; argv++) {
		const char *why = cc_refusal(cc, *argv);
		if (why) {
			tool_say("'tweed %s%s' was given %s, %s", cc->openmp ? "omp " : "", name, *argv, why);
			return -EINVAL;
		}
		link = link && !cc_among(*argv, cc_no_link);
		cc->shared = cc->shared || strcmp(*argv, "-shared") == 0;
		cc->language = cc->language || strncmp(*argv, "-x", 2) == 0;
		if (cc_among(*argv, cc_valued) && argv[1]) {
			argv++;
			continue;
		}
		if (**argv == '-' && (*argv)[1] && strncmp(*argv, "-l", 2) != 0)
			continue;
		input = true;
		if (**argv != '-' || !(*argv)[1])
			cc->compiles = cc->compiles || (compile && !cc_for_linker(*argv));
	}
	cc->links = input && link;
	return 0;
}

/* Every object that is named must announce its stores.  Archives are not checked. */
static int cc_check_objects(const char *name, char **argv)
{
	for (; *argv; argv++) {
		if (cc_among(*argv, cc_valued) && argv[1])
			argv++;
		else if (**argv != '-' && cc_unmarked(*argv)) {
			tool_say("%s does not announce its stores: compile it with 'tweed %s' too, or, if it never "
			         "stores into "
			         "shared memory, put it into an archive",
			         *argv, name);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- where Tweed is ---------------------------------------------------------------------------------------------- */

/* The command of a build uses the build's files.  0, or -ENOENT, printed. */
static int cc_locate(struct cc *cc)
{
	if (tool_in_build()) {
		cc->include = cc_join(TOOL_SOURCE_ROOT, "/include", "");
		cc->stores = cc_join(TOOL_BUILD_ROOT, "/runtime/stores/libtweed-stores.a", "");
		cc->library = cc_join(TOOL_BUILD_ROOT, "/libtweed.a", "");
		cc->script = cc_join(TOOL_SOURCE_ROOT, "/runtime/stores/globals.ld", "");
		cc->run_time = cc_join(
		    TOOL_BUILD_ROOT,
		    cc->pthreads ? "/runtime/pthreads/libtweed-pthreads.a" : "/runtime/openmp/libtweed-openmp.a", "");
		cc->tasks = cc_join(TOOL_BUILD_ROOT, "/runtime/openmp/libtweed-openmp-tasks.a", "");
		cc->helper = cc_join("-B", TOOL_BUILD_ROOT, "/tools/");
		cc->spec = cc_join("-B", TOOL_SOURCE_ROOT, "/runtime/openmp/gcc/");
	} else {
		char *libraries = tool_installed(TOOL_LIBDIR), *data = tool_installed(TOOL_DATADIR);
		cc->include = tool_installed(TOOL_INCLUDEDIR);
		cc->stores = cc_join(libraries, "/libtweed-stores.a", "");
		cc->library = cc_join(libraries, "/libtweed.a", "");
		cc->script = cc_join(data, "/tweed/globals.ld", "");
		cc->run_time = cc_join(libraries, cc->pthreads ? "/libtweed-pthreads.a" : "/libtweed-openmp.a", "");
		cc->tasks = cc_join(libraries, "/libtweed-openmp-tasks.a", "");
		cc->spec = cc->helper = cc_join("-B", tool_installed(TOOL_LIBEXECDIR), "/tweed/gcc/");
		free(libraries);
		free(data);
	}
	char *header = cc_join(cc->include, "/tweed/instrumented.h", "");
	const char *needed[] = {header, cc->stores, cc->library, cc->script, cc->run_time, cc->tasks};
	int error = 0;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]) && !error; i++)
		if (access(needed[i], R_OK) < 0) {
			tool_say("there is no %s beside this command: install Tweed as a whole, in a build without "
			         "sanitizers",
			         needed[i]);
			error = -ENOENT;
		}
	free(header);
	return error;
}

/* ---- the compiler ------------------------------------------------------------------------------------------------ */

static bool cc_in_path(const char *name)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *next = path;
	bool found = false;

	for (char *folder; path && !found && (folder = strsep(&next, ":"));) {
		char *file = cc_join(folder, "/", name);
		found = access(file, X_OK) == 0;
		free(file);
	}
	free(path);
	return found;
}

/* clang where stores are announced for protocol 1L, because it announces some that gcc does not
 * (doc/internals/stores.md).  gcc for programs with the PARMACS macros: they were written for gcc, and clang breaks
 * some. */
static const char *cc_default(const struct cc *cc)
{
	const char *clang = cc->cxx ? "clang++" : "clang";
	bool announces = !cc->silent && (!cc->parmacs || cc->shared_globals);
	return announces && cc_in_path(clang) ? clang : cc->cxx ? "g++" : "gcc";
}

/* CC='tweed cc', from a makefile that calls this command: names no compiler. */
static bool cc_is_this(const char *text)
{
	const char *end = strchr(text, ' '), *name = end ? memrchr(text, '/', (size_t)(end - text)) : NULL;
	return end && strncmp(name ? name + 1 : text, "tweed ", 6) == 0;
}

/* Split CC at blanks: "ccache gcc". */
static void cc_compiler(struct cc *cc)
{
	const char *text = getenv(cc->cxx ? "CXX" : "CC");

	if (!text || !text[strspn(text, " ")] || cc_is_this(text) || cc->below)
		text = cc_default(cc);
	char *words = strdup(text), *next = words;
	for (char *w; words && (w = strsep(&next, " "));)
		if (*w && cc->words < CC_WORDS / 4)
			cc_add(cc, w);
}

/* Ask the compiler for its kind.  0, or -errno, printed. */
static int cc_ask(struct cc *cc)
{
	static const char *const question[] = {"-dM", "-E", "-x", "c", "/dev/null", NULL};
	size_t words = cc->words, room = 0;
	char *line = NULL;
	int out[2], status;

	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	pid_t child = fork();
	if (child == 0) {
		cc_add_all(cc, question);
		cc_add(cc, NULL);
		dup2(out[1], STDOUT_FILENO);
		int null = open("/dev/null", O_WRONLY);
		if (null >= 0)
			dup2(null, STDERR_FILENO);
		execvp(cc->command[0], (char *const *)(uintptr_t)cc->command);
		_exit(127);
	}
	cc->words = words;
	close(out[1]);
	FILE *in = fdopen(out[0], "r");
	while (in && getline(&line, &room, in) > 0) {
		if (strncmp(line, "#define __clang__ ", 18) == 0)
			cc->kind = CC_CLANG;
		else if (strncmp(line, "#define __GNUC__ ", 17) == 0 && cc->kind == CC_UNKNOWN)
			cc->kind = CC_GCC;
	}
	free(line);
	if (in)
		fclose(in);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		status = 127 << 8;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && cc->kind != CC_UNKNOWN)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		tool_say("there is no compiler '%s': install it, or name another by %s", cc->command[0],
		         cc->cxx ? "CXX" : "CC");
	else
		tool_say(
		    "'%s' is neither gcc nor clang, the compilers that can announce stores: name one of them by %s",
		    cc->command[0], cc->cxx ? "CXX" : "CC");
	return -ENOTSUP;
}

/* Loads, globals and the stack are not announced.  -U: the program must not conclude that it has a sanitizer. */
static const char *const cc_gcc_flags[] = {"-fsanitize=kernel-address",
                                           "--param=asan-instrument-reads=0",
                                           "--param=asan-globals=0",
                                           "--param=asan-stack=0",
                                           "--param=asan-instrument-allocas=0",
                                           "--param=asan-instrumentation-with-call-threshold=0",
                                           "-fno-sanitize-address-use-after-scope",
                                           "-U__SANITIZE_ADDRESS__",
                                           NULL};
/* clang announces neither scattered stores nor compressing stores of AVX-512, so it must not generate them. */
static const char *const cc_clang_flags[] = {"-fsanitize=kernel-address",
                                             "-mllvm",
                                             "-asan-opt=0",
                                             "-mllvm",
                                             "-asan-instrument-reads=0",
                                             "-mllvm",
                                             "-asan-globals=0",
                                             "-mllvm",
                                             "-asan-stack=0",
                                             "-mllvm",
                                             "-asan-use-after-scope=0",
                                             "-mllvm",
                                             "-asan-instrument-dynamic-allocas=0",
                                             "-mllvm",
                                             "-asan-instrumentation-with-call-threshold=0",
#if defined(__x86_64__)
                                             "-mno-avx512f",
#endif
                                             NULL};
/* Fortified calls would bypass the wrapped ones. */
static const char *const cc_both_flags[] = {"-U_FORTIFY_SOURCE", "-Wp,-U_FORTIFY_SOURCE", "-include",
                                            "tweed/instrumented.h", NULL};

static void cc_add_compile(struct cc *cc)
{
	cc_add(cc, cc_join("-I", cc->include, ""));
	if (cc_places_globals(cc))
		cc_add(cc, "-fno-pie");
	if (cc->shared_heap && !cc_threads(cc))
		cc_add_all(cc, (const char *const[]){"-include", "tweed/shared_heap.h", NULL});
	if (cc->openmp)
		cc_add(cc, "-fopenmp");
	if (cc_threads(cc))
		cc_add_all(
		    cc, (const char *const[]){"-fno-inline-atomics", "-include", "tweed/threads.h", cc->helper, NULL});
	if (cc->silent)
		return;
	if (cc->kind == CC_GCC) /* headers that refuse what gcc does not announce */
		cc_add(cc, cc_join("-I", cc->include, "/tweed/gcc"));
	cc_add_all(cc, cc->kind == CC_GCC ? cc_gcc_flags : cc_clang_flags);
	cc_add_all(cc, cc_both_flags);
	if (cc->poll)
		cc_add(cc, cc->kind == CC_GCC ? "-fsanitize-coverage=trace-pc"
		                              : "-fsanitize-coverage=bb,no-prune,trace-pc");
}

/* The program defines what a shared library leaves undefined. */
static void cc_add_link(struct cc *cc)
{
	if (!cc->silent) {
#define X(name) ",--wrap=" #name
		cc_add(cc, "-Wl" TW_WRAPPED(X));
#undef X
	}
	if (cc->shared)
		return;
	if (cc->language)
		cc_add_all(cc, (const char *const[]){"-x", "none", NULL});
	if (cc_places_globals(cc))
		cc_add_all(cc, (const char *const[]){"-no-pie", "-T", cc->script, NULL});
	if (cc->shared_globals)
		cc_add(cc, "-Wl,--defsym=tw_globals_shared=1");
	if (!cc->silent)
		cc_add_all(cc,
		           (const char *const[]){"-Wl,--whole-archive", cc->stores, "-Wl,--no-whole-archive", NULL});
	if (cc->openmp)
		cc_add(cc, cc->spec);
	if (cc_threads(cc))
		cc_add_all(cc, (const char *const[]){"-Wl,--wrap=main", "-Wl,--whole-archive", cc->run_time,
		                                     "-Wl,--no-whole-archive", NULL});
	if (cc->openmp)
		cc_add(cc, cc->tasks);
	cc_add(cc, cc->library);
	cc_add_all(cc, (const char *const[]){"-pthread", "-ljemalloc", "-lsodium", "-lm", NULL});
}

/* Quoted for a shell. */
static void cc_print(const struct cc *cc)
{
	for (size_t i = 0; i < cc->words; i++) {
		const char *w = cc->command[i];
		printf("%s", i ? " " : "");
		if (*w && !w[strspn(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=,./:%@")]) {
			printf("%s", w);
			continue;
		}
		putchar('\'');
		for (; *w; w++)
			printf(*w == '\'' ? "'\\''" : "%c", *w);
		putchar('\'');
	}
	putchar('\n');
}

/* Read Tweed's options, which come first.  Returns the compiler's. */
static char **cc_options(struct cc *cc, char **argv)
{
	const struct {
		const char *name;
		bool *set;
	} options[] = {
	    {"--poll", &cc->poll},
	    {"--show", &cc->show},
	    {"--no-stores", &cc->silent},
	    {"--parmacs", &cc->parmacs},
	    {"--copied-globals", &cc->copied_globals},
	    {"--shared-globals", &cc->shared_globals},
	    {"--shared-heap", &cc->shared_heap},
	    {"--pthreads", &cc->pthreads},
	};
	size_t i, n = sizeof(options) / sizeof(options[0]);

	for (; *argv; argv++) {
		for (i = 0; i < n && strcmp(*argv, options[i].name) != 0; i++)
			;
		if (i == n)
			break;
		*options[i].set = true;
	}
	if (cc->pthreads)
		cc->silent = cc->shared_globals = cc->shared_heap = true;
	return argv;
}

/* Check for options that exclude each other.  0, or -EINVAL, printed. */
static int cc_check(const struct cc *cc)
{
	if (cc->poll && cc->silent) {
		tool_say("--poll polls where stores are announced: leave --no-stores out");
		return -EINVAL;
	}
	if (cc->copied_globals && (cc->shared_globals || !cc->parmacs)) {
		tool_say("--copied-globals is for --parmacs, in place of shared global variables: leave it out");
		return -EINVAL;
	}
	if (cc->shared_globals && !cc->silent && cc->compiles && cc->kind == CC_GCC) {
		tool_say("gcc announces no stores into global variables: with --shared-globals use clang (%s=%s), or "
		         "--no-stores if the program is not for protocol 1L",
		         cc->cxx ? "CXX" : "CC", cc->cxx ? "clang++" : "clang");
		return -EINVAL;
	}
	if (cc_threads(cc) && cc->kind != CC_GCC) {
		tool_say("'%s' is not gcc, whose programs of threads can be run: name one by %s", cc->command[0],
		         cc->cxx ? "CXX" : "CC");
		return -EINVAL;
	}
	return 0;
}

/* Programs of SPLASH expect global variables that are shared (Splash-3 and -4) or copied by CREATE (SPLASH-2); few need
 * the latter.  Only clang announces stores to shared ones. */
static void cc_default_globals(struct cc *cc)
{
	if (!cc->parmacs || cc->copied_globals || cc->shared_globals)
		return;
	cc->shared_globals = true;
	cc->silent |= cc->kind == CC_GCC && !cc->poll;
}

/* Add the caller's arguments, without gcc's own run-time and -flto: at link time, code would bypass Tweed's assembler,
 * and globals would not be placed. */
static void cc_add_arguments(struct cc *cc, char **argv)
{
	bool lto = false;

	for (; *argv; argv++)
		if (strncmp(*argv, "-flto", 5) == 0)
			lto = true;
		else if (!cc->openmp || strcmp(*argv, "-lgomp") != 0)
			cc_add(cc, *argv);
	if (!lto)
		return;
	cc_add(cc, "-fno-lto");
	if (isatty(STDERR_FILENO))
		tool_say("note: -flto is left out, for the compiler is to make its code before it links");
}

/* Returns only if the compiler must not be run, or cannot be. */
static int cc_run(struct cc *cc)
{
	if (cc->show) {
		cc_print(cc);
		return 0;
	}
	cc_add(cc, NULL);
	execvp(cc->command[0], (char *const *)(uintptr_t)cc->command);
	tool_say("cannot run '%s': %s", cc->command[0], strerror(errno));
	return 1;
}

static int cc_command(struct cc cc, int argc, char **argv)
{
	const char *name = argv[0];

	cc.cxx = strcmp(argv[0], "c++") == 0;
	argv = cc_options(&cc, argv + 1);
	if (*argv && strcmp(*argv, "--help") == 0)
		return cc.openmp ? cc_usage_openmp(strcmp(name, "cc") == 0 ? "omp cc" : "omp c++") : cc_usage(name);
	if (!*argv) {
		tool_say("'tweed %s%s' needs arguments for the compiler; 'tweed %s%s --help' explains it",
		         cc.openmp ? "omp " : "", name, cc.openmp ? "omp " : "", name);
		return TOOL_USAGE;
	}
	cc.command = calloc((size_t)argc + CC_WORDS, sizeof(*cc.command));
	if (!cc.command)
		tw_fatal("out of memory");
	cc.below = tool_compiles_below("cc");
	cc_compiler(&cc);
	if (cc.below) {
		cc_add_all(&cc, (const char *const *)(uintptr_t)argv);
		return cc_run(&cc);
	}
	if (cc_read(&cc, name, argv) < 0 || cc_locate(&cc) < 0 || cc_ask(&cc) < 0)
		return TOOL_USAGE;
	cc_default_globals(&cc);
	if ((cc.links && !cc.silent && cc_check_objects(name, argv) < 0) || cc_check(&cc) < 0)
		return TOOL_USAGE;
	cc_add_arguments(&cc, argv);
	if (cc.compiles)
		cc_add_compile(&cc);
	if (cc.links)
		cc_add_link(&cc);
	return cc_run(&cc);
}

int tool_omp(int argc, char **argv)
{
	if (argc > 1 && (strcmp(argv[1], "cc") == 0 || strcmp(argv[1], "c++") == 0))
		return cc_command(
		    (struct cc){.openmp = true, .silent = true, .shared_globals = true, .shared_heap = true}, argc - 1,
		    argv + 1);
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return cc_usage_openmp("omp cc | c++");
	tool_say(
	    "'tweed omp' is followed by cc or c++, and arguments for the compiler; 'tweed omp --help' explains it");
	return TOOL_USAGE;
}

int tool_cc(int argc, char **argv)
{
	return cc_command((struct cc){0}, argc, argv);
}
