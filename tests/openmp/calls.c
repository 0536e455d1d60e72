/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c - system calls on shared buffers in parallel regions: files, pipes, sockets, stdio. */
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 40000

static char global[BYTES];

static int file(char *buffer, char *back, int seed)
{
	char name[] = "calls-XXXXXX";
	int fd = mkstemp(name), wrong = fd < 0;
	struct stat st;

	for (int i = 0; i < BYTES; i++)
		buffer[i] = (char)(i * 7 + seed);
	wrong += write(fd, buffer, BYTES) != BYTES;
	wrong += fstat(fd, &st) != 0 || st.st_size != BYTES;
	wrong += lseek(fd, 0, SEEK_SET) != 0;
	wrong += read(fd, back, BYTES) != BYTES || memcmp(buffer, back, BYTES);
	memset(back, 0, BYTES);
	FILE *f = fdopen(fd, "r+");
	wrong += !f || fseek(f, 0, SEEK_SET) || fread(back, 1, BYTES, f) != BYTES || memcmp(buffer, back, BYTES);
	wrong += fseek(f, 0, SEEK_SET) || fwrite(back + 1, 1, BYTES - 1, f) != BYTES - 1 || fflush(f);
	memset(back, 0, BYTES);
	wrong += pread(fd, back, BYTES, 0) != BYTES || memcmp(buffer + 1, back, BYTES - 1);
	fclose(f);
	unlink(name);
	return wrong;
}

static int across(char *buffer, char *back)
{
	int pair[2], wrong = socketpair(AF_UNIX, SOCK_STREAM, 0, pair);

	for (int at = 0; at < BYTES; at += 4000) {
		wrong += send(pair[0], buffer + at, 4000, 0) != 4000;
		wrong += recv(pair[1], back + at, 4000, MSG_WAITALL) != 4000;
	}
	wrong += memcmp(buffer, back, BYTES) != 0;
	close(pair[0]);
	close(pair[1]);
	return wrong;
}

int main(void)
{
	int n = omp_get_max_threads(), wrong = 0;
	char *buffers = malloc((size_t)n * BYTES), *backs = calloc((size_t)n, BYTES);

#pragma omp parallel reduction(+ : wrong)
	{
		int t = omp_get_thread_num();
		char local[BYTES], *mine = buffers + (size_t)t * BYTES, *back = backs + (size_t)t * BYTES, text[64];
		wrong += file(mine, back, t);
#pragma omp barrier
		/* Another's buffer, into the stack and back. */
		wrong += across(buffers + (size_t)((t + 1) % n) * BYTES, local);
		wrong += file(local, back, t + 1);
		snprintf(text, sizeof(text), "%d %g", t, t * 0.5);
		double half;
		int number;
		wrong += sscanf(text, "%d %lf", &number, &half) != 2 || number != t || half != t * 0.5;
#pragma omp single
		memset(global, 'x', BYTES);
		wrong += across(global, local);
	}
	printf("%d wrong\n", wrong);
	char line[200] = "none\n";
	if (fgets(line, sizeof(line), stdin))
		printf("read %s", line);
	return 0;
}
