/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_message.c - requests to an agent: the agent serves whatever another node sends, or ends the job with a
 * sentence, and touches only the pages that the request may name.
 *
 * Input: protocol, type, source, then the words of the message, then the bytes that the sender has written into its
 * buffer here. */
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/job/job.h"
#include "protocols/cashmere/cashmere.h"
#include "tests/fuzz/fuzz.h"

static const char *const protocols[] = {"2L", "2LOffMC", "2LMigr"};
#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

/* For each protocol the agent of node 0, and the endpoints of node 1, which take the replies. */
static struct tw_proc agent[PROTOCOLS];
static struct tw_net *peer[PROTOCOLS][2];
static jmp_buf refused;

static void fuzz_refuse(void)
{
	longjmp(refused, 1);
}

static int fuzz_file(size_t bytes)
{
	int fd = memfd_create("fuzz", 0);

	TW_ASSERT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	return fd;
}

static void fuzz_open(unsigned which)
{
	static struct tw_boot boot;
	struct tw_settings settings;
	struct tw_layout layout;
	struct tw_net_config config;

	boot = (struct tw_boot){.magic = TW_BOOT_MAGIC, .bytes = sizeof(boot), .host_processes = 4};
	tw_settings_init(&settings, NULL);
	boot.config = settings.config;
	boot.config.nodes = 2;
	boot.config.processors = 1;
	boot.config.memory = 2u << 20;
	boot.config.sync_objects = 64;
	strcpy(boot.config.protocol, protocols[which]);
	tw_layout_compute(&layout, &boot.config);
	boot.private_fd = fuzz_file(layout.private_bytes);
	for (unsigned node = 0; node < 2; node++)
		boot.exported_fd[node] = fuzz_file(layout.exported_bytes);
	for (unsigned k = 0; k <= TW_MAX_PROCESSORS; k++)
		boot.handle_fd[k][0] = boot.handle_fd[k][1] = -1;
	TW_ASSERT(tw_proc_open(&agent[which], &boot, 1, true) == 0);
	tw_job_net_config(&boot, &layout, &config);
	config.node = 1;
	for (config.port = 0; config.port < 2; config.port++)
		TW_ASSERT(tw_net_open(tw_transport_find("shm"), &config, &peer[which][config.port]) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	for (unsigned which = 0; which < PROTOCOLS; which++)
		fuzz_open(which);
	tw_fatal_hook = fuzz_refuse;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	struct tw_msg msg = {0};
	unsigned which = fuzz_byte(&in) % PROTOCOLS;
	struct tw_proc *me = &agent[which];
	me->protocol = tw_protocol_find(protocols[which]); /* its parameters, in place of the last one's */

	msg.type = (uint16_t)(TW_MSG_PROTOCOL + fuzz_byte(&in) % 8);
	msg.len = fuzz_byte(&in) % (TW_MSG_BODY + 1);
	msg.src_node = 1;
	msg.src_port = fuzz_byte(&in) % 2;
	fuzz_take(&in, msg.body, msg.len);
	if (me->layout.protocol_bytes >= 2 * CASH_BUFFER)
		memcpy(me->net->base + me->layout.protocol + CASH_BUFFER, in.data,
		       TW_MIN(in.bytes, (size_t)CASH_BUFFER));
	if (setjmp(refused) == 0 && me->protocol->message)
		me->protocol->message(me, &msg);
	for (unsigned port = 0; port < 2; port++)
		while (tw_net_recv(peer[which][port], &msg))
			;
	return 0;
}
