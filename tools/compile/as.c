/* SPDX-License-Identifier: BSD-3-Clause */
/* as.c - the assembler that gcc finds for `tweed omp cc` and `tweed cc --pthreads`: GNU's, behind a filter for what
 * -fno-inline-atomics leaves inline.
 *
 * A full fence (all that `omp flush` compiles to) is replaced by a call of tw_threads_fence.  %rdi holds the address
 * that the next instruction reads, or 0; in a wait loop it is the flag's.
 *
 * Other fences have no instruction, but a pattern, which gcc writes into comments (-dP): there tw_threads_order is
 * called.
 *
 * An instruction with a lock prefix, or an exchange with memory, is enclosed in calls of tw_threads_atomic_begin, which
 * replaces its operand's address in %rdi, and tw_threads_atomic_end.  For one that only loads the first is
 * tw_threads_atomic_begin_load: a loop that waits should not release each time.
 *
 * A move, compare or test of a number in memory in the source's own assembler, which gcc marks, is enclosed, too:
 * libraries of atomic operations implement loads and stores that way.  Otherwise a loop would read its own node's copy
 * for ever, and a pointer could become visible before the data it points to.  Statements that compute are left alone
 * (as_is_computing).
 *
 * An access to a volatile variable is enclosed in the same way, because programs older than C11 let threads wait for
 * such variables to change. The instruction's pattern has a flag for that. A variable of the function's own frame whose
 * address the function does not take is only its own.
 *
 * Atomic operations whose results are not used are calls of other functions (sums.c).
 *
 * Before a pause, tw_threads_pause is called: a loop with one waits for another thread, perhaps by a plain variable.
 * Loads on which such a loop depends, or one that yields or sleeps, are atomic (waits.c): what was stored before the
 * variable is seen, whether the loop had to wait or not.
 *
 * Zero-initialized variables (.comm) of at least a page get pages of their own; those of at least 16 KiB get pages of
 * that size, which large OpenMP programs use (runtime/openmp/defaults.S).  So a flag that threads wait for does not
 * share a page with arrays that they fill.
 *
 * The calls preserve all registers and flags (runtime/threads/atomic.S) and skip the red zone.  Thread-local operands
 * are not changed.
 *
 *   as OPTIONS... [FILE]    same as GNU's, which is the first `as` in PATH */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "tools/compile/compile.h"
#include "tools/compile/sums.h"
#include "tools/compile/waits.h"

#define AS_STATES     16
#define AS_WORD       " \t"
#define AS_PAGE       4096ul
#define AS_PAGE_LARGE (4 * AS_PAGE)

static FILE *out;
static struct {
	bool by_stack; /* the current function is unwound by its stack pointer */
	bool remembered[AS_STATES];
	unsigned n;
} cfa;
static bool locked;           /* the preceding statement was a lock prefix */
static bool source;           /* in the source's own assembler */
static bool computing;        /* the source's own statement computes (as_is_computing) */
static bool intel;            /* in Intel's syntax */
static const char *following; /* the text after the current line */
static bool in_pattern;       /* the preceding line is a comment with a pattern */
static bool is_volatile;      /* the current instruction accesses a volatile variable */
static bool fenced;   /* no access lies behind a full fence: gcc adds a pattern of the other kind, perhaps later */
static bool in_frame; /* its pattern uses the frame pointer */
static unsigned long pattern_number, frame_number; /* of the current instruction, and of the last one of a frame */
static bool is_wait;                               /* a waiting loop depends on what it loads */
static const char *function; /* the current one's text; lines up to the current one end with a zero */

static void __attribute__((noreturn)) as_fail(const char *what)
{
	fprintf(stderr, "tweed: the assembler of 'tweed cc': ");
	perror(what);
	exit(1);
}

/* ---- one statement ----------------------------------------------------------------------------------------------- */

static bool as_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	return strncmp(text, word, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_' && text[n] != '.';
}

/* Copy the memory operand to @operand.  Returns where it is; NULL: there is none, it is thread-local, or its address is
 * a number, at which a program only stores to end itself. */
static const char *as_memory(const char *operands, char *operand, size_t room)
{
	for (const char *at = operands; *at;) {
		int depth = 0;
		at += strspn(at, AS_WORD);
		const char *end = at;
		for (; *end && (depth || *end != ','); end++)
			depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
		size_t n = (size_t)(end - at);
		while (n && strchr(AS_WORD, at[n - 1]))
			n--;
		if (n && *at != '%' && *at != '$' && strspn(at, "-0123456789") < n && n < room) {
			memcpy(operand, at, n);
			operand[n] = '\0';
			return at;
		}
		at = *end ? end + 1 : end;
	}
	return NULL;
}

/* An instruction that lowers the stack pointer by @bytes.  Functions without a frame pointer are unwound by it. */
static void as_push(const char *text, int bytes)
{
	fprintf(out, "\t%s\n", text);
	if (cfa.by_stack)
		fprintf(out, "\t.cfi_adjust_cfa_offset %d\n", bytes);
}

/* Follow by what register the function is unwound: 7 is the stack pointer. */
static void as_unwinding(const char *directive)
{
	int by;

	if (strcmp(directive, ".cfi_endproc") == 0 || strncmp(directive, ".cfi_escape", 11) == 0)
		cfa.by_stack = false;
	else if (strncmp(directive, ".cfi_startproc", 14) == 0)
		cfa.by_stack = true;
	else if (strcmp(directive, ".cfi_remember_state") == 0 && cfa.n < AS_STATES)
		cfa.remembered[cfa.n++] = cfa.by_stack;
	else if (strcmp(directive, ".cfi_restore_state") == 0 && cfa.n)
		cfa.by_stack = cfa.remembered[--cfa.n];
	else if (sscanf(directive, ".cfi_def_cfa_register %d", &by) == 1 ||
	         sscanf(directive, ".cfi_def_cfa %d", &by) == 1)
		cfa.by_stack = by == 7;
}

/* Load the address of the operand @memory.  The stack pointer is @below bytes lower than at the instruction. */
static void as_address(const char *memory, int below, const char *to)
{
	if (strstr(memory, "(%rsp"))
		fprintf(out, "\tleaq\t%d%s%s, %s\n", below, *memory == '(' ? "" : "+", memory, to);
	else
		fprintf(out, "\tleaq\t%s, %s\n", memory, to);
}

/* Call @function with the address of the operand @memory; empty: with 0. */
static void as_call(const char *function, const char *memory)
{
	as_push("leaq\t-128(%rsp), %rsp", 128);
	as_push("pushq\t%rdi", 8);
	if (*memory)
		as_address(memory, 136, "%rdi");
	else
		fputs("\tmovq\t$0, %rdi\n", out);
	fprintf(out, "\tcall\t%s\n", function);
	as_push("popq\t%rdi", -8);
	as_push("leaq\t128(%rsp), %rsp", -128);
}

/* Does the next instruction load or compare?  Labels, directives and comments are skipped. */
static bool as_polls(char *memory, size_t room)
{
	char line[1024];

	for (const char *at = following; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *text = at + strspn(at, AS_WORD);
		size_t n = strcspn(text, "\n#;");
		if (!n || *text == '.' || text[n - 1] == ':')
			continue;
		if ((strncmp(text, "mov", 3) != 0 && strncmp(text, "cmp", 3) != 0 && strncmp(text, "test", 4) != 0) ||
		    n >= sizeof(line))
			return false;
		memcpy(line, text, n);
		line[n] = '\0';
		return as_memory(line + strcspn(line, AS_WORD), memory, room);
	}
	return false;
}

static void as_fence(void)
{
	char memory[512];

	fenced = true;
	as_call("tw_threads_fence", as_polls(memory, sizeof(memory)) ? memory : "");
}

/* A register that the instruction does not use otherwise: besides memory it names two at most. */
static const char *as_unused(const char *text)
{
	static const char *const registers[] = {"%r8", "%r9", "%r10", "%r11"};
	unsigned i = 0;

	if (strstr(text, "%ah") || strstr(text, "%bh") || strstr(text, "%ch") || strstr(text, "%dh"))
		return "%rsi"; /* none of the others can be named beside these */
	while (i < 3 && strstr(text, registers[i]))
		i++;
	return registers[i];
}

/* An instruction that sets, resets or complements the bit whose number is in a register reaches as far from its operand
 * as the number says.  Returns log2 of the operand's bits, with the register in @number; 0: @text is another one. */
static int as_far_bit(const char *text, char *number, size_t room)
{
	const char *operands = text + strcspn(text, AS_WORD);
	size_t n;

	operands += strspn(operands, AS_WORD);
	n = strcspn(operands, ", \t");
	if (strncmp(text, "bt", 2) != 0 || !strchr("src", text[2]) || *operands != '%' || n >= room)
		return 0;
	memcpy(number, operands, n);
	number[n] = '\0';
	if (number[1] == 'e' || number[n - 1] == 'd')
		return 5;
	return number[1] == 'r' && number[n - 1] != 'w' ? 6 : 4;
}

/* A register that @text does not use, other than @but. */
static const char *as_other_unused(const char *text, const char *but)
{
	static const char *const registers[] = {"%r8", "%r9", "%r10", "%r11", "%r12", "%r13"};
	unsigned i = 0;

	while (i < 5 && (strstr(text, registers[i]) || strcmp(registers[i], but) == 0))
		i++;
	return registers[i];
}

/* Does @text, an instruction without a prefix, leave its operand @memory, which is at @operand, as it is? */
static bool as_only_loads(const char *text, const char *operand, const char *memory)
{
	static const char *const exchanges[] = {"xchg", "xadd", "cmpxchg", NULL};
	const char *first = text + strcspn(text, AS_WORD);

	first += strspn(first, AS_WORD);
	for (size_t i = 0; exchanges[i]; i++)
		if (strncmp(text, exchanges[i], strlen(exchanges[i])) == 0)
			return false;
	return strncmp(text, "cmp", 3) == 0 || strncmp(text, "test", 4) == 0 ||
	       (operand == first && strchr(operand + strlen(memory), ','));
}

/* @text: the instruction without its prefix, with @memory at @operand.  It is executed where tw_threads_atomic_begin
 * says, and again when tw_threads_atomic_end returns behind the first call: so the stack is the same at both calls. */
static void as_bracket(const char *prefix, const char *text, const char *operand, const char *memory)
{
	const char *address = as_unused(text), *distance = as_other_unused(text, address);
	char push[16], pop[16], number[16];
	int bits = as_far_bit(text, number, sizeof(number));

	as_push("leaq\t-128(%rsp), %rsp", 128);
	snprintf(push, sizeof(push), "pushq\t%s", address);
	as_push(push, 8);
	snprintf(push, sizeof(push), "pushq\t%s", distance);
	if (bits)
		as_push(push, 8);
	as_address(memory, bits ? 144 : 136, address);
	if (bits) /* from the operand to the bit */
		fprintf(out, "\t%s\t%s, %s\n\tsarq\t$%d, %s\n\tshlq\t$%d, %s\n\taddq\t%s, %s\n",
		        bits == 4   ? "movswq"
		        : bits == 5 ? "movslq"
		                    : "movq",
		        number, distance, bits, distance, bits - 3, distance, distance, address);
	fprintf(out, "\txchgq\t%%rdi, %s\n\tcall\ttw_threads_atomic_begin%s\n\txchgq\t%%rdi, %s\n", address,
	        strncmp(text, "cmpxchg16b", 10) == 0               ? "_wide"
	        : !*prefix && as_only_loads(text, operand, memory) ? "_load"
	                                                           : "",
	        address);
	if (bits)
		fprintf(out, "\tsubq\t%s, %s\n", distance, address);
	fprintf(out, "\t%s%.*s(%s)%s\n", prefix, (int)(operand - text), text, address, operand + strlen(memory));
	fputs("\tcall\ttw_threads_atomic_end\n", out);
	snprintf(pop, sizeof(pop), "popq\t%s", distance);
	if (bits)
		as_push(pop, -8);
	snprintf(pop, sizeof(pop), "popq\t%s", address);
	as_push(pop, -8);
	as_push("leaq\t128(%rsp), %rsp", -128);
}

static bool as_is_fence(const char *text, const char *memory)
{
	const char *operands = text + strcspn(text, AS_WORD);

	operands += strspn(operands, AS_WORD);
	return strncmp(text, "or", 2) == 0 && strncmp(operands, "$0,", 3) == 0 && strstr(memory, "(%rsp)");
}

/* The source's own assembler may be in capitals. */
static void as_lower(char *word)
{
	for (; isalnum((unsigned char)*word); word++)
		*word = (char)tolower((unsigned char)*word);
}

/* Is @text a move, compare or test of a number, not of vectors or strings? */
static bool as_is_access(const char *text)
{
	static const char *const numbers[] = {"mov", "cmp", "test", "movzb", "movzw", "movsb", "movsw", "movsl", NULL};
	size_t n = strcspn(text, AS_WORD), stem = n && strchr("bwlq", text[n - 1]) ? n - 1 : n;

	for (size_t i = 0; numbers[i]; i++)
		if (stem == strlen(numbers[i]) && memcmp(text, numbers[i], stem) == 0)
			return true;
	return false;
}

/* Does the source's statement that begins at @at compute, as a decoder's inner loop does?  Then it has more than two
 * accesses, and nothing with which threads order theirs or wait. */
static bool as_is_computing(const char *at)
{
	static const char *const orders[] = {"lock", "xchg", "fence", "pause", "nop", "0xf0", NULL};
	char line[512];
	unsigned accesses = 0;
	size_t n;

	for (; *at && *at != '#'; at += n + (at[n] != '\0')) {
		n = strcspn(at, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, at);
		for (size_t i = 0; orders[i]; i++)
			if (strcasestr(line, orders[i]))
				return false;
		for (char *next = line, *text; (text = strsep(&next, ";"));) {
			text += strspn(text, AS_WORD);
			as_lower(text);
			accesses += as_is_access(text) && strchr(text, '(');
		}
	}
	return accesses > 2;
}

/* Is the stack pointer itself an operand? */
static bool as_moves_stack(const char *text)
{
	for (const char *at = text; (at = strstr(at, "%rsp")); at++)
		if (at == text || at[-1] != '(')
			return true;
	return false;
}

/* ---- volatile variables ------------------------------------------------------------------------------------------ */

/* Does a line of a pattern have a volatile memory operand, not of a block?  "(mem", flags, ":", mode. */
static bool as_pattern_volatile(const char *line)
{
	for (; (line = strstr(line, "(mem/")); line++) {
		size_t n = strcspn(line, ": ");
		if (memmem(line, n, "/v", 2) && line[n] == ':' && strncmp(line + n, ":BLK", 4) != 0)
			return true;
	}
	return false;
}

/* The number of the instruction that a pattern's first line describes. */
static unsigned long as_pattern_number(const char *line)
{
	return strtoul(line + strcspn(line, " "), NULL, 10);
}

/* Does a pattern, of whose first line the text behind is @rest, describe an instruction that makes or ends a function's
 * frame?  Those that align the stack, or end an aligned frame, have no mark of their own. */
static bool as_pattern_frame(const char *line, const char *rest)
{
	static const char *const unmarked[] = {"{pro_epilogue_adjust_stack", "(and:DI (reg/f:DI 7 sp)"};

	if (strncmp(line, "#(insn/f", 8) == 0)
		return true;
	if (strncmp(line, "#(insn", 6) != 0)
		return false;
	for (size_t n; *rest == '#' && rest[1] != '('; rest += n + (rest[n] != '\0')) {
		n = strcspn(rest, "\n");
		for (size_t i = 0; i < sizeof(unmarked) / sizeof(*unmarked); i++)
			if (memmem(rest, n, unmarked[i], strlen(unmarked[i])))
				return true;
	}
	return false;
}

static bool as_next_to(unsigned long number)
{
	return number && (number == pattern_number + 1 || number == pattern_number - 1);
}

/* gcc also separates the code of a function with a frame pointer, which uses memory below the stack's end, from its
 * frame by such barriers: one behind what makes the frame, one before each of what ends it.  These instructions have
 * numbers that follow each other; those of the program's own were numbered long before. */
static bool as_barrier_of_frame(void)
{
	size_t n;

	if (as_next_to(frame_number))
		return true;
	for (const char *at = following; *at && strncmp(at, "\t.cfi_endproc", 13) != 0; at += n + (at[n] != '\0')) {
		n = strcspn(at, "\n");
		if (as_next_to(as_pattern_number(at)) && as_pattern_frame(at, at + n + (at[n] != '\0')))
			return true;
	}
	return false;
}

/* Does @line belong to a pattern? */
static bool as_pattern(const char *line)
{
	if (!source && strncmp(line, "#(", 2) == 0) {
		in_pattern = true;
		is_volatile = in_frame = false;
		pattern_number = as_pattern_number(line);
		if (as_pattern_frame(line, following))
			frame_number = pattern_number;
	} else if (*line != '#' || strncmp(line, "#APP", 4) == 0) {
		in_pattern = false;
	}
	if (!in_pattern)
		return false;
	if (strstr(line, "{*memory_blockage}") && !fenced && !as_barrier_of_frame())
		as_call("tw_threads_order", "");
	is_volatile |= as_pattern_volatile(line);
	in_frame |= strstr(line, "(reg/f:DI 6 bp)") != NULL;
	return true;
}

/* Does the current function take the address @operand?  Its lines end with a zero up to the current one, then with a
 * newline. */
static bool as_taken(const char *operand)
{
	size_t bytes = strlen(operand), n;

	for (const char *at = function; at && strncmp(at, "\t.cfi_endproc", 13) != 0; at += n + 1) {
		n = strcspn(at, "\n");
		const char *lea = memmem(at, n, "leaq", 4);
		const char *found = lea ? memmem(lea, (size_t)(at + n - lea), operand, bytes) : NULL;
		if (found && strchr(AS_WORD, found[-1]) && found[bytes] == ',')
			return true;
		if (at >= following && !at[n])
			return false;
	}
	return false;
}

/* Is @text an access to a volatile variable that other threads may use? */
static bool as_is_volatile(const char *text)
{
	static const char *const others[] = {"lea", "call", "jmp", "push", "pop", "ret", "leave", "rep", NULL};
	char memory[512];

	if (!is_volatile || source || as_moves_stack(text) ||
	    !as_memory(text + strcspn(text, AS_WORD), memory, sizeof(memory)))
		return false;
	for (size_t i = 0; others[i]; i++)
		if (strncmp(text, others[i], strlen(others[i])) == 0)
			return false;
	bool own = strstr(memory, "(%rsp)") || (in_frame && strstr(memory, "(%rbp)"));
	return !own || as_taken(memory);
}

/* Does the instruction load or store a vector of more than 8 bytes?  The hardware promises no atomic access of it. */
static bool as_is_vector(const char *text)
{
	static const char *const moves[] = {"movap", "movup", "movdq", "movnt", "lddqu", NULL};
	const char *word = text + (*text == 'v');

	for (size_t i = 0; moves[i]; i++)
		if (strncmp(word, moves[i], strlen(moves[i])) == 0)
			return strstr(text, "%xmm") || strstr(text, "%ymm") || strstr(text, "%zmm");
	return strstr(text, "%ymm") || strstr(text, "%zmm");
}

/* ---- a statement, and those of a line ---------------------------------------------------------------------------- */

/* Returns whether the statement was handled. */
static bool as_instruction(char *text)
{
	char memory[512];
	bool lock = locked;
	unsigned byte;
	int end = 0;

	if (source) {
		as_lower(text);
		if (as_word(text, "lock"))
			as_lower(text + 4 + strspn(text + 4, AS_WORD));
	}
	if (source && sscanf(text, ".byte %x%n", &byte, &end) == 1 && !text[end]) {
		locked = byte == 0xf0; /* the prefix as a number */
		return locked;
	}
	if (as_word(text, "lock")) {
		lock = true;
		text += 4 + strspn(text + 4, AS_WORD);
		if (!*text) {
			locked = true;
			return true;
		}
	}
	locked = false;
	if (as_word(text, "mfence")) {
		as_fence();
		return true;
	}
	if (as_word(text, "pause") || strcmp(text, "rep nop") == 0 || strcmp(text, "rep") == 0)
		as_call("tw_threads_pause", "");
	bool access = !lock && ((source && !computing && as_is_access(text) && !as_moves_stack(text)) || is_wait ||
	                        as_is_volatile(text));
	if (!lock && !access && strncmp(text, "xchg", 4) != 0)
		return false;
	if (access && as_is_vector(text)) {
		as_call("tw_threads_order", "");
		fprintf(out, "\t%s\n", text);
		as_call("tw_threads_order", "");
		return true;
	}
	const char *prefix = lock ? "lock " : "";
	const char *operand = as_memory(text + strcspn(text, AS_WORD), memory, sizeof(memory));
	if (!operand) {
		if (lock)
			fprintf(out, "\t%s%s\n", prefix, text);
		return lock;
	}
	if (lock && as_is_fence(text, memory))
		as_fence();
	else
		as_bracket(prefix, text, operand, memory);
	return true;
}

/* Write labels unchanged. */
static char *as_labels(char *text)
{
	for (;;) {
		size_t n;
		text += strspn(text, AS_WORD);
		for (n = 0; isalnum((unsigned char)text[n]) || (text[n] && strchr("_.$", text[n])); n++)
			;
		if (!n || text[n] != ':')
			return text;
		fprintf(out, "%.*s\n", (int)n + 1, text);
		text += n + 1;
	}
}

/* A directive .comm NAME,BYTES,ALIGNMENT.  Returns whether it was handled. */
static bool as_common(const char *text)
{
	char name[512];
	unsigned long bytes, align;

	if (sscanf(text, ".comm %511[^, \t] , %lu , %lu", name, &bytes, &align) != 3 || bytes < AS_PAGE)
		return false;
	unsigned long page = bytes < AS_PAGE_LARGE ? AS_PAGE : AS_PAGE_LARGE;
	bytes = (bytes + page - 1) / page * page;
	fprintf(out, "\t.comm\t%s,%lu,%lu\n", name, bytes, align < page ? page : align);
	return true;
}

static bool as_interesting(const char *line)
{
	return locked || source || is_volatile || is_wait || strstr(line, "lock") || strstr(line, "mfence") ||
	       strstr(line, "pause") || strstr(line, "rep nop") || strstr(line, "xchg");
}

/* Has the line, in Intel syntax, an atomic operation: one with a lock, or an exchange with a place in memory? */
static bool as_intel_atomic(const char *line)
{
	size_t end = strcspn(line, "#");

	for (size_t at = 0, n; at < end; at += n + 1) {
		n = strcspn(line + at, AS_WORD ";#");
		if (n == 4 && (strncasecmp(line + at, "lock", 4) == 0 ||
		               (strncasecmp(line + at, "xchg", 4) == 0 && memchr(line + at, '[', end - at))))
			return true;
	}
	return false;
}

/* Does the instruction only compute, with registers and constants? */
static bool as_computes(const char *text)
{
	size_t end = strcspn(text, "#\n"), at = strcspn(text, AS_WORD "#\n");

	if (strncmp(text, "lea", 3) == 0)
		return true;
	if (*text == 'j' || !strncmp(text, "call", 4) || !strncmp(text, "push", 4) || !strncmp(text, "pop", 3))
		return false;
	at += strspn(text + at, AS_WORD);
	if (at >= end || memchr(text, '(', end))
		return false;
	for (; at < end; at += strspn(text + at, "," AS_WORD)) {
		if (text[at] != '%' && text[at] != '$')
			return false;
		at += strcspn(text + at, "," AS_WORD "#\n");
	}
	return true;
}

static void as_line(char *line)
{
	char *text = line + strspn(line, AS_WORD);

	if (as_pattern(line))
		return;
	if (*text != '.' && *text != '#' && *text && !as_computes(text))
		fenced = false;
	if (*line == '.' && strchr(line, ':'))
		fenced = false;
	if (strncmp(text, ".cfi_", 5) == 0)
		as_unwinding(text);
	if (strncmp(text, ".cfi_startproc", 14) == 0) {
		function = line;
		is_volatile = false;
		frame_number = 0;
		waits_find(following);
		sums_find(following);
	}
	is_wait = waits_load(line);
	if (strncmp(text, ".comm", 5) == 0 && as_common(text))
		return;
	if (strcmp(text, "#APP") == 0 || strcmp(text, "#NO_APP") == 0)
		source = text[1] == 'A';
	if (source && *text == '#')
		computing = as_is_computing(following);
	if (strncmp(text, ".intel_syntax", 13) == 0 || strncmp(text, ".att_syntax", 11) == 0)
		intel = text[1] == 'i';
	if (intel && as_intel_atomic(line)) {
		fprintf(stderr,
		        "tweed: the assembler of 'tweed cc': '%s' in Intel syntax: write atomic operations in "
		        "AT&T's\n",
		        text);
		exit(1);
	}
	const char *instead = sums_call(line);
	if (instead) {
		fprintf(out, "\t%s\t%s\n", *text == 'j' ? "jmp" : "call", instead);
		return;
	}
	bool directive = *text == '.' && !(source && strncmp(text, ".byte", 5) == 0);
	if (!as_interesting(line) || intel || directive || *text == '#' || strchr(line, '"')) {
		fprintf(out, "%s\n", line);
		return;
	}
	for (char *next = line, *statement; (statement = strsep(&next, ";"));) {
		statement = as_labels(statement);
		statement[strcspn(statement, "#")] = '\0';
		for (size_t n = strlen(statement); n && strchr(AS_WORD, statement[n - 1]); n--)
			statement[n - 1] = '\0';
		if (*statement && !as_instruction(statement))
			fprintf(out, "\t%s\n", statement);
	}
}

static void as_filter(FILE *in)
{
	char *text = NULL;
	size_t room = 0;

	/* The file has no zero byte, so this reads all of it. */
	if (getdelim(&text, &room, '\0', in) > 0) {
		for (char *next = text, *line; *next;) {
			line = strsep(&next, "\n");
			if (!next)
				next = line + strlen(line);
			following = next;
			as_line(line);
		}
	}
	free(text);
	fputs("\t.section\t" COMPILE_MADE ",\"e\",@progbits\n", out); /* for ld.c; not linked */
	if (ferror(in) || fflush(out))
		as_fail("filter");
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Options whose value is the next argument. */
static bool as_valued(const char *option)
{
	static const char *const valued[] = {"-o", "-I", "--MD", "-MD", "--defsym", "-D", "--debug-prefix-map", NULL};

	for (size_t i = 0; valued[i]; i++)
		if (strcmp(option, valued[i]) == 0)
			return true;
	return false;
}

/* The index of the file among the arguments; 0: standard input. */
static int as_input(int argc, char **argv)
{
	int input = 0;

	for (int i = 1; i < argc; i++) {
		if (as_valued(argv[i]))
			i++;
		else if (argv[i][0] != '-')
			input = i;
	}
	return input;
}

int main(int argc, char **argv)
{
	static char name[] = "as", standard[] = "-";
	int input = as_input(argc, argv), fd = memfd_create("assembler", 0);
	FILE *in = input ? fopen(argv[input], "r") : stdin;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "--help") == 0)
			in = NULL;
	if (in) {
		out = fd < 0 ? NULL : fdopen(dup(fd), "w");
		if (!out)
			as_fail("memory file");
		as_filter(in);
		fclose(out);
		if (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
			as_fail("memory file");
		if (input)
			argv[input] = standard;
	}
	argv[0] = name;
	execvp(argv[0], argv);
	as_fail(argv[0]);
}
