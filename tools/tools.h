/* SPDX-License-Identifier: BSD-3-Clause */
/* tools.h - the parts of the `tweed` command.
 *
 * tweed.c   table of subcommands          run.c     options and checks of `tweed run`; oshrun.c: those of `tweed oshrun`
 * hosts.c   lists of hosts                program.c what a program's file says of itself
 * launch.c  the launcher: watches the job, ends it; start.c: starts agents; prepare.c: what they are told; forward.c, drain.c: output and input
 * agent.c   one process per node: memory, processors, their deaths; output.c: their output; bind.c: their cores
 * guard.c   the process above an agent on another host
 * manager.c agents under a resource manager: exchange.c (PMIx), and meet.c, by which they find the launcher
 * wire.c    messages between launcher and agents; hello.c: the first of them; watch.h: for how long there was none
 * reap.c    killing what is left          report.c  statistics          info.c, info_hosts.c  `tweed info`
 * file.c    files that are made         trace.c   the trace: agents send it, the launcher writes it
 * bench.c   `tweed bench`, which runs bench/      bench_compare.c   its comparison of protocols
 * oshcc.c   `tweed oshcc`
 * cc.c      `tweed cc`       compiler.c  what CC names       script.c  `tweed compare`, `tweed report`: programs in Python       installed.c  where our files are */
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
#define TOOL_USAGE        2 /* exit status of a mistaken call: nothing was started */

struct tool_command {
	const char *name, *arguments, *help; /* help NULL: not shown */
	int (*main)(int argc, char **argv);  /* argv[0] is the subcommand; returns the exit status */
};

int tool_run(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_cc(int argc, char **argv); /* also c++ */
int tool_oshrun(int argc, char **argv);
int tool_oshcc(int argc, char **argv); /* also oshc++ */
int tool_omp(int argc, char **argv);
int tool_agent(int argc, char **argv);
int tool_script(int argc, char **argv); /* the program argv[0].py of results/, told of this command by --tweed */

/* tool_self - this command's file; where /proc is missing the end, with a sentence.  tool_in_build - is it the one that a build made, not an installed one?
 * tool_installed - @folder (absolute, or below the prefix) of the installation whose command this is; allocated. */
const char *tool_self(void);
bool tool_in_build(void);
char *tool_installed(const char *folder);

/* tool_compiles_below - is this command called by the compiler that it has called itself, as one of CC?  Then it takes no compiler from
 * there, and adds nothing.  From here on what this process starts is below @command. */
bool tool_compiles_below(const char *command);

/* A job as the launcher knows it. */
struct tool_job {
	struct tw_config config; /* as asked for */
	enum tw_origin origins[TOOL_SETTINGS_MAX];
	char fault[64];     /* the backend that is used; "uffd,mprotect" when hosts differ */
	char shootdown[64]; /* the mechanism that is used, in the same way; auto: none */
	struct tool_hosts hosts;
	const int *connection; /* [nodes] to agents that a resource manager has started; [0]: none.  NULL: all are ours to start */
	const uint8_t *secret; /* the job's, which agents over a connection hold already; NULL: to be drawn */
	char *path;     /* the program's file */
	char **argv;    /* program and arguments, NULL-ended */
	char **variable; /* [variables] NAME=VALUE, more for the processors' environment */
	size_t variables;
	/* results */
	struct tw_stats *stats; /* [nodes][processors + 1]; valid when complete */
	bool complete;          /* every node delivered its statistics */
	int status;
	double wall_s; /* from the start of the processors to the end of the last */
};

/* tool_say - tw_log with printf's whole format; control bytes from arguments become '?', so it stays one line. */
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The names of enum tw_origin. */
extern const char *const tool_origins[];

/* tool_configure - defaults and the environment into @config; on failure prints one sentence.  Returns 0 or -EINVAL. */
int tool_configure(struct tw_config *config, enum tw_origin *origins);

/* tool_executable - is @path a file that can be executed?  Complains about @program if not, unless @quiet.
 * tool_resolve - check that transport and fault backend work on this host, and replace auto by what it stands for here.
 * Returns 0, or -errno, printed. */
bool tool_executable(const char *path, const char *program, bool quiet);
int tool_resolve(struct tw_config *config);

/* tool_rsh - in a child: become the remote shell that runs @command on @host.  Returns only if it cannot: an errno. */
/* tool_remote_command - the text that runs our own command with these @arguments on another host. */
void tool_remote_command(const struct tw_config *config, const char *arguments, char *out, size_t bytes);
int tool_rsh(const struct tw_config *config, const char *host, const char *command, int in, int out);

/* tool_prepare - check the job's configuration and the program @argv[0], and fill in the rest.  @managed: so many agents
 * are started by a resource manager, and the settings are the environment's; 0: none.  Returns 0 or -EINVAL, printed.
 * tool_launch_and_report - run it, print or write its statistics, free it.  Returns the exit status. */
int tool_prepare(struct tool_job *job, char **argv, unsigned managed);
int tool_launch_and_report(struct tool_job *job);

/* tool_launch - run the job to its end; the whole bring-up, watching and ending.  Returns the exit status. */
int tool_launch(struct tool_job *job);

/* tool_report_check - can the statistics go where they shall?  0, or -errno with a sentence in @error.
 * tool_report - print or write them as config.stats says.  0, or -errno, printed. */
int tool_report_check(const struct tool_job *job, char *error, size_t error_bytes);
int tool_report(const struct tool_job *job);

/* tool_json_text - text that may not be UTF-8 (program arguments): bytes that are not are replaced. */
struct json_t *tool_json_text(const char *s);

/* tool_kill_descendants - SIGKILL and reap every child of this process, again and again, until none is left: with
 * PR_SET_CHILD_SUBREAPER that is every descendant. */
void tool_kill_descendants(void);
/* tool_kill_orphans - the same for a process with children of another's making: only what came from an agent. */
void tool_kill_orphans(void);
/* tool_info_hosts - the table of `tweed info --hosts`.  Returns the exit status: 1 when there is something to mend. */
int tool_info_hosts(const struct tw_config *config);
/* tool_signal_below - send @number to all descendants of @above.  tool_stopped - is @pid stopped, or held by a debugger? */
void tool_signal_below(pid_t above, int number);
bool tool_stopped(pid_t pid);

#endif
