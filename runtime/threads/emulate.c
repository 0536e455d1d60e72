/* SPDX-License-Identifier: BSD-3-Clause */
/* emulate.c - atomic instructions of files that other compilers have made (emulate.h), performed by the functions that
 * the program's own atomic operations call (atomic.c).
 *
 * A read-modify-write is a loop of compare-and-swap: the processor's instruction, without its prefix, computes the new
 * value and the flags from a copy of the old one.  The signal and the return cost microseconds, so a job of one node
 * gets its instructions back, each when it is first executed. */
#include "runtime/threads/emulate.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/signals.h"
#include "core/fault/trap.h"
#include "core/process/fork.h"
#include "runtime/process/events/frame.h"
#include "runtime/threads/support.h"

#if defined(__x86_64__)
/* ---- the atomic operations of atomic.c, by size ---- */

#define WORD_NAME(name, bytes) __asm__("__atomic_" #name "_" #bytes)
#define WORD_SIZE(type, bytes)                                                                                         \
	type word_load_##bytes(const volatile void *p, int order) WORD_NAME(load, bytes);                              \
	type word_exchange_##bytes(volatile void *p, type v, int order) WORD_NAME(exchange, bytes);                    \
	bool word_swap_##bytes(volatile void *p, void *seen, type v, int success, int failure)                         \
	    WORD_NAME(compare_exchange, bytes);

__extension__ typedef unsigned __int128 wide;
WORD_SIZE(uint8_t, 1)
WORD_SIZE(uint16_t, 2)
WORD_SIZE(uint32_t, 4)
WORD_SIZE(uint64_t, 8)
WORD_SIZE(wide, 16)

static uint64_t word_load(const void *p, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return word_load_1(p, __ATOMIC_RELAXED);
	case 2:
		return word_load_2(p, __ATOMIC_RELAXED);
	case 4:
		return word_load_4(p, __ATOMIC_RELAXED);
	default:
		return word_load_8(p, __ATOMIC_RELAXED);
	}
}

static uint64_t word_exchange(void *p, uint64_t v, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return word_exchange_1(p, (uint8_t)v, __ATOMIC_SEQ_CST);
	case 2:
		return word_exchange_2(p, (uint16_t)v, __ATOMIC_SEQ_CST);
	case 4:
		return word_exchange_4(p, (uint32_t)v, __ATOMIC_SEQ_CST);
	default:
		return word_exchange_8(p, v, __ATOMIC_SEQ_CST);
	}
}

/* @seen: little-endian, with zeroes above @bytes. */
static bool word_swap(void *p, uint64_t *seen, uint64_t v, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return word_swap_1(p, seen, (uint8_t)v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	case 2:
		return word_swap_2(p, seen, (uint16_t)v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	case 4:
		return word_swap_4(p, seen, (uint32_t)v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	default:
		return word_swap_8(p, seen, v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
}

/* ---- registers and flags ---- */

#define FLAG_CARRY     0x001u
#define FLAG_ZERO      0x040u
#define FLAG_OVERFLOW  0x800u
#define FLAGS_OF_LAHF  0x0d5u
#define FLAGS_COMPUTED (FLAGS_OF_LAHF | FLAG_OVERFLOW)

/* By their numbers in instructions. */
static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct instruction {
	enum {
		ADD,
		OR,
		ADC,
		SBB,
		AND,
		SUB,
		XOR,
		COMPARE,
		INC,
		DEC,
		NEG,
		NOT,
		SET_BIT,
		RESET_BIT,
		FLIP_BIT,
		EXCHANGE,
		EXCHANGE_ADD,
		COMPARE_EXCHANGE,
		COMPARE_EXCHANGE_PAIR,
		FENCE,
		PAUSE
	} kind;
	unsigned bytes; /* of the operand in memory, or of each of a pair */
	char *memory;
	unsigned number; /* of the register operand */
	bool immediate;  /* the operand is @value */
	bool old_bytes;  /* without REX, byte registers 4 to 7 are ah, ch, dh, bh */
	uint64_t value;
	const uint8_t *end;
};

static uint64_t low_bytes(uint64_t v, unsigned bytes)
{
	return bytes == 8 ? v : v & ((UINT64_C(1) << 8 * bytes) - 1);
}

static bool register_high(const struct instruction *in)
{
	return in->bytes == 1 && in->old_bytes && in->number >= 4 && in->number < 8;
}

static uint64_t register_get(const struct instruction *in, const greg_t *reg)
{
	if (register_high(in))
		return (uint64_t)reg[registers[in->number - 4]] >> 8 & 0xff;
	return low_bytes((uint64_t)reg[registers[in->number]], in->bytes);
}

/* As the processor does: a write of 4 bytes clears the upper half, smaller ones keep the rest. */
static void register_set(greg_t *reg, unsigned number, unsigned bytes, uint64_t v)
{
	uint64_t old = (uint64_t)reg[registers[number]];

	reg[registers[number]] = (greg_t)(bytes >= 4 ? v : (old & ~low_bytes(UINT64_MAX, bytes)) | v);
}

static void operand_set(const struct instruction *in, greg_t *reg, uint64_t v)
{
	if (register_high(in)) {
		greg_t *r = &reg[registers[in->number - 4]];
		*r = (greg_t)(((uint64_t)*r & ~UINT64_C(0xff00)) | v << 8);
	} else {
		register_set(reg, in->number, in->bytes, v);
	}
}

/* ---- what instructions compute: the new value; flags change as the processor changes them ---- */

#define COMPUTE_AT(text, type)                                                                                         \
	do {                                                                                                           \
		type r = (type)old;                                                                                    \
		__asm__("btq $0, %[f]\n\t" text "\n\tlahf\n\tseto %%al"                                                \
		        : [r] "+r"(r), "=&a"(after)                                                                    \
		        : [v] "r"((type)v), [f] "r"(*flags)                                                            \
		        : "cc");                                                                                       \
		old = r;                                                                                               \
	} while (0)
#define COMPUTE(name, operands)                                                                                        \
	static uint64_t compute_##name(uint64_t old, uint64_t v, unsigned bytes, uint64_t *flags)                      \
	{                                                                                                              \
		uint32_t after;                                                                                        \
		switch (bytes) {                                                                                       \
		case 1:                                                                                                \
			COMPUTE_AT(#name "b " operands, uint8_t);                                                      \
			break;                                                                                         \
		case 2:                                                                                                \
			COMPUTE_AT(#name "w " operands, uint16_t);                                                     \
			break;                                                                                         \
		case 4:                                                                                                \
			COMPUTE_AT(#name "l " operands, uint32_t);                                                     \
			break;                                                                                         \
		default:                                                                                               \
			COMPUTE_AT(#name "q " operands, uint64_t);                                                     \
			break;                                                                                         \
		}                                                                                                      \
		*flags = (*flags & ~(uint64_t)FLAGS_COMPUTED) | (after >> 8 & FLAGS_OF_LAHF) |                         \
		         (after & 1 ? FLAG_OVERFLOW : 0);                                                              \
		return old;                                                                                            \
	}

COMPUTE(add, "%[v], %[r]")
COMPUTE(or, "%[v], %[r]")
COMPUTE(adc, "%[v], %[r]")
COMPUTE(sbb, "%[v], %[r]")
COMPUTE(and, "%[v], %[r]")
COMPUTE(sub, "%[v], %[r]")
COMPUTE(xor, "%[v], %[r]")
COMPUTE(inc, "%[r]")
COMPUTE(dec, "%[r]")
COMPUTE(neg, "%[r]")

static uint64_t compute_bit(int kind, uint64_t old, uint64_t bit, uint64_t *flags)
{
	uint64_t mask = UINT64_C(1) << bit;

	*flags = (*flags & ~(uint64_t)FLAG_CARRY) | (old & mask ? FLAG_CARRY : 0);
	return kind == SET_BIT ? old | mask : kind == RESET_BIT ? old & ~mask : old ^ mask;
}

static uint64_t compute(const struct instruction *in, uint64_t old, uint64_t v, uint64_t *flags)
{
	static uint64_t (*const functions[])(uint64_t, uint64_t, unsigned, uint64_t *) = {
	    [ADD] = compute_add, [OR] = compute_or,   [ADC] = compute_adc,         [SBB] = compute_sbb,
	    [AND] = compute_and, [SUB] = compute_sub, [XOR] = compute_xor,         [INC] = compute_inc,
	    [DEC] = compute_dec, [NEG] = compute_neg, [EXCHANGE_ADD] = compute_add};

	if (in->kind == NOT)
		return low_bytes(~old, in->bytes);
	if (in->kind == SET_BIT || in->kind == RESET_BIT || in->kind == FLIP_BIT)
		return compute_bit(in->kind, old, v, flags);
	return functions[in->kind](old, v, in->bytes, flags);
}

/* ---- performing ---- */

static void perform_pair(const struct instruction *in, greg_t *reg, uint64_t *flags)
{
	uint64_t low = low_bytes((uint64_t)reg[REG_RAX], in->bytes),
	         high = low_bytes((uint64_t)reg[REG_RDX], in->bytes);
	uint64_t new_low = low_bytes((uint64_t)reg[REG_RBX], in->bytes),
	         new_high = low_bytes((uint64_t)reg[REG_RCX], in->bytes);
	unsigned bits = 8 * in->bytes;
	wide seen = (wide)high << bits | low, v = (wide)new_high << bits | new_low;
	bool same = in->bytes == 8 ? word_swap_16(in->memory, &seen, v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
	                           : word_swap_8(in->memory, &seen, (uint64_t)v, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);

	*flags = same ? *flags | FLAG_ZERO : *flags & ~(uint64_t)FLAG_ZERO;
	if (same)
		return;
	register_set(reg, 0, in->bytes, low_bytes((uint64_t)seen, in->bytes));
	register_set(reg, 2, in->bytes, low_bytes((uint64_t)(seen >> bits), in->bytes));
}

static void perform(const struct instruction *in, greg_t *reg)
{
	uint64_t flags = (uint64_t)reg[REG_EFL], v = in->immediate ? in->value : register_get(in, reg);

	if (in->kind == FENCE || (in->kind == OR && in->immediate && !v))
		th_fence(NULL);
	if (in->kind == PAUSE) {
		th_pause();
	} else if (in->kind == EXCHANGE) {
		operand_set(in, reg, word_exchange(in->memory, v, in->bytes));
	} else if (in->kind == COMPARE_EXCHANGE) {
		uint64_t expected = low_bytes((uint64_t)reg[REG_RAX], in->bytes), seen = expected;
		bool same = word_swap(in->memory, &seen, v, in->bytes);
		compute_sub(expected, seen, in->bytes, &flags);
		if (!same)
			register_set(reg, 0, in->bytes, seen);
	} else if (in->kind == COMPARE_EXCHANGE_PAIR) {
		perform_pair(in, reg, &flags);
	} else if (in->kind != FENCE) {
		uint64_t old = word_load(in->memory, in->bytes), before = flags, value;
		do {
			flags = before;
			value = compute(in, old, v, &flags);
		} while (!word_swap(in->memory, &old, value, in->bytes));
		if (in->kind == EXCHANGE_ADD)
			operand_set(in, reg, old);
	}
	reg[REG_EFL] = (greg_t)flags;
	reg[REG_RIP] = (greg_t)(uintptr_t)in->end;
}

/* ---- decoding ---- */

/* Behind a first byte that was replaced; no instruction with a lock prefix begins so. */
#define REST_OF_PAUSE  0x90
#define REST_OF_MFENCE 0xae

static int64_t decode_number(const uint8_t **at, unsigned bytes)
{
	int8_t byte;
	int16_t word;
	int32_t number;
	const uint8_t *from = *at;

	*at += bytes;
	if (bytes == 1)
		return memcpy(&byte, from, 1), byte;
	if (bytes == 2)
		return memcpy(&word, from, 2), word;
	return memcpy(&number, from, 4), number;
}

/* The operand in memory, described at @at; @behind: the bytes of the instruction after it.  NULL: a register. */
static char *decode_memory(const uint8_t **at, unsigned rex, const greg_t *reg, unsigned behind)
{
	unsigned mod = **at >> 6, base = **at & 7;
	bool from_instruction = mod == 0 && base == 5, none = false;
	uint64_t address = 0;

	(*at)++;
	if (mod == 3)
		return NULL;
	if (base == 4) {
		unsigned index = (**at >> 3 & 7) | (rex & 2) << 2, scale = **at >> 6;
		base = **at & 7;
		(*at)++;
		none = mod == 0 && base == 5;
		if (index != 4)
			address = (uint64_t)reg[registers[index]] << scale;
	}
	if (mod == 1)
		address += (uint64_t)decode_number(at, 1);
	else if (mod == 2 || none || from_instruction)
		address += (uint64_t)decode_number(at, 4);
	if (from_instruction)
		address += (uintptr_t)*at + behind;
	else if (!none)
		address += (uint64_t)reg[registers[base | (rex & 1) << 3]];
	return (char *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* The kind of the instruction with the opcode @op, of two bytes if @long_; -1: none that can be locked.  @digit: the
 * middle bits of the byte behind it.  @immediate: the bytes of the number at its end. */
static int decode_kind(unsigned op, bool long_, unsigned digit, unsigned bytes, unsigned *immediate)
{
	static const int bits[] = {-1, -1, -1, -1, -1, SET_BIT, RESET_BIT, FLIP_BIT};

	*immediate = 0;
	if (long_ && op == 0xba) {
		*immediate = 1;
		return bits[digit];
	}
	if (long_)
		return op == 0xab                 ? SET_BIT
		       : op == 0xb3               ? RESET_BIT
		       : op == 0xbb               ? FLIP_BIT
		       : (op & 0xfe) == 0xb0      ? COMPARE_EXCHANGE
		       : (op & 0xfe) == 0xc0      ? EXCHANGE_ADD
		       : op == 0xc7 && digit == 1 ? COMPARE_EXCHANGE_PAIR
		                                  : -1;
	if (op < 0x38 && (op & 7) < 2)
		return (int)(op >> 3);
	if (op == 0x80 || op == 0x81 || op == 0x83) {
		*immediate = op == 0x81 ? TW_MIN(bytes, 4u) : 1;
		return digit == COMPARE ? -1 : (int)digit;
	}
	if ((op & 0xfe) == 0xf6)
		return digit == 2 ? NOT : digit == 3 ? NEG : -1;
	if ((op & 0xfe) == 0xfe)
		return digit == 0 ? INC : digit == 1 ? DEC : -1;
	return (op & 0xfe) == 0x86 ? EXCHANGE : -1;
}

/* Behind a breakpoint (@trapped), or at an invalid instruction.  Returns false if it is none that the linker has
 * replaced. */
static bool decode(const greg_t *reg, bool trapped, struct instruction *in)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)reg[REG_RIP]; /* NOLINT(performance-no-int-to-ptr) */
	unsigned rex = 0, immediate;
	bool small = false, ours = trapped;

	*in = (struct instruction){.old_bytes = true};
	if (trapped && at[-1] != EMULATE_TRAP)
		return false;
	if (trapped && (*at == REST_OF_PAUSE || *at == REST_OF_MFENCE)) {
		in->kind = *at == REST_OF_PAUSE ? PAUSE : FENCE;
		in->end = at + (*at == REST_OF_PAUSE ? 1 : 2);
		return true;
	}
	if (*at == 0x66) {
		small = true;
		at++;
	}
	if ((*at & 0xf0) == 0x40) {
		rex = *at++;
		in->old_bytes = false;
	}
	unsigned op = *at++;
	if (op == EMULATE_XCHG8 || op == EMULATE_XCHG) {
		ours = true;
		op = op == EMULATE_XCHG8 ? 0x86 : 0x87;
	}
	bool two = op == 0x0f;
	if (two)
		op = *at++;
	in->bytes = !(op & 1) && !(two && op == 0xba) ? 1 : rex & 8 ? 8 : small ? 2 : 4;
	int kind = ours ? decode_kind(op, two, *at >> 3 & 7, in->bytes, &immediate) : -1;
	if (kind < 0)
		return false;
	in->kind = (unsigned)kind;
	in->number = (*at >> 3 & 7) | (rex & 4) << 1;
	in->memory = decode_memory(&at, rex, reg, immediate);
	in->immediate = immediate > 0;
	if (immediate)
		in->value = low_bytes((uint64_t)decode_number(&at, immediate), in->bytes);
	in->end = at;
	if (in->kind == SET_BIT || in->kind == RESET_BIT || in->kind == FLIP_BIT) {
		int64_t bits = 8 * in->bytes, bit = (int64_t)in->value;
		if (!in->immediate) { /* a register's number reaches as far as it says, to both sides */
			uint64_t far = register_get(in, reg);
			bit = in->bytes == 8 ? (int64_t)far : in->bytes == 4 ? (int32_t)far : (int16_t)far;
			in->memory += (bit - (bit & (bits - 1))) / 8;
			in->immediate = true;
		}
		in->value = (uint64_t)(bit & (bits - 1));
	}
	return in->memory != NULL;
}

/* ---- the signals ---- */

#define HANDLER_NEAR ((uintptr_t)64 << 10) /* a handler's frame on the stack that it has interrupted */

/* On the program's stack. */
static void emulate_run(int signal, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	struct instruction in;
	int saved = errno;

	(void)si;
	pthread_sigmask(SIG_SETMASK, &uc->uc_sigmask, NULL);
	if (decode(uc->uc_mcontext.gregs, signal == SIGTRAP, &in))
		perform(&in, uc->uc_mcontext.gregs);
	errno = saved;
}

/* Make the instruction what it was, and continue with it. */
static bool emulate_restore(greg_t *reg, bool trapped)
{
	uint8_t *at = (uint8_t *)(uintptr_t)reg[REG_RIP] - trapped; /* NOLINT(performance-no-int-to-ptr) */
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	while (*at != EMULATE_TRAP && *at != EMULATE_XCHG8 && *at != EMULATE_XCHG)
		at++;                                        /* over prefixes */
	void *start = (void *)((uintptr_t)at & ~(page - 1)); /* NOLINT(performance-no-int-to-ptr) */
	if (mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	__atomic_store_n(at,
	                 *at == EMULATE_XCHG8      ? 0x86
	                 : *at == EMULATE_XCHG     ? 0x87
	                 : at[1] == REST_OF_PAUSE  ? 0xf3
	                 : at[1] == REST_OF_MFENCE ? 0x0f
	                                           : 0xf0,
	                 __ATOMIC_SEQ_CST);
	mprotect(start, page, PROT_READ | PROT_EXEC);
	reg[REG_RIP] -= trapped;
	return true;
}

static bool emulate(const siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	greg_t *reg = uc->uc_mcontext.gregs;
	bool trapped = si->si_signo == SIGTRAP;
	struct instruction in;

	if (si->si_code <= 0 || !decode(reg, trapped, &in))
		return false;
	bool alone = tw_me ? tw_me->nodes == 1 : tw_forked();
	if (alone && emulate_restore(reg, trapped))
		return true;
	/* A backend whose faults are no signals has no stack for them. */
	bool here = (uintptr_t)reg[REG_RSP] - (uintptr_t)&in < HANDLER_NEAR;
	if (!tw_me || here) /* before the job is joined, memory is the process' own */
		perform(&in, reg);
	else
		th_frame_call(uc, si, emulate_run);
	return true;
}

static void emulate_handler(int signal, siginfo_t *si, void *uc)
{
	int saved = errno;

	if (!emulate(si, uc))
		tw_signal_chain(signal, si, uc);
	errno = saved;
}

void th_emulate_open(void)
{
	tw_trap_breakpoints(emulate);
	tw_signal_take(SIGILL, emulate_handler);
}
#else
void th_emulate_open(void) {}
#endif
