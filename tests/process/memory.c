/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - memory that the C library gives, of each kind, from main to threads and back. */
#include <alloca.h>
#include <dirent.h>
#include <glob.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <regex.h>
#include <search.h>
#include <wchar.h>
#include <sys/mman.h>
#include "process.h"

static char *text, *made[MANY + 1];

/* Reads and changes the text of another, and leaves one of its own. */
static void change(int me, char *of)
{
	say("%d sees '%.40s'\n", me, of);
	of[0] = (char)('0' + me);
}

/* ---- made by main, changed by threads ---- */

static void change_step(void *arg, int me)
{
	change(me, arg);
}

static void changed_by_threads(char *of)
{
	turns(change_step, of);
	say("main sees '%.40s'\n", of);
	free(of);
}

CASE(strdup_of_main)
{
	changed_by_threads(strdup("of strdup"));
	changed_by_threads(strndup("of strndup", 8));
}

CASE(asprintf_of_main)
{
	say("%d\n", asprintf(&text, "%s %d %5.2f", "asprintf", 12, 1.5));
	changed_by_threads(text);
}

CASE(getcwd_of_main)
{
	char *home = getcwd(NULL, 0);

	mkdir("getcwd", 0700);
	say("%s\n", err(chdir("getcwd")));
	char *now = getcwd(NULL, 0), *again = get_current_dir_name();
	say("%s\n", err(chdir(home)));
	memmove(now, strrchr(now, '/'), strlen(strrchr(now, '/')) + 1);
	memmove(again, strrchr(again, '/'), strlen(strrchr(again, '/')) + 1);
	changed_by_threads(now);
	changed_by_threads(again);
	free(home);
}

CASE(realpath_of_main)
{
	char *path = realpath("folder/../folder/a.txt", NULL);

	memmove(path, strrchr(path, '/'), strlen(strrchr(path, '/')) + 1);
	changed_by_threads(path);
	path = canonicalize_file_name("/usr/../usr/./bin");
	changed_by_threads(path);
}

CASE(getline_of_main)
{
	size_t room = 0;
	char *got = NULL;
	FILE *f = fopen("lines.txt", "r");

	say("%zd\n", getline(&got, &room, f));
	fclose(f);
	got[strlen(got) - 1] = 0;
	changed_by_threads(got);
}

CASE(open_memstream_of_main)
{
	size_t n;
	char *got;
	FILE *f = open_memstream(&got, &n);

	fprintf(f, "memory stream %d", 1);
	fclose(f);
	changed_by_threads(got);
}

CASE(wcsdup_of_main)
{
	wchar_t *wide = wcsdup(L"a");

	changed_by_threads((char *)wide);
}

static char *put(char *at)
{
	return at ? strcpy(at, "aligned") : NULL;
}

CASE(aligned_of_main)
{
	void *p = NULL;

	say("posix_memalign %d\n", posix_memalign(&p, 4096, 5000));
	say("%d\n", (int)((uintptr_t)p % 4096));
	changed_by_threads(put(p));
	p = aligned_alloc(256, 512);
	say("aligned_alloc %d\n", (int)((uintptr_t)p % 256));
	changed_by_threads(put(p));
	p = memalign(64, 100);
	say("memalign %d\n", (int)((uintptr_t)p % 64));
	changed_by_threads(put(p));
}

CASE(pages_of_main)
{
	void *p = valloc(100);

	say("valloc %d\n", (int)((uintptr_t)p % 4096));
	changed_by_threads(put(p));
	p = pvalloc(5000);
	say("pvalloc %d %d\n", (int)((uintptr_t)p % 4096), malloc_usable_size(p) >= 8192);
	changed_by_threads(put(p));
}

/* ---- made by threads, used by main ---- */

static void make_step(void *arg, int me)
{
	size_t room = 0;
	char *old = me > 1 ? made[me - 1] : arg;
	FILE *f = fopen("numbers.txt", "r");

	if (me == 1)
		say("asprintf %d\n", asprintf(&made[me], "by %d after %.10s", me, old));
	else if (me == 2)
		say("getdelim %zd\n", getdelim(&made[me], &room, '9', f));
	else
		made[me] = strdup(old);
	fclose(f);
	change(me, old);
}

CASE(text_of_threads)
{
	char first[] = "variable of main";

	turns(make_step, first);
	say("%s\n", first);
	for (int i = 1; i <= threads; i++) {
		say("%d '%s'\n", i, made[i]);
		free(made[i]);
	}
}

static void path_step(void *arg, int me)
{
	(void)arg;
	made[me] = me == 2 ? getcwd(NULL, 0) : realpath("folder", NULL);
}

CASE(paths_of_threads)
{
	turns(path_step, NULL);
	for (int i = 1; i <= threads; i++) {
		say("%d %s\n", i, made[i][0] == '/' && !access(made[i], R_OK) ? "a path" : "none");
		free(made[i]);
	}
}

static void aligned_step(void *arg, int me)
{
	void *p = NULL;

	(void)arg;
	if (me == 1)
		say("posix_memalign %d\n", posix_memalign(&p, 128, 300));
	made[me] = me == 1 ? p : me == 2 ? aligned_alloc(128, 256) : memalign(128, 30);
	strcpy(made[me], "by a thread");
}

static void pages_step(void *arg, int me)
{
	(void)arg;
	made[me] = me % 2 ? valloc(100) : pvalloc(100);
	strcpy(made[me], "pages");
}

static void say_made(size_t alignment)
{
	for (int i = 1; i <= threads; i++) {
		say("%d %s %d %d\n", i, made[i], (int)((uintptr_t)made[i] % alignment),
		    malloc_usable_size(made[i]) >= 30);
		free(made[i]);
	}
}

CASE(aligned_of_threads)
{
	turns(aligned_step, NULL);
	say_made(128);
}

CASE(pages_of_threads)
{
	turns(pages_step, NULL);
	say_made(4096);
}

/* ---- grown and freed elsewhere ---- */

struct block {
	int *at;
	size_t n;
};

static void realloc_step(void *arg, int me)
{
	struct block *b = arg;
	size_t n = b->n * 3;

	b->at = me % 2 ? realloc(b->at, n * sizeof(int)) : reallocarray(b->at, n, sizeof(int));
	for (; b->n < n; b->n++)
		b->at[b->n] = me * 1000 + (int)b->n;
}

CASE(realloc_by_threads)
{
	struct block b = {calloc(10, sizeof(int)), 10};
	long sum = 0;

	for (int round = 0; round < 3; round++)
		turns(realloc_step, &b);
	for (size_t i = 0; i < b.n; i++)
		sum += b.at[i];
	say("%zu sum %ld\n", b.n, sum);
	b.at = reallocarray(b.at, 5, sizeof(int));
	say("%d %d\n", b.at[4], b.at[0]);
	volatile size_t huge = SIZE_MAX / 2;
	say("too much: %s\n", reallocarray(b.at, huge, 4) ? "given" : err(-1));
	free(b.at);
}

#define BLOCKS 200

static int *blocks[(MANY + 1) * BLOCKS];

static void fill_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < BLOCKS; i++) {
		int **b = &blocks[me * BLOCKS + i], n = 1 + i * i % 300;
		*b = malloc((size_t)n * sizeof(int));
		for (int k = 0; k < n; k++)
			(*b)[k] = me * 7 + i;
	}
}

static long block_sum[MANY + 1];

static void free_step(void *arg, int me)
{
	int of = (me + 1) % (threads + 1);

	(void)arg;
	block_sum[me] = 0;
	for (int i = 0; i < BLOCKS; i++) {
		int *b = blocks[of * BLOCKS + i], n = 1 + i * i % 300;
		block_sum[me] += b[0] + b[n - 1];
		free(b);
	}
}

CASE(malloc_here_free_there)
{
	for (int round = 0; round < 3; round++) {
		with_main(fill_step, NULL);
		with_main(free_step, NULL);
	}
	for (int i = 0; i <= threads; i++)
		say("%d: %ld\n", i, block_sum[i]);
}

/* What glibc's malloc leaves behind a block's end, programs use by mistake. */
static void spare_step(void *arg, int me)
{
	static const size_t sizes[] = {16, 48, 112, 128, 256, 512};
	char *block[4];

	(void)arg;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int good = 1;
		for (int b = 0; b < 4; b++) {
			block[b] = b == 0   ? malloc(sizes[i])
			           : b == 1 ? calloc(sizes[i], 1)
			           : b == 2 ? realloc(NULL, sizes[i])
			                    : realloc(malloc(8), sizes[i]);
			good &= malloc_usable_size(block[b]) >= sizes[i] + 8;
		}
		for (int b = 0; b < 4; b++)
			free(block[b]);
		say("%d %zu spare %d\n", me, sizes[i], good);
	}
}

CASE(spare_behind_blocks)
{
	spare_step(NULL, 0);
	turns(spare_step, NULL);
}

static void usable_step(void *arg, int me)
{
	size_t n = malloc_usable_size(arg);

	say("%d usable %d\n", me, n >= 1000);
	memset(arg, me, n);
}

CASE(malloc_usable_size_in_thread)
{
	char *p = malloc(1000);

	turns(usable_step, p);
	say("%d %d\n", p[0], p[malloc_usable_size(p) - 1]);
	say("trim %d\n", malloc_trim(0) >= 0);
	free(p);
}

/* ---- arguments, environment ---- */

extern char **environ;

static void environ_step(void *arg, int me)
{
	int n = 0;

	(void)arg;
	for (char **e = environ; *e; e++)
		n += !strncmp(*e, "PATH=", 5) || !strncmp(*e, "CASE=", 5);
	say("%d sees %d, CASE %s\n", me, n, getenv("CASE") ? getenv("CASE") : "unset");
	if (me == 1)
		say("setenv %s\n", err(setenv("CASE", "by 1", 1)));
	if (me == 2)
		say("putenv %s\n", err(putenv((char *)"CASE=by 2")));
	if (me == 3)
		say("unsetenv %s\n", err(unsetenv("CASE")));
}

CASE(setenv_in_thread)
{
	turns(environ_step, NULL);
	say("main: %s\n", getenv("CASE") ? getenv("CASE") : "unset");
	setenv("CASE", "by main", 1);
	turns(environ_step, NULL);
	fflush(stdout);
	say("command: %d\n", WEXITSTATUS(system("test \"$CASE\" = 'by 1'")));
	unsetenv("CASE");
}

static void getenv_step(void *arg, int me)
{
	(void)arg;
	char *home = getenv("PATH");
	say("%d PATH %d, MANY %s\n", me, home && *home, secure_getenv("MANY"));
	char name[20];
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "MANY%d_%d", me, i);
		setenv(name, "value", 0);
	}
}

CASE(environ_grows)
{
	int n = 0;

	setenv("MANY", "of main", 1);
	turns(getenv_step, NULL);
	for (char **e = environ; *e; e++)
		n += !strncmp(*e, "MANY", 4);
	say("%d\n", n);
	clearenv();
	say("left %d\n", environ && *environ);
}

static void argv_step(void *arg, int me)
{
	char **argv = arg;

	for (; *argv; argv++)
		if (!strncmp(*argv, "argv_", 5) || !strncmp(*argv, "seen", 4))
			change(me, *argv);
	say("%d %s\n", me, strrchr(program_invocation_short_name, '.') ? "program" : program_invocation_short_name);
}

CASE(argv_in_threads)
{
	turns(argv_step, arguments);
	for (char **a = arguments; *a; a++)
		if (a != arguments)
			say("%s ", *a);
	say("\n");
}

/* ---- what makes lists ---- */

static struct dirent **found;
static int n_found;

static int named(const struct dirent *e)
{
	return strstr(e->d_name, ".txt") != NULL;
}

static void scandir_step(void *arg, int me)
{
	(void)arg;
	if (me == 1 && !found)
		n_found = scandir("folder", &found, named, alphasort);
	for (int i = 0; i < n_found; i++)
		say("%d %s\n", me, found[i]->d_name);
}

static void free_found(void)
{
	for (int i = 0; i < n_found; i++)
		free(found[i]);
	free(found);
	found = NULL;
}

CASE(scandir_of_main)
{
	n_found = scandir("folder", &found, named, alphasort);
	turns(scandir_step, NULL);
	free_found();
}

CASE(scandir_of_thread)
{
	turns(scandir_step, NULL);
	say("%d %s\n", n_found, found[0]->d_name);
	free_found();
}

static void glob_step(void *arg, int me)
{
	glob_t *g = arg;

	if (me == threads)
		say("more %d\n", glob("folder/c*", GLOB_APPEND, NULL, g));
	for (size_t i = 0; i < g->gl_pathc; i++)
		say("%d %s\n", me, g->gl_pathv[i]);
}

CASE(glob_of_main)
{
	glob_t g;

	say("%d\n", glob("folder/[ab].txt", 0, NULL, &g));
	turns(glob_step, &g);
	say("%zu\n", g.gl_pathc);
	globfree(&g);
}

static void glob_make_step(void *arg, int me)
{
	if (me == 1)
		say("%d\n", glob("f*/*.txt", GLOB_MARK, NULL, arg));
	if (me == threads)
		say("%zu\n", ((glob_t *)arg)->gl_pathc);
}

CASE(glob_of_thread)
{
	glob_t g;

	turns(glob_make_step, &g);
	say("%s\n", g.gl_pathv[2]);
	globfree(&g);
}

static void regexec_step(void *arg, int me)
{
	regmatch_t m[2];
	char line[40];

	snprintf(line, sizeof line, "thread %d of many", me);
	int e = regexec(arg, line, 2, m, 0);
	say("%d regexec %d: %d %d\n", me, e, m[1].rm_so, m[1].rm_eo);
}

CASE(regcomp_of_main)
{
	regex_t r;

	say("%d\n", regcomp(&r, "d ([0-9]+) o", REG_EXTENDED));
	turns(regexec_step, &r);
	regfree(&r);
}

static void regcomp_step(void *arg, int me)
{
	if (me == threads)
		say("%d\n", regcomp(arg, "th?(r|d)", REG_EXTENDED | REG_ICASE));
}

CASE(regcomp_of_thread)
{
	regex_t r;

	turns(regcomp_step, &r);
	regexec_step(&r, 0);
	regfree(&r);
}

static void address_step(void *arg, int me)
{
	struct addrinfo **a = arg, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};

	if (!*a)
		say("%d getaddrinfo %d\n", me, getaddrinfo("localhost", "80", &hints, a));
	for (struct addrinfo *i = *a; i; i = i->ai_next) {
		struct sockaddr_in *in = (struct sockaddr_in *)i->ai_addr;
		say("%d %x %d\n", me, ntohl(in->sin_addr.s_addr), ntohs(in->sin_port));
	}
}

CASE(getaddrinfo_of_main)
{
	struct addrinfo *a = NULL;

	address_step(&a, 0);
	turns(address_step, &a);
	freeaddrinfo(a);
}

CASE(getaddrinfo_of_thread)
{
	struct addrinfo *a = NULL;

	turns(address_step, &a);
	address_step(&a, 0);
	freeaddrinfo(a);
}

/* ---- searching ---- */

static void free_nothing(void *node)
{
	(void)node;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void bsearch_step(void *arg, int me)
{
	int *v = arg, key = me * 21;

	int *at = bsearch(&key, v, 1000, sizeof *v, compare);
	say("%d finds %d at %ld\n", me, key, at ? at - v : -1L);
	v[1000 - me] = -me;
	qsort(v, 1000, sizeof *v, compare);
}

CASE(qsort_bsearch)
{
	int *v = malloc(1000 * sizeof *v);

	for (int i = 0; i < 1000; i++)
		v[i] = i * 7919 % 1000 * 3;
	qsort(v, 1000, sizeof *v, compare);
	turns(bsearch_step, v);
	say("%d %d %d\n", v[0], v[1], v[999]);
	free(v);
}

static void qsort_step(void *arg, int me)
{
	int *v = arg;

	if (me == threads)
		qsort(v, 500, sizeof *v, compare);
}

CASE(qsort_in_thread)
{
	int v[500], key = 444;

	for (int i = 0; i < 500; i++)
		v[i] = i * 379 % 500;
	turns(qsort_step, v);
	int *at = bsearch(&key, v, 500, sizeof *v, compare);
	say("at %ld\n", at ? at - v : -1L);
	char *grown = reallocarray(NULL, 100, 3);
	strcpy(grown, "reallocarray");
	changed_by_threads(grown);
}

static void hsearch_step(void *arg, int me)
{
	char key[8];

	(void)arg;
	snprintf(key, sizeof key, "k%d", me);
	ENTRY *e = hsearch((ENTRY){.key = key}, FIND);
	say("%d %s\n", me, e ? (char *)e->data : "none");
	snprintf(key, sizeof key, "t%d", me);
	hsearch((ENTRY){.key = strdup(key), .data = (char *)"of a thread"}, ENTER);
}

CASE(hsearch_of_main)
{
	say("%d\n", hcreate(30));
	hsearch((ENTRY){.key = (char *)"k1", .data = (char *)"one"}, ENTER);
	hsearch((ENTRY){.key = (char *)"k3", .data = (char *)"three"}, ENTER);
	turns(hsearch_step, NULL);
	ENTRY *e = hsearch((ENTRY){.key = (char *)"t1"}, FIND);
	say("%s\n", e ? (char *)e->data : "none");
	hdestroy();
}

static void hcreate_step(void *arg, int me)
{
	if (me == 1)
		say("hcreate %d\n", hcreate(10));
	hsearch_step(arg, me);
}

CASE(hcreate_in_thread)
{
	turns(hcreate_step, NULL);
	ENTRY *e = hsearch((ENTRY){.key = (char *)"t1"}, FIND);
	say("%s\n", e ? (char *)e->data : "none");
	hdestroy();
}

static void *root;
static int values[100], walked;

static void tsearch_step(void *arg, int me)
{
	(void)arg;
	for (int i = me; i < 90; i += MANY) {
		values[i] = i * 37 % 100;
		tsearch(&values[i], &root, compare);
	}
	int key = 37;
	int **at = tfind(&key, &root, compare);
	say("%d 37 %s\n", me, at ? "found" : "absent");
}

static void walk(const void *node, VISIT which, int depth)
{
	(void)depth;
	if (which == postorder || which == leaf)
		walked = walked * 31 % 10007 + **(int *const *)node;
}

static void tdelete_step(void *arg, int me)
{
	(void)arg;
	for (int i = me; i < 90; i += 2 * MANY)
		tdelete(&values[i], &root, compare);
}

CASE(tsearch_in_turn)
{
	tsearch_step(NULL, 0);
	turns(tsearch_step, NULL);
	twalk(root, walk);
	say("walk %d\n", walked);
	turns(tdelete_step, NULL);
	walked = 0;
	twalk(root, walk);
	say("walk %d\n", walked);
	tdestroy(root, free_nothing);
	root = NULL;
}

static void tfind_step(void *arg, int me)
{
	int key = 2 * me, **at = tfind(&key, arg, compare);

	say("%d %s\n", me, at ? "found" : "absent");
	tdelete(&key, arg, compare);
}

CASE(tsearch_of_main)
{
	void *own = NULL;
	int v[5] = {1, 2, 3, 4, 5};

	for (int i = 0; i < 5; i++)
		tsearch(&v[i], &own, compare);
	turns(tfind_step, &own);
	int key = 2;
	say("2 %s\n", tfind(&key, &own, compare) ? "found" : "absent");
	tdestroy(own, free_nothing);
}

/* ---- variables ---- */

static int *counter(void)
{
	static int n = 40;

	return &n;
}

static void stack_step(void *arg, int me)
{
	int mine[3] = {me, 2 * me, 3 * me}, *dynamic = alloca(4 * sizeof(int));

	if (!me) {
		meet();
		for (int i = 1; i <= threads; i++) {
			int **of = arg;
			say("%d's: %d %d, alloca %d\n", i, of[2 * i][0], of[2 * i][2], of[2 * i + 1][3]);
			of[2 * i][1] = of[2 * i + 1][0] = 100 + i;
		}
		meet();
		return;
	}
	dynamic[0] = 0;
	dynamic[3] = me * me;
	((int **)arg)[2 * me] = mine;
	((int **)arg)[2 * me + 1] = dynamic;
	meet();
	meet();
	block_sum[me] = mine[1] * 1000 + dynamic[0];
}

CASE(stacks_of_threads)
{
	int *of[2 * MANY + 2];

	with_main(stack_step, of);
	for (int i = 1; i <= threads; i++)
		say("%d: %ld\n", i, block_sum[i]);
}

static void main_stack_step(void *arg, int me)
{
	int **of = arg;

	of[0][me] += 10 * me;
	of[1][me] += ++*counter();
	static int own;
	own += me;
	say("%d %d %d, static %d %d\n", me, of[0][me], of[1][me], *counter(), own);
}

CASE(stack_of_main)
{
	int here[MANY + 1] = {1, 1, 1, 1}, *there = alloca((MANY + 1) * sizeof(int));
	int *of[2] = {here, there};

	memset(there, 0, (MANY + 1) * sizeof(int));
	turns(main_stack_step, of);
	say("%d %d %d\n", here[1], there[1], *counter());
}

/* New stacks need pages that no other node has used. */
CASE(threads_after_unmapping)
{
	size_t bytes = (size_t)120 << 20;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(pages, 1, bytes);
	munmap(pages, bytes);
	case_stack_of_main();
}

MAIN(T(strdup_of_main), T(asprintf_of_main), T(getcwd_of_main), T(realpath_of_main), T(getline_of_main),
     T(open_memstream_of_main), T(wcsdup_of_main), T(aligned_of_main), T(pages_of_main), T(text_of_threads),
     T(paths_of_threads), T(aligned_of_threads), T(pages_of_threads), T(realloc_by_threads), T(malloc_here_free_there),
     T(spare_behind_blocks), T(malloc_usable_size_in_thread), ALONE(setenv_in_thread), ALONE(environ_grows),
     ALONE(argv_in_threads), T(scandir_of_main), T(scandir_of_thread), T(glob_of_main), T(glob_of_thread),
     T(regcomp_of_main), T(regcomp_of_thread), T(getaddrinfo_of_main), T(getaddrinfo_of_thread), T(qsort_bsearch),
     T(hsearch_of_main), T(hcreate_in_thread), T(tsearch_in_turn), T(tsearch_of_main), T(stacks_of_threads),
     T(stack_of_main), T(qsort_in_thread), ALONE(threads_after_unmapping))
