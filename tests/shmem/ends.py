#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How OpenSHMEM programs are compiled, and how their jobs end.

ends.py TWEED FOLDER"""
import os
import subprocess
import sys

SOURCE = r"""
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
static long word[4];
/* Break the connections that were opened last: all, or only the one for delegation.  Their order varies by run, and one
 * leads to the launcher.  Tweed's descriptors lie beyond the program's limit (core/base/fd.h). */
static void cut(int connections)
{
	struct sockaddr_storage to;
	socklen_t bytes = sizeof(to);
	for (int fd = 32768, found = 0; fd-- && found < connections; bytes = sizeof(to))
		if (!getpeername(fd, (struct sockaddr *)&to, &bytes) && to.ss_family != AF_UNIX) {
			shutdown(fd, SHUT_RDWR);
			found++;
		}
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char local[8] = "";
	shmem_init();
	int me = shmem_my_pe();
	if (!strcmp(how, "exit5") && me == 0) { printf("last words"); shmem_global_exit(5); }
	if (!strcmp(how, "exit0") && me == 0) shmem_global_exit(0);
	if (!strcmp(how, "die") && me == 1) abort();
	if (!strcmp(how, "midway"))
		for (int i = 0; i < 1000; i++) {
			if (me == 1 && i == 900) raise(SIGKILL);
			shmem_barrier_all();
		}
	if (!strcmp(how, "cut"))
		for (int i = 0; i < 2000; i++) {
			if (me == 1 && i == 1900) cut(32768);
			shmem_barrier_all();
		}
	if (!strcmp(how, "cut delegation")) /* perhaps nothing is lost: then they go on until the job is ended */
		for (int i = 0;; i++) {
			if (me == 1 && i == 1900) cut(1);
			if (me == 0) shmem_long_g(word, 1);
			shmem_barrier_all();
		}
	if (!strcmp(how, "leave") && me == 1) exit(3);
	if (!strcmp(how, "wild") && me == 0) shmem_putmem(local, local, 8, 1);
	if (!strcmp(how, "past") && me == 0) shmem_putmem((char *)shmem_malloc(0) + 0x10000, local, 8, 1);
	if (!strcmp(how, "pe") && me == 0) shmem_long_p(word, 1, 9);
	if (*how) { shmem_barrier_all(); shmem_long_wait_until(word, SHMEM_CMP_EQ, 77); }
	shmem_long_p(word, me, (me + 1) % shmem_n_pes());
	shmem_barrier_all();
	printf("PE %d of %d %s\n", me, shmem_n_pes(), getenv("THEIRS") ? getenv("THEIRS") : "");
	return 0;
}
"""

# What programs by others do: calls out of place, of active sets that they are not in, for more than the heap has; older
# headers; C99.
STRANGER = r"""
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>
static long word, sums[2], sync_words[SHMEM_REDUCE_SYNC_SIZE], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], lock;
static shmem_ctx_t ctx;
static void call(const char *how)
{
	if (!strcmp(how, "n_pes")) printf("%d\n", 10 % shmem_n_pes());
	if (!strcmp(how, "my_pe")) printf("%d\n", shmem_my_pe());
	if (!strcmp(how, "team_n_pes")) printf("%d\n", 10 % shmem_team_n_pes(SHMEM_TEAM_WORLD));
	if (!strcmp(how, "put")) shmem_long_put(&word, &word, 1, 0);
	if (!strcmp(how, "p")) shmem_long_p(&word, 1, 0);
	if (!strcmp(how, "g")) printf("%ld\n", shmem_long_g(&word, 0));
	if (!strcmp(how, "iput")) shmem_long_iput(&word, &word, 1, 1, 1, 0);
	if (!strcmp(how, "signal")) shmem_long_put_signal(&word, &word, 1, (uint64_t *)sums, 1, SHMEM_SIGNAL_SET, 0);
	if (!strcmp(how, "add")) shmem_long_atomic_add(&word, 1, 0);
	if (!strcmp(how, "fetch")) printf("%ld\n", shmem_long_atomic_fetch(&word, 0));
	if (!strcmp(how, "wait")) shmem_long_wait_until(&word, SHMEM_CMP_NE, 0);
	if (!strcmp(how, "test")) printf("%d\n", shmem_long_test(&word, SHMEM_CMP_NE, 0));
	if (!strcmp(how, "lock")) shmem_set_lock(&lock);
	if (!strcmp(how, "barrier")) shmem_barrier_all();
	if (!strcmp(how, "sync")) shmem_sync_all();
	if (!strcmp(how, "reduce")) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, &word, 1);
	if (!strcmp(how, "to_all")) shmem_long_sum_to_all(sums, &word, 1, 0, 0, 2, work, sync_words);
	if (!strcmp(how, "malloc")) printf("%p\n", shmem_malloc(8));
	if (!strcmp(how, "ctx")) shmem_ctx_create(0, &ctx);
	if (!strcmp(how, "split")) { shmem_team_t t; shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &t); }
}
/* All PEs call for the sets of even ones, of the first half, of the last one. */
static void sets(int me, int all)
{
	long mine = me + 1, wanted[3] = {0}, got[3];
	for (int pe = 0; pe < all; pe++) {
		wanted[0] += pe % 2 ? 0 : pe + 1;
		wanted[1] += pe < all / 2 ? pe + 1 : 0;
	}
	word = mine;
	shmem_barrier_all();
	sums[0] = 0;
	shmem_long_sum_to_all(sums, &word, 1, 0, 1, (all + 1) / 2, work, sync_words);
	got[0] = sums[0] - (me % 2 ? 0 : wanted[0]);
	shmem_barrier_all();
	sums[0] = 0;
	shmem_long_sum_to_all(sums, &word, 1, 0, 0, all / 2, work, sync_words);
	got[1] = sums[0] - (me < all / 2 ? wanted[1] : 0);
	shmem_barrier_all();
	sums[0] = 0;
	shmem_broadcast64(sums, &word, 1, 0, all - 1, 0, 1, sync_words);
	shmem_collect64(sums, &word, 1, all - 1, 0, 1, sync_words);
	got[2] = sums[0] - (me == all - 1 ? mine : 0);
	shmem_barrier(0, 1, (all + 1) / 2, sync_words);
	printf("PE %d: %s\n", me, got[0] || got[1] || got[2] ? "wrong" : "right");
}
int main(int argc, char **argv)
{
	int after = argc > 2 && !strcmp(argv[2], "after");
	if (argc > 2 && !after) call(argv[1]);
	shmem_init();
	for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_words[i] = SHMEM_SYNC_VALUE;
	if (argc == 2 && !strcmp(argv[1], "sets")) sets(shmem_my_pe(), shmem_n_pes());
	if (argc == 2 && !strcmp(argv[1], "room")) {
		char *first = shmem_malloc((size_t)1 << 30), *second = shmem_malloc((size_t)1 << 30);
		printf("%s\n", first || second ? "wrong" : "right");
	}
	if (argc == 1) {
		word = shmem_my_pe();
		shmem_barrier_all();
		long old = shmem_swap(&word, 5L, 0);
		printf("%ld %ld\n", old, shmem_g(&word, 0));
	}
	shmem_finalize();
	if (after) call(argv[1]);
	return 0;
}
"""
OUT_OF_PLACE = ("n_pes my_pe team_n_pes put p g iput signal add fetch wait test lock barrier sync reduce to_all "
                "malloc ctx split").split()

LIBRARY = r"""
#include <shmem.h>
static long in_bss[1000];
long in_data[2] = {7, 8};
const long constant = 9;
long *NAME_bss(void) { return &in_bss[500]; }
int NAME_turns(void)
{
	int me = shmem_my_pe(), all = shmem_n_pes(), good = in_data[1] == 8;
	shmem_barrier_all();
	shmem_long_p(&in_bss[500], 100 + me, (me + 1) % all);
	shmem_long_atomic_add(&in_data[0], me, 0);
	shmem_barrier_all();
	good &= in_bss[500] == 100 + (me + all - 1) % all && shmem_long_g(&in_data[0], 0) == 7 + all * (all - 1) / 2;
	return good && !shmem_addr_accessible(&constant, 0);
}
"""
USER = r"""
#include <shmem.h>
#include <stdio.h>
long *asks_bss(void), *quiet_bss(void);
int asks_turns(void);
int main(void)
{
	shmem_init();
	printf("%s\n", asks_turns() && shmem_addr_accessible(asks_bss(), 0) && !shmem_addr_accessible(quiet_bss(), 0)
	       ? "right" : "wrong");
	return 0;
}
"""


def run(*command, **environment):
    result = subprocess.run(command, capture_output=True, text=True, timeout=50, env={**os.environ, **environment})
    return result.returncode, result.stdout, result.stderr


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def main():
    tweed, folder = sys.argv[1:]
    source, program = write(folder, "ends.c", SOURCE), os.path.join(folder, "ends")
    wrong = 0

    def expect(what, got, status, *texts):
        nonlocal wrong
        good = got[0] == status and all(t in got[1] + got[2] for t in texts)
        wrong += not good
        print(f"{'ok' if good else 'WRONG'}: {what}" + ("" if good else f": {got}"))

    for compiler, standards in (("oshcc", ("c99", "c11", "c17")), ("oshc++", ("c++17",))):
        for standard in standards:
            language = ["-x", "c++"] if compiler == "oshc++" else []
            expect(f"{compiler} -std={standard}", run(tweed, compiler, f"-std={standard}", "-Wall", "-Wextra",
                                                      "-Wpedantic", "-Werror",
                                                      *language, source, "-o", program + standard), 0)
    program += "c11"
    expect("alone", run(program, THEIRS="x"), 0, "PE 0 of 1 x")
    expect("three", run(tweed, "oshrun", "-np", "3", "-x", "THEIRS=y", program), 0, "PE 0 of 3 y", "PE 2 of 3 y")
    expect("two nodes", run(tweed, "oshrun", "-n", "4", "--ppn", "2", program), 0, "PE 3 of 4")
    expect("races that nobody looks for", run(tweed, "oshrun", "-n", "2", program, TWEED_RACE="ww"), 0,
           "no races were looked for")
    expect("global exit", run(tweed, "oshrun", "-n", "2", program, "exit5"), 5, "last words")
    expect("global exit of 0", run(tweed, "oshrun", "-n", "3", program, "exit0"), 0)
    expect("a PE that dies", run(tweed, "oshrun", "-n", "2", program, "die"), 128 + 6, "processor 1")
    for transport in ("shm", "ofi") if "ofi" in run(tweed, "info")[1] else ("shm",):
        expect(f"a PE that dies in a barrier, {transport}", run(tweed, "oshrun", "-n", "3", "--ppn", "1", "--transport",
                                                                transport, program,
                                                                "midway"), 128 + 9, "node 1 processor 0")
    if "ofi" in run(tweed, "info")[1]:
        for what, cut in (("a connection", "cut"), ("the connection for delegation", "cut delegation")):
            expect(f"{what} that breaks", run(tweed, "oshrun", "-n", "2", "--ppn", "1", "--transport", "ofi", program,
                                              cut), 1,
                   "from or to one of its processors did not arrive")
    expect("a PE that leaves", run(tweed, "oshrun", "-n", "2", program, "leave"), 3)
    expect("a wild address", run(tweed, "oshrun", "-n", "2", program, "wild"), 1, "not symmetric")
    expect("a wild address, two nodes", run(tweed, "oshrun", "-n", "2", "--ppn", "1", program, "past"), 1,
           "not symmetric")
    expect("no such PE", run(tweed, "oshrun", "-n", "2", program, "pe"), 1, "no PE 9")
    expect("a size", run(tweed, "oshrun", "-n", "2", program, SHMEM_SYMMETRIC_SIZE="1.5m", SHMEM_DEBUG="1"), 0,
           "1572864 bytes")
    expect("no size", run(tweed, "oshrun", "-n", "2", program, SHMEM_SYMMETRIC_SIZE="much"), 2, "SHMEM_SYMMETRIC_SIZE")
    expect("version and help", run(tweed, "oshrun", "-n", "2", program, SHMEM_VERSION="1", SHMEM_INFO="1"), 0,
           "OpenSHMEM 1.5",
           "SHMEM_DEBUG")
    for name, linker in (("asks", [tweed, "oshcc"]), ("quiet", ["cc"])):
        code = write(folder, name + ".c", LIBRARY.replace("NAME", name).replace("in_data", name + "_data"))
        expect("code of a library", run(tweed, "oshcc", "-O1", "-fPIC", "-c", "-o", code[:-1] + "o", code), 0)
        expect("library that " + name, run(*linker, "-shared", "-o", f"{folder}/lib{name}.so", code[:-1] + "o"), 0)
    expect("program with libraries", run(tweed, "oshcc", "-o", program, write(folder, "user.c", USER), f"-L{folder}",
                                         "-lasks", "-lquiet",
                                         f"-Wl,-rpath,{folder}"), 0)
    for pes, ppn in (("1", "1"), ("3", "3"), ("4", "2")):
        expect(f"variables of a library, {pes} PEs", run(tweed, "oshrun", "-n", pes, "--ppn", ppn, program), 0,
               "right\n" * int(pes))
    strange = os.path.join(folder, "strange")
    for compiler, language, standard in (("oshcc", [], "c99"), ("oshcc", [], "c11")):
        expect(f"older headers, {standard}", run(tweed, compiler, "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic",
                                                 "-Werror", *language,
                                                 write(folder, "strange.c", STRANGER), "-o", strange), 0)
    expect("generic names", run(tweed, "oshrun", "-n", "1", strange), 0, "0 5")
    for when in "before", "after":
        for what in OUT_OF_PLACE:
            if when == "before" or what not in ("n_pes", "my_pe"):  # which some ask for what they print at the end
                expect(f"{what} {when}", run(strange, what, when), 1, "before shmem_init or after shmem_finalize")
    for pes, ppn in (("4", "4"), ("3", "1")):
        expect(f"sets that a PE is not in, {pes} PEs", run(tweed, "oshrun", "-n", pes, "--ppn", ppn, strange, "sets"),
               0,
               *(f"PE {pe}: right" for pe in range(int(pes))))
    expect("the same, checked", run(tweed, "oshrun", "-n", "4", "--shmem-check", strange, "sets"), 1,
           "is not in the active set of 2 PEs")
    got = run(tweed, "oshrun", "-n", "2", strange, "room")
    expect("more than the heap", got, 0, "right\nright",
           "shmem_malloc: asked for 1024 MiB, the heap is 512 MiB: SHMEM_SYMMETRIC_SIZE")
    expect("more than the heap, said once", (got[2].count("asked for"), "", ""), 1)
    expect("a library, at its link", run(tweed, "oshcc", "-shared", "-o", f"{folder}/libasks.so", f"{folder}/asks.o"),
           0, "cannot load it")
    expect("no PEs", run(tweed, "oshrun", program), 2, "-n is missing")
    expect("uneven nodes", run(tweed, "oshrun", "-n", "3", "--ppn", "2", program), 2, "does not divide")
    return 1 if wrong else 0


sys.exit(main())
