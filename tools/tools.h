/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.h - the parts of the `tweed` command.
 *
 * tweed.c     the table of subcommands
 * file.c      output files that are complete or absent
 * inherited.c descriptors that the command's caller has left open for the program
 * installed.c where the command's own files are
 * nofile.c    the limit of open files
 * script.c    commands that are Python programs: `tweed compare`, `tweed machine`, ...
 *
 * run/run.c, oshrun.c           options and checks of `tweed run` and `tweed oshrun`
 * run/alone.c                   programs of threads that were started without `tweed run`
 * run/hosts.c                   lists of hosts
 * run/machine.c                 machine files, of virtual time
 * run/program.c                 information in a program's file
 * run/under.c                   processors under gdb, valgrind or perf
 * launch/launch.c               the launcher: watches the job, ends it
 * launch/start.c, prepare.c     starts agents; their setup
 * launch/stdio.c                output and input; output_writer.c: threads that write output
 * launch/survive.c, waits.c     deaths that the job survives; processors that all wait for each other
 * launch/where.c, top.c         where all threads are; statistics of the running job
 * launch/manager.c              agents under a resource manager; pmix.c: PMIx; rendezvous.c: how they find the launcher
 * agent/agent.c                 one process per node; agent_node.c: its memories; agent_processors.c: its processors;
 *                               agent_waits.c: their waits, where they are; output.c: their output; bind.c: their
 *                               cores
 * agent/supervisor.c            the process above an agent on another host
 * agent/reap.c                  kills remaining processes
 * wire/wire.c                   messages between launcher and agents; handshake.c: the first one; watch.h: silence
 * trace/collect.c               traces: agents send them, the launcher writes them
 * trace/report.c                statistics
 * crash/crash.c, where.c        why and where a processor ends; where threads are; stack.c: their stacks
 * info/info.c, info_hosts.c     `tweed info`
 * bench/command.c               `tweed bench`, which runs tweed-bench (the other files of bench/)
 * bench/compare.c               its comparison of protocols
 * compile/cc.c, oshcc.c         `tweed cc`, `tweed omp cc`, `tweed oshcc`; compiler.c: the compiler that CC names
 * compile/alias.c               links called gcc that lead to it
 * compile/as.c, ld.c            the assembler and the linker of programs with threads */
#ifndef TW_TOOLS_TOOLS_H
#define TW_TOOLS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/job/settings.h"
#include "tools/run/hosts.h"
#include "tweed/driver/stats.h"

#define TOOL_SETTINGS_MAX 64
#define TOOL_USAGE        2 /* exit status of a usage error: nothing was started */

struct tool_command {
	const char *name, *arguments, *help; /* help NULL: not shown */
	int (*main)(int argc, char **argv);  /* argv[0] is the subcommand; returns the exit status */
};

int tool_run(int argc, char **argv);
int tool_alone(int argc, char **argv);
int tool_crash(int argc, char **argv);
int tool_where(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_cc(int argc, char **argv); /* also c++ */
int tool_oshrun(int argc, char **argv);
int tool_oshcc(int argc, char **argv); /* also oshc++ */
int tool_omp(int argc, char **argv);
int tool_pthreads(int argc, char **argv);
int tool_agent(int argc, char **argv);
int tool_script(int argc, char **argv); /* runs argv[0].py of results/, with --tweed naming this command */

/* tool_self - this command's file; without /proc, ends with a sentence.  tool_in_build - is it in a build folder, not
 * installed?
 * tool_installed - @folder (absolute, or relative to the prefix) of this command's installation; allocated.
 * tool_results - the folder with the files of results/ that commands use; allocated. */
const char *tool_self(void);
bool tool_in_build(void);
char *tool_installed(const char *folder);
char *tool_results(void);

/* tool_alias - the name, without folders, that this command was called by: that of @called, or, if it is a link to one
 * called tweed-..., the latter's.  Then folders with such links are no longer in PATH. */
const char *tool_alias(const char *called);

/* tool_compiles_below - was this command called by a compiler that it has started itself, as named by CC?  Then it
 * ignores CC and adds nothing.  Marks processes started from now on as below @command. */
bool tool_compiles_below(const char *command);

/* A job, for the launcher. */
struct tool_job {
	struct tw_settings settings; /* as requested */
	enum tw_origin origins[TOOL_SETTINGS_MAX];
	char fault[64];     /* the backend in use; "uffd,mprotect" when hosts differ */
	char shootdown[64]; /* the mechanism in use, likewise; auto: none */
	struct tool_hosts hosts;
	const int *connection; /* [nodes] to agents of a resource manager; [0]: unused.  NULL: all are started here */
	const uint8_t *secret; /* the job's, if agents hold it already; NULL: to be generated */
	char *path;            /* the program's file */
	const char *executed;  /* in its place, with @argv; NULL: the program */
	const struct tool_under *under; /* the command that processors run under (run/under.c); NULL: none */
	char **argv;                    /* program and arguments, NULL-ended */
	char **variable;                /* [variables] NAME=VALUE, added to the processors' environment */
	size_t variables;
	/* results */
	struct tw_stats *stats; /* [nodes][processors + 1]; valid when complete */
	bool complete;          /* every node has sent its statistics */
	int status;
	int killed;    /* the signal that ended a processor, and with it the job, or the command itself; 0: none */
	double wall_s; /* from the start of the processors to the end of the last */
};

/* tool_say - tw_log with printf's whole format.  Control bytes of arguments become '?', so it stays one line. */
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The names of enum tw_origin. */
extern const char *const tool_origins[];

/* tool_configure - defaults and the environment into @settings.  Returns 0 or -EINVAL, printed in one sentence. */
int tool_configure(struct tw_settings *settings, enum tw_origin *origins);

/* tool_executable - is @path a file that can be executed?  Prints a sentence about @program if not, unless @quiet.
 * tool_resolve - check that transport and fault backend work on this host, and replace auto by its meaning here.
 * Returns 0, or -errno, printed. */
bool tool_executable(const char *path, const char *program, bool quiet);
int tool_resolve(struct tw_config *config);

/* tool_rsh - in a child: execute the remote shell that runs @command on @host.  Returns only on failure: an errno. */
/* tool_remote_command - the text that runs this command with @arguments on another host. */
void tool_remote_command(const struct tw_launch *launch, const char *arguments, char *out, size_t bytes);
int tool_rsh(const struct tw_launch *launch, const char *host, const char *command, int in, int out);

/* tool_prepare - check the job's configuration and the program @argv[0], and fill in the rest.  @managed: the number of
 * agents that a resource manager starts, where settings are the environment's; 0: none.  Returns 0 or -EINVAL, printed.
 * tool_launch_and_report - run it, print or write its statistics, free it.  Returns the exit status. */
int tool_prepare(struct tool_job *job, char **argv, unsigned managed);
int tool_launch_and_report(struct tool_job *job);

/* tool_launch - run the job from setup to its end.  Returns the exit status. */
int tool_launch(struct tool_job *job);

/* tool_report_check - can the statistics be written where config.stats says?  0, or -errno with a sentence in @error.
 * tool_report - print or write them.  0, or -errno, printed.
 * tool_report_live - those of a running job, one line of JSON; allocated, or NULL. */
int tool_report_check(const struct tool_job *job, char *error, size_t error_bytes);
int tool_report(const struct tool_job *job);
char *tool_report_live(const struct tool_job *job);

/* tool_json_text - a string of text that may not be UTF-8 (program arguments): invalid bytes are replaced. */
struct json_t *tool_json_text(const char *s);

/* tool_kill_descendants - SIGKILL and reap every child of this process until none is left.  With PR_SET_CHILD_SUBREAPER
 * that includes all descendants. */
void tool_kill_descendants(void);
/* tool_kill_orphans - the same in a process that has inherited other children: kills only descendants of an agent. */
void tool_kill_orphans(void);
/* tool_info_hosts - print the table of `tweed info --hosts`.  Returns the exit status: 1 if there are problems to
 * correct. */
int tool_info_hosts(const struct tw_settings *settings);
/* tool_signal_below - send @number to all descendants of @above.
 * tool_stopped - is @pid stopped, or held by a debugger? */
void tool_signal_below(pid_t above, int number);
bool tool_stopped(pid_t pid);

#endif
