/* SPDX-License-Identifier: BSD-3-Clause */
/* cc.c - `tweed cc` and `tweed c++`: run the compiler so that it announces each store (runtime/stores/), places global
 * variables where they can be shared or copied, and links Tweed. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "runtime/stores/wrapped.h"
#include "tools/compile/compile.h"
#include "tools/tools.h"

#define CC_WORDS 96 /* maximum of added arguments */

struct cc {
	bool cxx;
	bool poll, count, show, silent, parmacs, copied_globals, shared_globals,
	    shared_heap;      /* Tweed's options; silent: stores are not announced */
	bool openmp;          /* tweed omp: implies some of them */
	bool pthreads;        /* implies some of them */
	bool gcc;             /* by the command's name */
	bool private_globals; /* a library's global variables are not to be shared */
	enum compiler_kind kind;
	bool compiles, links, shared; /* what the compiler is asked for */
	bool language;                /* -x was given */
	bool text;                    /* -E -P: a script wants the preprocessed text alone, nobody compiles it */
	bool pic;                     /* code for a library */
	const char *with;             /* --compiler */
	char *include, *stores, *library, *script, *copies; /* paths */
	char *run_time, *tasks, *helper, *linker, *spec;    /* for threads: libraries, and folders with gcc's helpers */
	const char **command;
	size_t words;
};

/* clang where stores are announced for protocol 1L, because it announces some that gcc does not
 * (doc/internals/stores.md).  gcc for programs with the PARMACS macros: they were written for gcc, and clang breaks
 * some. */
static const char *cc_default(const struct cc *cc)
{
	const char *clang = cc->cxx ? "clang++" : "clang";
	bool announces = !cc->gcc && !cc->silent && (!cc->parmacs || cc->shared_globals);
	return announces && compiler_in_path(clang) ? clang : cc->cxx ? "g++" : "gcc";
}

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
	       "  --count           instructions that count the program's work, for virtual time\n"
	       "  --parmacs         for programs with the PARMACS macros: global variables are shared memory\n"
	       "  --copied-globals  with --parmacs: private, CREATE copies them\n"
	       "  --shared-globals  global variables are shared memory\n"
	       "  --shared-heap     malloc and its kin give shared memory\n"
	       "  --private-globals a library's global variables are each process's own\n"
	       "  --compiler NAME   the compiler, in place of CC or CXX\n"
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

/* Is @word the option @option?  gcc takes those of the linker with a second '-', too. */
static bool cc_is(const char *word, const char *option)
{
	return strcmp(word, option) == 0 || (word[0] == '-' && strcmp(word + 1, option) == 0);
}

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

/* The reason why @word is refused, or NULL. */
static const char *cc_refusal(const struct cc *cc, const char *word)
{
	if (cc_places_globals(cc) && strncmp(word, "-mcmodel=", 9) == 0 && strcmp(word, "-mcmodel=small") != 0 &&
	    strcmp(word, "-mcmodel=medium") != 0)
		return "but global variables are placed for the small code model: leave it out";
	if (cc->parmacs && cc->copied_globals && cc_is(word, "-shared"))
		return "but only a program's global variables can be copied (--copied-globals), not a library's: make "
		       "it "
		       "an archive, and link that";
	if (strncmp(word, "-fsanitize=", 11) == 0 &&
	    (strstr(word, "address") || strstr(word, "thread") || strstr(word, "memory")))
		return cc->silent ? "whose memory would not be shared: leave it out"
		                  : "which takes the place of the instrumentation: leave it out";
	if (strcmp(word, "-m32") == 0 || strcmp(word, "-mx32") == 0)
		return "but Tweed is for 64 bits: leave it out";
	return NULL;
}

/* Is @word to be left out?  Link-time code would bypass Tweed's assembler, and its globals would not be placed.  Files
 * that are compiled one by one are no whole program.  Tweed needs the libraries of C and C++ linked dynamically, whose
 * functions for threads it replaces.  Only GNU ld places globals, and those of the small code model: the medium one
 * permits variables of 2 GiB, and few programs have them. */
static bool cc_left_out(const struct cc *cc, const char *word)
{
	return strncmp(word, "-flto", 5) == 0 || strcmp(word, "-fwhole-program") == 0 || cc_is(word, "-static") ||
	       strcmp(word, "-static-pie") == 0 || strcmp(word, "-static-libstdc++") == 0 ||
	       (cc_places_globals(cc) && ((strncmp(word, "-fuse-ld=", 9) == 0 && strcmp(word, "-fuse-ld=bfd") != 0) ||
	                                  strcmp(word, "-mcmodel=medium") == 0));
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

static bool cc_given(char **argv, const char *word)
{
	for (; *argv; argv++)
		if (strcmp(*argv, word) == 0)
			return true;
	return false;
}

/* Find out what the arguments ask for.  0, or -EINVAL, printed. */
static int cc_read(struct cc *cc, const char *name, char **argv)
{
	bool link = true, compile = true, input = false;

	cc->text = cc_given(argv, "-E") && cc_given(argv, "-P");
	for (; *argv; argv++) {
		const char *why = cc_refusal(cc, *argv);
		if (why) {
			tool_say("'tweed %s%s' was given %s, %s", cc->openmp ? "omp " : "", name, *argv, why);
			return -EINVAL;
		}
		link = link && !cc_among(*argv, cc_no_link);
		cc->shared = cc->shared || cc_is(*argv, "-shared");
		if (strcasecmp(*argv, "-fpic") == 0 || strcasecmp(*argv, "-fno-pic") == 0)
			cc->pic = (*argv)[2] == 'p' || (*argv)[2] == 'P';
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
	cc->linker = compiler_linker();
	if (tool_in_build()) {
		cc->include = compile_join(TOOL_SOURCE_ROOT, "/include", "");
		cc->stores = compile_join(TOOL_BUILD_ROOT, "/runtime/stores/libtweed-stores.a", "");
		cc->library = compile_join(TOOL_BUILD_ROOT, "/libtweed.a", "");
		cc->script = compile_join(TOOL_SOURCE_ROOT, "/runtime/stores/globals.ld", "");
		cc->copies = compile_join(TOOL_SOURCE_ROOT, "/runtime/process/copies.ld", "");
		cc->run_time = compile_join(
		    TOOL_BUILD_ROOT,
		    cc->openmp ? "/runtime/openmp/libtweed-openmp.a" : "/runtime/pthreads/libtweed-pthreads.a", "");
		cc->tasks = compile_join(TOOL_BUILD_ROOT, "/runtime/openmp/libtweed-openmp-tasks.a", "");
		cc->helper = compile_join("-B", TOOL_BUILD_ROOT, "/tools/");
		cc->spec = compile_join("-B", TOOL_SOURCE_ROOT, "/runtime/openmp/gcc/");
	} else {
		char *libraries = tool_installed(TOOL_LIBDIR), *data = tool_installed(TOOL_DATADIR);
		cc->include = tool_installed(TOOL_INCLUDEDIR);
		cc->stores = compile_join(libraries, "/libtweed-stores.a", "");
		cc->library = compile_join(libraries, "/libtweed.a", "");
		cc->script = compile_join(data, "/tweed/globals.ld", "");
		cc->copies = compile_join(data, "/tweed/copies.ld", "");
		cc->run_time = compile_join(libraries, cc->openmp ? "/libtweed-openmp.a" : "/libtweed-pthreads.a", "");
		cc->tasks = compile_join(libraries, "/libtweed-openmp-tasks.a", "");
		cc->spec = cc->helper = compile_join("-B", tool_installed(TOOL_LIBEXECDIR), "/tweed/gcc/");
		free(libraries);
		free(data);
	}
	char *header = compile_join(cc->include, "/tweed/instrumented.h", "");
	const char *needed[] = {header, cc->stores, cc->library, cc->script, cc->copies, cc->run_time, cc->tasks};
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

/* ---- what Tweed adds --------------------------------------------------------------------------------------------- */

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
static const char *const cc_both_flags[] = {"-U_FORTIFY_SOURCE", "-Wp,-U_FORTIFY_SOURCE", NULL};

static void cc_include(struct cc *cc, const char *header)
{
	if (!cc->text)
		cc_add_all(cc, (const char *const[]){"-include", header, NULL});
}

static void cc_add_compile(struct cc *cc)
{
	cc_add(cc, compile_join("-I", cc->include, ""));
	if (cc_places_globals(cc) && !cc->pic)
		cc_add(cc, "-fno-pie");
	if (cc->shared_heap && !cc_threads(cc)) {
		cc_include(cc, "tweed/shared_heap.h");
		cc_add(cc, "-fno-builtin-malloc");
	}
	if (cc->openmp && !cc->gcc) /* under that name the build gives it */
		cc_add(cc, "-fopenmp");
	if (cc_threads(cc)) {
		cc_add_all(cc, (const char *const[]){"-fno-inline-atomics", "-dP", cc->helper, NULL});
		cc_include(cc, "tweed/threads.h");
	}
	if (cc->poll || cc->count)
		cc_add(cc, compiler_count(cc->kind));
	if (cc->silent)
		return;
	if (cc->kind == COMPILER_GCC) /* headers that refuse what gcc does not announce */
		cc_add(cc, compile_join("-I", cc->include, "/tweed/gcc"));
	cc_add_all(cc, cc->kind == COMPILER_GCC ? cc_gcc_flags : cc_clang_flags);
	cc_add_all(cc, cc_both_flags);
	cc_include(cc, "tweed/instrumented.h");
}

/* The path of this command, eight bytes in each symbol, for programs that are started without it
 * (runtime/process/alone.c). */
#define CC_PATH_WORDS 16
static void cc_add_path(struct cc *cc)
{
	char text[CC_PATH_WORDS * 8] = "", option[64];
	uint64_t word;

	if (strlen(tool_self()) >= sizeof(text))
		return; /* it will be sought in PATH */
	memcpy(text, tool_self(), strlen(tool_self()));
	for (unsigned i = 0; i < CC_PATH_WORDS && text[i * 8]; i++) {
		memcpy(&word, text + i * 8, sizeof(word));
		snprintf(option, sizeof(option), "-Wl,--defsym=tw_command_%u=0x%" PRIx64, i, word);
		cc_add(cc, compile_join(option, "", ""));
	}
}

/* The program defines what a shared library leaves undefined. */
static void cc_add_link(struct cc *cc)
{
	if (!cc->silent) {
#define X(name) ",--wrap=" #name
		cc_add(cc, "-Wl" TW_WRAPPED(X));
#undef X
	}
	if (cc_places_globals(cc) ? !cc->private_globals : !cc->shared)
		cc_add(cc, cc->linker);
	if (cc->shared)
		return;
	if (cc->language)
		cc_add_all(cc, (const char *const[]){"-x", "none", NULL});
	if (cc_places_globals(cc))
		cc_add_all(cc, (const char *const[]){"-no-pie", "-T", cc->script, NULL});
	if (cc_threads(cc))
		cc_add_all(cc, (const char *const[]){"-T", cc->copies, NULL});
	if (cc->shared_globals)
		cc_add(cc, "-Wl,--defsym=tw_globals_shared=1");
	if (!cc->silent)
		cc_add_all(cc,
		           (const char *const[]){"-Wl,--whole-archive", cc->stores, "-Wl,--no-whole-archive", NULL});
	if (cc->openmp)
		cc_add(cc, cc->spec);
	if (cc_threads(cc))
		cc_add_all(cc,
		           (const char *const[]){"-Wl,--whole-archive", cc->run_time, "-Wl,--no-whole-archive", NULL});
	if (cc_threads(cc)) {
		cc_add(cc, cc->tasks);
		cc_add_path(cc);
	}
	cc_add(cc, cc->library);
	cc_add_all(cc, (const char *const[]){"-pthread", "-ljemalloc", "-lm", NULL});
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

/* Take Tweed's options out of @argv. */
static void cc_options(struct cc *cc, char **argv)
{
	const struct {
		const char *name;
		bool *set;
	} options[] = {
	    {"--poll", &cc->poll},
	    {"--count", &cc->count},
	    {"--show", &cc->show},
	    {"--no-stores", &cc->silent},
	    {"--parmacs", &cc->parmacs},
	    {"--copied-globals", &cc->copied_globals},
	    {"--shared-globals", &cc->shared_globals},
	    {"--shared-heap", &cc->shared_heap},
	    {"--pthreads", &cc->pthreads},
	    {"--private-globals", &cc->private_globals},
	};
	size_t i, n = sizeof(options) / sizeof(options[0]);
	char **to = argv;

	for (; *argv; argv++) {
		for (i = 0; i < n && strcmp(*argv, options[i].name) != 0; i++)
			;
		if (i < n) {
			*options[i].set = true;
		} else if (strcmp(*argv, "--compiler") == 0 && argv[1]) {
			cc->with = *++argv;
		} else {
			bool valued = cc_among(*argv, cc_valued) && argv[1];
			*to++ = *argv;
			if (valued)
				*to++ = *++argv;
		}
	}
	*to = NULL;
	if (cc->pthreads)
		cc->silent = cc->shared_globals = cc->shared_heap = true;
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
	if (cc->shared_globals && !cc->silent && cc->compiles && cc->kind == COMPILER_GCC) {
		tool_say("gcc announces no stores into global variables: with --shared-globals use clang (%s=%s), or "
		         "--no-stores if the program is not for protocol 1L",
		         cc->cxx ? "CXX" : "CC", cc->cxx ? "clang++" : "clang");
		return -EINVAL;
	}
	if (cc_threads(cc) && cc->kind != COMPILER_GCC) {
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
	cc->silent |= cc->kind == COMPILER_GCC && !cc->poll;
}

/* Of -flto, which is left out.  With it gcc would find these when it links, where builds seldom make errors of them. */
static void cc_without_lto(struct cc *cc)
{
	static const char *const options[] = {"-Wno-error=array-bounds",      "-Wno-error=maybe-uninitialized",
	                                      "-Wno-error=null-dereference",  "-Wno-error=restrict",
	                                      "-Wno-error=stringop-overflow", "-Wno-error=stringop-truncation"};

	cc_add(cc, "-fno-lto");
	/* clang has others, and finds them when it compiles in any case. */
	for (size_t i = 0; cc->kind == COMPILER_GCC && i < sizeof(options) / sizeof(*options); i++)
		cc_add(cc, options[i]);
}

/* Add the caller's arguments, without gcc's own run-time and what must be left out. */
static void cc_add_arguments(struct cc *cc, char **argv)
{
	const char *out = NULL;
	bool lto = false;

	for (; *argv; argv++) {
		if (cc_left_out(cc, *argv)) {
			lto = lto || strncmp(*argv, "-flto", 5) == 0;
			out = *argv;
		} else if (!cc->openmp || strcmp(*argv, "-lgomp") != 0) {
			cc_add(cc, *argv);
		}
	}
	if (lto)
		cc_without_lto(cc);
	if (out && isatty(STDERR_FILENO))
		tool_say("note: %s is left out, %s", out,
		         strncmp(out, "-flto", 5) == 0 ? "for the compiler is to make its code before it links"
		         : *out == '-' && out[1] == 's'
		             ? "for Tweed needs the libraries of C and C++ linked dynamically"
		             : "for only GNU ld can place global variables");
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

/* Choose the compiler. */
static void cc_compiler(struct cc *cc)
{
	if (cc->with)
		cc_add(cc, cc->with);
	else
		cc->words = compiler_words(cc->cxx, cc_default(cc), cc->command, CC_WORDS / 4);
}

static int cc_command(struct cc cc, int argc, char **argv)
{
	const char *name = argv[0];
	size_t n;

	(void)argc;
	cc.cxx = strcmp(name, "c++") == 0 || strcmp(name, "g++") == 0;
	argv = compile_arguments(argv + 1, &n);
	cc_options(&cc, argv);
	if (*argv && strcmp(*argv, "--help") == 0)
		return cc.openmp ? cc_usage_openmp(strcmp(name, "cc") == 0 ? "omp cc" : "omp c++") : cc_usage(name);
	if (!*argv) {
		tool_say("'tweed %s%s' needs arguments for the compiler; 'tweed %s%s --help' explains it",
		         cc.openmp ? "omp " : "", name, cc.openmp ? "omp " : "", name);
		return TOOL_USAGE;
	}
	cc.command = calloc(n + CC_WORDS, sizeof(*cc.command));
	if (!cc.command)
		tw_fatal("out of memory");
	if (tool_compiles_below("cc")) {
		cc_add(&cc, cc_default(&cc));
		cc_add_all(&cc, (const char *const *)(uintptr_t)argv);
		return cc_run(&cc);
	}
	if (cc_read(&cc, name, argv) < 0 || cc_locate(&cc) < 0)
		return TOOL_USAGE;
	cc_compiler(&cc);
	cc.kind = compiler_kind(cc.cxx, cc.command, cc.words);
	if (cc.kind == COMPILER_UNKNOWN)
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

/* g++ and gcc: makefiles look for these names. */
static bool cc_is_compiler(const char *name)
{
	return cc_among(name, (const char *const[]){"cc", "c++", "gcc", "g++", NULL});
}

int tool_omp(int argc, char **argv)
{
	if (argc > 1 && cc_is_compiler(argv[1]))
		return cc_command((struct cc){.gcc = argv[1][0] == 'g',
		                              .openmp = true,
		                              .silent = true,
		                              .shared_globals = true,
		                              .shared_heap = true},
		                  argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return cc_usage_openmp("omp cc | c++");
	tool_say(
	    "'tweed omp' is followed by cc or c++, and arguments for the compiler; 'tweed omp --help' explains it");
	return TOOL_USAGE;
}

int tool_cc(int argc, char **argv)
{
	return cc_command((struct cc){.gcc = argv[0][0] == 'g'}, argc, argv);
}

/* `tweed pthreads cc`, for links named tweed-pthreads-cc. */
int tool_pthreads(int argc, char **argv)
{
	if (argc > 1 && cc_is_compiler(argv[1]))
		return cc_command(
		    (struct cc){.pthreads = true, .silent = true, .shared_globals = true, .shared_heap = true},
		    argc - 1, argv + 1);
	tool_say("'tweed pthreads' is followed by cc or c++, and arguments for the compiler; 'tweed cc --help' "
	         "explains it");
	return TOOL_USAGE;
}
