/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign_atomics.c - atomic instructions of a file that plain gcc has made: each form of each that a lock prefix may
 * have, with its value, register and flags; counters, locks and a flag that threads of several nodes share.  With MAIN
 * the program. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4
#define TIMES   200
#define STACK   0x100000

extern uint64_t forms(uint64_t seed);
extern void count(int *lock, long *plain, char *bytes, long *words);
extern void count_asleep(int *lock, long *plain);
extern void flag_set(int *data, int *flag);
extern int flag_wait(const int *data, const int *flag);

#ifdef MAIN
static int lock, sleeps, data, flag;
static long plain, asleep, words[8];
static char bytes[8];

static void once(void)
{
	count(&lock, &plain, bytes, words);
}

/* As coroutines do: on a stack that nothing has used yet. */
static void on_own_stack(void (*function)(void))
{
	char *top = (char *)malloc(STACK) + STACK;

	__asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp"
	                 :
	                 : "r"((uintptr_t)top & ~(uintptr_t)15), "r"(function)
	                 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
}

static void *work(void *arg)
{
	on_own_stack(once);
	for (int i = 0; i < TIMES; i++) {
		count(&lock, &plain, bytes, words);
		count_asleep(&sleeps, &asleep);
	}
	return arg;
}

static void *waits(void *arg)
{
	printf("flag %d\n", flag_wait(&data, &flag));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	int n = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < 20; i++)
		printf("%016lx\n", (unsigned long)forms((uint64_t)i * 0x9e3779b97f4a7c15u));
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, NULL);
	work(NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("plain %ld %ld words %ld %ld %ld bytes %d %d\n", plain / (n + 1), asleep / (n + 1), words[0] / (n + 1),
	       words[1] / (n + 1), words[2] / (n + 1), bytes[1] == (char)((n + 1) * (TIMES + 1)), bytes[2]);
	pthread_create(&t[0], NULL, waits, NULL);
	flag_set(&data, &flag);
	pthread_join(t[0], NULL);
	return 0;
}
#else
static uint64_t state, cell[16];

/* Mix the register, the word and the flags that are defined. */
static void mix(uint64_t reg, uint64_t flags, uint64_t mask)
{
	uint64_t all[] = {reg, cell[4], cell[8], flags & mask};

	for (unsigned i = 0; i < 4; i++)
		state = (state ^ all[i]) * 0x100000001b3u + 12345;
}

static uint64_t some(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 11 ^ state << 40;
}

#define ALL   0x8d5u
#define LOGIC 0x8c5u /* without the auxiliary carry */
#define CARRY 0x1u
#define ZERO  0x40u
#define NONE  0x0u

#define FORM(text, type, mask)                                                                                         \
	do {                                                                                                           \
		type reg = (type)some();                                                                               \
		uint64_t rax = some(), rdx = some(), flags = some() & ALL;                                             \
		cell[8] = some();                                                                                      \
		if (reg & 1)                                                                                           \
			rax = cell[8];                                                                                 \
		__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushq %[flags]\n\tpopfq\n\t" text                         \
		                 "\n\tpushfq\n\tpopq %[flags]\n\tleaq 128(%%rsp), %%rsp"                               \
		                 : [r] "+r"(reg), [flags] "+r"(flags), "+a"(rax), "+d"(rdx)                            \
		                 : [at] "S"(&cell[8]), [index] "D"(2ul), [base] "r"(cell + 4)                          \
		                 : "memory", "cc");                                                                    \
		mix(reg ^ rax ^ rdx << 1, flags, mask);                                                                \
	} while (0)

#define SIZES(name, mask)                                                                                              \
	FORM("lock " name "b %[r], (%[at])", uint8_t, mask);                                                           \
	FORM("lock " name "w %[r], 32(%[base])", uint16_t, mask);                                                      \
	FORM("lock " name "l %[r], 16(%[base],%[index],8)", uint32_t, mask);                                           \
	FORM("lock " name "q %[r], cell+64(%%rip)", uint64_t, mask)
#define NUMBERS(name, mask)                                                                                            \
	FORM("lock " name "b $0x91, (%[at])", uint8_t, mask);                                                          \
	FORM("lock " name "w $0x1234, (%[at])", uint16_t, mask);                                                       \
	FORM("lock " name "l $0x12345678, cell+64(%%rip)", uint32_t, mask);                                            \
	FORM("lock " name "q $-5, 256(%[at],%[index],4)\n\tlock " name "q $-70000, (%[at])", uint64_t, mask);          \
	SIZES(name, mask)
#define UNARY(name, mask)                                                                                              \
	FORM("lock " name "b (%[at])", uint8_t, mask);                                                                 \
	FORM("lock " name "w (%[at])", uint16_t, mask);                                                                \
	FORM("lock " name "l (%[at])", uint32_t, mask);                                                                \
	FORM("lock " name "q (%[at])", uint64_t, mask)
#define BITS(name)                                                                                                     \
	FORM("andl $127, %[r]\n\tsubl $64, %[r]\n\tlock " name "l %[r], (%[at])", uint32_t, CARRY);                    \
	FORM("andq $127, %[r]\n\tsubq $64, %[r]\n\tlock " name "q %[r], (%[at])", uint64_t, CARRY);                    \
	FORM("lock " name "w $9, (%[at])", uint16_t, CARRY);                                                           \
	FORM("lock " name "q $33, cell+64(%%rip)", uint64_t, CARRY)

uint64_t forms(uint64_t seed)
{
	state = seed;
	NUMBERS("add", ALL);
	NUMBERS("or", LOGIC);
	NUMBERS("adc", ALL);
	NUMBERS("sbb", ALL);
	NUMBERS("and", LOGIC);
	NUMBERS("sub", ALL);
	NUMBERS("xor", LOGIC);
	UNARY("inc", ALL);
	UNARY("dec", ALL);
	UNARY("neg", ALL);
	UNARY("not", ALL);
	SIZES("xadd", ALL);
	SIZES("cmpxchg", ALL);
	SIZES("xchg", ALL);
	FORM("xchgb %[r], (%[at])", uint8_t, ALL);
	FORM("xchgw %[r], (%[at])", uint16_t, ALL);
	FORM("xchgl %[r], (%[at])", uint32_t, ALL);
	FORM("xchgq %[r], cell+64(%%rip)", uint64_t, ALL);
	FORM("lock xaddb %%ah, (%[at])\n\txchgb %%dh, (%[at])", uint8_t, ALL);
	FORM("mfence\n\tpause\n\tlock orl $0, (%%rsp)", uint8_t, NONE);
	BITS("bts");
	BITS("btr");
	BITS("btc");
	FORM("pushq %%rbx\n\tpushq %%rcx\n\tmovq $5, %%rbx\n\tmovq $6, %%rcx\n\tlock cmpxchg8b cell+64(%%rip)\n\t"
	     "popq %%rcx\n\tpopq %%rbx",
	     uint64_t, NONE);
	FORM("pushq %%rbx\n\tpushq %%rcx\n\tmovq $5, %%rbx\n\tmovq $6, %%rcx\n\tmovq cell+72(%%rip), %%rdx\n\t"
	     "lock cmpxchg16b cell+64(%%rip)\n\tsetz %%bl\n\tmovzbl %%bl, %%edx\n\tpopq %%rcx\n\tpopq %%rbx",
	     uint64_t, NONE);
	return state;
}

/* Its exchange is as near to the section's end as can be. */
__attribute__((section(".text.release"), noinline)) static void release(int *lock)
{
	__asm__ volatile("xorl %%eax, %%eax\n\txchgl %%eax, (%0)" : : "D"(lock) : "eax", "memory");
}

void count(int *lock, long *plain, char *bytes, long *words)
{
	while (__sync_lock_test_and_set(lock, 1))
		__builtin_ia32_pause();
	++*plain;
	release(lock); /* a plain store would have no order */
	__sync_fetch_and_add(&words[0], 3);
	__sync_add_and_fetch(&bytes[1], 1);
	__sync_fetch_and_xor(&bytes[2], 0x55);
	for (long seen = words[1];
	     !__atomic_compare_exchange_n(&words[1], &seen, seen + 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);)
		;
	__atomic_fetch_add(&words[2], -1, __ATOMIC_RELAXED);
}

/* A lock as GLib's: 0 free, 1 held, 2 somebody sleeps. */
void count_asleep(int *lock, long *plain)
{
	if (__sync_val_compare_and_swap(lock, 0, 1) != 0)
		while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE) != 0)
			syscall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, 2, NULL);
	++*plain;
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1, NULL);
}

void flag_set(int *data, int *flag)
{
	*data = 77;
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

int flag_wait(const int *data, const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	return *data;
}
#endif
