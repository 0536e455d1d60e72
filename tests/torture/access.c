/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c - the oracle, the accesses that it judges, and the report when they are wrong. */
#include "torture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sanitizers replace the C library's system calls, hence also Tweed's versions, which touch their buffers first
 * (core/process/syscalls.h): in such builds these calls work on shared memory only under backends that trap the
 * kernel. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* The oracle is a memory file of processor 0, found by the others through /proc: nothing to leave behind. */
void oracle_open(struct run *r)
{
	char path[64] = "";
	int fd = -1;

	if (r->me == 0) {
		fd = memfd_create("torture-oracle", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, sizeof(struct oracle)))
			tw_abort(2, "torture: cannot make the oracle's memory file");
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	}
	tw_bcast(path, sizeof(path), 0);
	if (r->me != 0)
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		tw_abort(2, "torture: cannot open processor 0's oracle; all nodes must be emulated on one host");
	r->oracle = mmap(NULL, sizeof(struct oracle), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->oracle == MAP_FAILED)
		tw_abort(2, "torture: cannot map the oracle");
	tw_barrier_all();
	close(fd);
}

void violation(struct run *r, const char *format, ...)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "torture: violation: seed %llu phase %u (%s) op %u processor %u node %u: ",
	                 (unsigned long long)r->seed, r->phase, r->phase_name, r->op, r->me, r->node);
	va_list ap;

	va_start(ap, format);
	n += vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
	va_end(ap);
	if ((size_t)n > sizeof(text) - 40)
		n = sizeof(text) - 40;
	snprintf(text + n, sizeof(text) - (size_t)n, "; replay with --seeds %llu:1", (unsigned long long)r->seed);
	tw_abort(1, text);
}

/* Two versions less than 256 apart differ in every byte. */
static uint8_t content_byte(uint64_t key, uint64_t version, size_t i)
{
	return (uint8_t)((mix(key + i / 8) >> (8 * (i % 8))) + version * (2 * (i % 64) + 1));
}

void content_fill(uint8_t *out, uint64_t key, uint64_t version, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t h = mix(key + i / 8);

		for (size_t j = i; j < i + 8 && j < size; j++, h >>= 8)
			out[j] = (uint8_t)(h + version * (2 * (j % 64) + 1));
	}
}

/* Describe the wrong byte: "version 3", or "no recent version". */
static void content_guess(char *out, size_t bytes, uint8_t found, uint64_t key, uint64_t version, size_t i)
{
	for (uint64_t back = 1; back <= version && back < 256; back++)
		if (found == content_byte(key, version - back, i)) {
			snprintf(out, bytes, "version %llu", (unsigned long long)(version - back));
			return;
		}
	snprintf(out, bytes, "%s", found ? "no earlier version" : "zero");
}

void content_check(struct run *r, const char *what, unsigned number, const char *where, uint64_t key, uint64_t version,
                   size_t size, unsigned writer)
{
	static uint8_t expect[BIG_BYTES], found[BIG_BYTES];
	size_t wrong = 0, first = 0;
	char guess[40];

	if (size > 64 || rng_chance(&r->mine, 80))
		memcpy(found, where, size);
	else
		for (size_t i = size; i-- > 0;) /* from the end: another page may fault first */
			found[i] = *(const volatile uint8_t *)(where + i);
	content_fill(expect, key, version, size);
	if (memcmp(expect, found, size) == 0)
		return;
	for (size_t i = size; i-- > 0;)
		if (expect[i] != found[i]) {
			wrong++;
			first = i;
		}
	content_guess(guess, sizeof(guess), found[first], key, version, first);
	violation(r,
	          "%s %u at %p (page %#lx): %zu of %zu bytes wrong, first at +%zu: expected %#x "
	          "(version %llu, by processor %u), found %#x (%s)",
	          what, number, (const void *)where, (unsigned long)((uintptr_t)(where + first) >> 12), wrong, size,
	          first, expect[first], (unsigned long long)version, writer, found[first], guess);
}

static void write_bytes(char *where, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*(volatile uint8_t *)(where + i) = bytes[i];
}

/* In words where both are aligned, else in the widest pieces that fit. */
static void write_words(char *where, const uint8_t *bytes, size_t size)
{
	while (size) {
		uint64_t piece = 0;
		uintptr_t a = (uintptr_t)where;
		size_t n = size >= 8 && a % 8 == 0 ? 8 : size >= 4 && a % 4 == 0 ? 4 : size >= 2 && a % 2 == 0 ? 2 : 1;

		memcpy(&piece, bytes, n);
		if (n == 8)
			*(volatile uint64_t *)(void *)where = piece;
		else if (n == 4)
			*(volatile uint32_t *)(void *)where = (uint32_t)piece;
		else if (n == 2)
			*(volatile uint16_t *)(void *)where = (uint16_t)piece;
		else
			*(volatile uint8_t *)where = (uint8_t)piece;
		where += n;
		bytes += n;
		size -= n;
	}
}

/* Let the kernel do the storing. */
static void write_by_kernel(struct run *r, char *where, const uint8_t *bytes, size_t size)
{
	ssize_t n;

	if (write(r->pipe[1], bytes, size) != (ssize_t)size)
		violation(r, "write(2) of %zu bytes to a pipe failed: %s", size, strerror(errno));
	n = read(r->pipe[0], where, size);
	if (n != (ssize_t)size)
		violation(r, "read(2) of %zu bytes into shared memory at %p gave %zd: %s", size, (void *)where, n,
		          n < 0 ? strerror(errno) : "short");
}

void shared_write(struct run *r, char *where, const uint8_t *bytes, size_t size)
{
	unsigned how = rng_below(&r->mine, 100);

	if (how < 40)
		write_words(where, bytes, size);
	else if (how < 60)
		write_bytes(where, bytes, size);
	else if (how < 97 || size > 4096 || SANITIZED)
		memcpy(where, bytes, size);
	else
		write_by_kernel(r, where, bytes, size);
}

void var_check(struct run *r, unsigned var)
{
	const struct var *v = &r->var[var];
	uint64_t word = atomic_load(&r->oracle->word[var]);

	content_check(r, "variable", var, r->arena + v->offset, v->key, word >> 16, v->size, word & 0xffff);
}

static void var_put(struct run *r, unsigned var, uint64_t version)
{
	static uint8_t bytes[BIG_BYTES];
	const struct var *v = &r->var[var];

	content_fill(bytes, v->key, version, v->size);
	shared_write(r, r->arena + v->offset, bytes, v->size);
}

void var_write(struct run *r, unsigned var)
{
	uint64_t version = (atomic_load(&r->oracle->word[var]) >> 16) + 1;

	var_put(r, var, version);
	atomic_store(&r->oracle->word[var], version << 16 | r->me);
}

void var_touch(struct run *r, unsigned var, bool may_write)
{
	unsigned how = rng_below(&r->mine, 100);

	if (!may_write || how < 35) {
		var_check(r, var);
		return;
	}
	if (how < 85) /* else a blind write: the first access is a store */
		var_check(r, var);
	if (how < 45) { /* a value that may be flushed, but must never be seen */
		var_put(r, var, (atomic_load(&r->oracle->word[var]) >> 16) + 128);
		rest(r);
	}
	if (how < 40) /* back to the value before: no difference to what others have, nor to a twin made before */
		var_put(r, var, atomic_load(&r->oracle->word[var]) >> 16);
	else
		var_write(r, var);
	if (rng_chance(&r->mine, 25))
		var_check(r, var);
}

void rest(struct run *r)
{
	unsigned how = rng_below(&r->mine, 512);

	if (how == 0)
		usleep(rng_below(&r->mine, 200));
	else if (how < 16)
		sched_yield();
}

void soft_wait(_Atomic uint64_t *counter, uint64_t value)
{
	for (unsigned i = 0; atomic_load(counter) < value; i++) {
		if (i < 20)
			sched_yield();
		else
			usleep(20);
	}
}

static void boundary_flags(struct run *r)
{
	atomic_store(&r->oracle->signal[r->me], r->generation);
	tw_flag_set(r->h.bound[r->me], r->generation);
	for (unsigned i = 0; i < r->count; i++) {
		unsigned q = (r->me + i) % r->count;
		uint64_t seen = tw_flag_wait(r->h.bound[q], r->generation);

		if (seen < r->generation || seen > atomic_load(&r->oracle->signal[q]))
			violation(r, "flag of processor %u is %llu, waited for %llu, at most %llu was set", q,
			          (unsigned long long)seen, (unsigned long long)r->generation,
			          (unsigned long long)atomic_load(&r->oracle->signal[q]));
	}
}

void boundary(struct run *r)
{
	uint64_t how = mix2(r->seed + 77, ++r->generation) % 100;

	rest(r);
	atomic_fetch_add(&r->oracle->arrived, 1);
	if (how < 55) {
		tw_barrier_all();
	} else if (how < 75) {
		tw_barrier_wait(r->h.all);
	} else if (how < 88) {
		boundary_flags(r);
	} else { /* a tree of smaller barriers: causality must pass through all three */
		tw_barrier_wait(r->h.node[r->node]);
		if (r->me % r->locals == 0)
			tw_barrier_wait(r->h.leaders);
		tw_barrier_wait(r->h.node[r->node]);
	}
	if (atomic_load(&r->oracle->arrived) < r->generation * r->count)
		violation(r, "boundary %llu passed before all had arrived", (unsigned long long)r->generation);
}
