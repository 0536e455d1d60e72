/* SPDX-License-Identifier: BSD-3-Clause */
/* sums.c - atomic operations whose results are not used.
 *
 * Additions of integers and their kin: the pattern of the call of __atomic_fetch_... says that its result is not used.
 * Then tw_threads_post_... is called.
 *
 * Sums of floating point (`omp atomic`, `std::atomic<double>`): gcc makes a loop, in which __atomic_load_8 gives the
 * old value, an instruction the new one, and __atomic_compare_exchange_8 stores that, or gives the value anew.  Where
 * the new value is old + x or old - x, and neither is used for anything else nor behind the loop, other functions are
 * called: tw_threads_sum_load_... and tw_threads_sum_....  The first may return -0.0 in place of the old value.  Then
 * what the second one gets as the new value is x, exactly, or -x, and it adds that (runtime/threads/posted.c).
 *
 * What is followed: the instructions from the load to the exchange, which are a straight line; then those behind the
 * exchange, on all ways that begin with its success, until the values are gone.  All else stays as it is: gcc's loop is
 * right in any case. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compile/sums.h"

#define SUMS_WORD    " \t"
#define SUMS_STEPS   4000u /* most instructions that are followed behind an exchange */
#define SUMS_REGS    128u
#define SUMS_NAME    48u
#define SUMS_OPERAND 64u
#define SUMS_SLOTS   4u
#define SUMS_LABELS  256u

/* gcc's numbers of registers: ax 0, dx 1, cx 2, bx 3, si 4, di 5, bp 6, sp 7, xmm0 20, r8 36, r12 to r15 40 to 43. */
#define REG_AX   0u
#define REG_DX   1u
#define REG_XMM0 20u

struct sums_line {
	const char *text; /* an instruction, or a label */
	size_t bytes;
	char *pattern; /* NULL: a label, or none */
	bool label;
	char call[SUMS_NAME]; /* what is to be called instead; "": nothing else */
};

struct sums_set {
	bool reg[SUMS_REGS];
};

static struct sums_line *lines;
static size_t n_lines, room, asked;
static bool returns_integer; /* the function may return a value in ax */

/* ---- the function ------------------------------------------------------------------------------------------------ */

static void *sums_grow(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p)
		abort();
	return p;
}

static void sums_add(struct sums_line line)
{
	if (n_lines == room) {
		room = room ? 2 * room : 1024;
		lines = sums_grow(lines, room * sizeof(*lines));
	}
	lines[n_lines++] = line;
}

/* Append a line of a pattern, without its '#'. */
static char *sums_append(char *pattern, const char *text, size_t bytes)
{
	size_t had = pattern ? strlen(pattern) : 0;

	pattern = sums_grow(pattern, had + bytes + 1);
	memcpy(pattern + had, text + 1, bytes - 1);
	pattern[had + bytes - 1] = '\n';
	pattern[had + bytes] = '\0';
	return pattern;
}

/* Does the pattern name the function's value, which gcc calls <retval>, as an integer?  A function whose patterns never
 * do is taken for one that returns nothing in ax: gcc has no other sign of what a `ret` returns. */
static bool sums_returns(const char *pattern)
{
	for (const char *at = pattern; (at = strstr(at, "<retval>")); at++) {
		const char *reg = at;
		while (reg > pattern && strncmp(reg, "(reg", 4) != 0)
			reg--;
		reg += strcspn(reg, ":");
		if (strncmp(reg, ":DF", 3) != 0 && strncmp(reg, ":SF", 3) != 0)
			return true;
	}
	return strstr(pattern, "(reg/i:DI 0 ax") || strstr(pattern, "(reg/i:SI 0 ax");
}

static void sums_read(const char *text)
{
	char *pattern = NULL;

	for (size_t i = 0; i < n_lines; i++)
		free(lines[i].pattern);
	n_lines = asked = 0;
	returns_integer = false;
	for (size_t n; *text && strncmp(text, "\t.cfi_endproc", 13) != 0; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (strncmp(text, "#(", 2) == 0) {
			free(pattern);
			pattern = NULL;
		}
		if (*text == '#' && n > 1 && (pattern || text[1] == '('))
			pattern = sums_append(pattern, text, n);
		const char *word = text + strspn(text, SUMS_WORD);
		bool label = word == text;
		if (word >= text + n || *word == '#' || (*word == '.' && !label))
			continue;
		returns_integer |= !label && pattern && sums_returns(pattern);
		sums_add(
		    (struct sums_line){.text = text, .bytes = n, .pattern = label ? NULL : pattern, .label = label});
		if (!label)
			pattern = NULL;
	}
	free(pattern);
}

/* The instruction without its comment. */
static const char *sums_text(const struct sums_line *l, char *copy, size_t size)
{
	size_t skipped = strspn(l->text, SUMS_WORD), n = l->bytes - skipped;
	const char *comment = memchr(l->text + skipped, '#', n);

	if (comment)
		n = (size_t)(comment - l->text) - skipped;
	while (n && strchr(SUMS_WORD, l->text[skipped + n - 1]))
		n--;
	if (n >= size)
		n = size - 1;
	memcpy(copy, l->text + skipped, n);
	copy[n] = '\0';
	return copy;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

/* The end of the expression that begins at @at. */
static const char *pattern_end(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '(' || *at == '[')
			depth++;
		else if ((*at == ')' || *at == ']') && --depth == 0)
			return at + 1;
		else if (!depth && isspace((unsigned char)*at))
			return at;
	}
	return at;
}

static const char *pattern_skip(const char *at)
{
	return at + strspn(at, " \n");
}

/* The register whose expression begins at @at, as "(reg/f:DI 7 sp)"; SUMS_REGS: it is none. */
static unsigned pattern_register(const char *at)
{
	if (strncmp(at, "(reg", 4) != 0 || !strchr(":/", at[4]))
		return SUMS_REGS;
	at += strcspn(at, " \n");
	unsigned long number = strtoul(at, NULL, 10);
	return number < SUMS_REGS ? (unsigned)number : SUMS_REGS;
}

/* Is a register of the set named between @at and @end? */
static bool pattern_names(const char *at, const char *end, const struct sums_set *set)
{
	for (; at < end && (at = strstr(at, "(reg")) && at < end; at++) {
		unsigned r = pattern_register(at);
		if (r < SUMS_REGS && set->reg[r])
			return true;
	}
	return false;
}

/* Is there a note of this name for the register? */
static bool pattern_notes(const char *pattern, const char *note, unsigned reg)
{
	for (const char *at = pattern; (at = strstr(at, note)); at++)
		if (pattern_register(pattern_skip(at + strlen(note))) == reg)
			return true;
	return false;
}

/* Between them the expression that an instruction executes. */
static const char *pattern_body(const char *pattern, const char **end)
{
	static const char *const begins[] = {"(set ", "(parallel ", "(call ", "(simple_return", "(return", NULL};
	const char *best = NULL;

	for (size_t i = 0; begins[i]; i++) {
		const char *at = strstr(pattern, begins[i]);
		if (at && (!best || at < best))
			best = at;
	}
	*end = best ? pattern_end(best) : NULL;
	return best;
}

/* The destination and the source of the only assignment of @body.  Returns false if there are more, or none. */
static bool pattern_assignment(const char *body, const char *end, const char **to, const char **from, const char **last)
{
	const char *set = strstr(body, "(set ");

	if (!set || set >= end)
		return false;
	*to = pattern_skip(set + 4);
	*from = pattern_skip(pattern_end(*to));
	*last = pattern_end(*from);
	const char *more = strstr(*last, "(set ");
	return !more || more >= end;
}

/* Does the instruction change all of the register whose expression begins at @at? */
static bool pattern_whole(const char *at)
{
	static const char *const modes[] = {":DI ", ":SI ", ":DF ", ":SF ", ":TI ", NULL};
	size_t i = 0;

	at += strcspn(at, ": \n");
	while (modes[i] && strncmp(at, modes[i], 4) != 0)
		i++;
	return modes[i];
}

/* Is it an expression of @mode's size: "DF" or "SF", or the integer of so many bytes? */
static bool pattern_sized(const char *at, const char *mode)
{
	at += strcspn(at, ": \n");
	return *at == ':' && at[1] == *mode && strchr("IF", at[2]) && at[3] == ' ';
}

/* Is the memory between @at and @end gcc's own: a temporary, which has no name in "[6  S8 A64]", or a register's place
 * on the stack (%sfp)?  What the program has there is read in other ways, too. */
static bool pattern_temporary(const char *at, const char *end)
{
	const char *name = NULL;

	for (; at < end; at++)
		if (*at == '[' && isdigit((unsigned char)at[1]))
			name = at + 1;
	if (!name)
		return false;
	name += strspn(name, "0123456789");
	name += strspn(name, " ");
	return strncmp(name, "%sfp", 4) == 0 || (name[0] == 'S' && isdigit((unsigned char)name[1]));
}

/* Forget the registers that the instruction changes without using what they had: whole ones, and clobbered ones. */
static void pattern_changes(const char *body, const char *end, struct sums_set *set)
{
	for (const char *at = body; (at = strstr(at, "(clobber ")) && at < end; at++) {
		unsigned r = pattern_register(pattern_skip(at + 8));
		if (r < SUMS_REGS)
			set->reg[r] = false;
	}
	for (const char *at = body; (at = strstr(at, "(set ")) && at < end; at++) {
		const char *to = pattern_skip(at + 4);
		unsigned r = pattern_register(to);
		if (r < SUMS_REGS && pattern_whole(to))
			set->reg[r] = false;
	}
}

/* Does the instruction use a register of the set, other than to overwrite it? */
static bool pattern_uses(const char *body, const char *end, const struct sums_set *set)
{
	const char *at = body;

	while (at < end) {
		const char *assign = strstr(at, "(set "), *clobber = strstr(at, "(clobber ");
		const char *next = assign && (!clobber || assign < clobber) ? assign : clobber;
		if (!next || next >= end)
			return pattern_names(at, end, set);
		if (pattern_names(at, next, set))
			return true;
		const char *to = pattern_skip(next + strcspn(next, " "));
		const char *behind = pattern_end(to);
		unsigned r = pattern_register(to);
		if (r >= SUMS_REGS && pattern_names(to, behind, set))
			return true; /* an address */
		if (r < SUMS_REGS && set->reg[r] && next == assign && !pattern_whole(to))
			return true; /* a part of it */
		at = behind;
	}
	return false;
}

/* Does a call, whose pattern behind its body begins at @at, pass a register of the set? */
static bool pattern_passes(const char *at, const struct sums_set *set)
{
	while ((at = strstr(at, "(use "))) {
		at = pattern_skip(at + 5);
		if (pattern_names(at, pattern_end(at), set))
			return true;
	}
	return false;
}

/* The function that the instruction calls. */
static const char *sums_callee(const struct sums_line *l, char *name, size_t size)
{
	char copy[256];
	const char *text;

	*name = '\0';
	if (l->label || !l->pattern)
		return name;
	text = sums_text(l, copy, sizeof(copy));
	if (strncmp(text, "call", 4) != 0 && strncmp(text, "jmp", 3) != 0)
		return name;
	text += strcspn(text, SUMS_WORD);
	text += strspn(text, SUMS_WORD);
	snprintf(name, size, "%.*s", (int)strcspn(text, "@" SUMS_WORD), text);
	return name;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static void sums_integer(struct sums_line *l)
{
	static const char *const names[] = {"add", "sub", "and", "or", "xor", NULL};
	char name[256], wanted[64];
	const char *end, *body;

	sums_callee(l, name, sizeof(name));
	if (strncmp(name, "__atomic_", 9) != 0 || !(body = pattern_body(l->pattern, &end)))
		return;
	if (strncmp(body, "(call ", 6) != 0 && !pattern_notes(l->pattern, "REG_UNUSED ", REG_AX))
		return;
	for (size_t i = 0; names[i]; i++)
		for (unsigned bytes = 4; bytes <= 8; bytes += 4)
			for (unsigned first = 0; first < 2; first++) {
				snprintf(wanted, sizeof(wanted),
				         first ? "__atomic_fetch_%s_%u" : "__atomic_%s_fetch_%u", names[i], bytes);
				if (strcmp(name, wanted) == 0)
					snprintf(l->call, sizeof(l->call), "tw_threads_post_%s_%u", names[i], bytes);
			}
}

/* ---- sums of floating point -------------------------------------------------------------------------------------- */

/* The memory operand of a move, in @operand.  @stored: to it. */
static bool sums_memory(const char *text, char *operand, bool *stored)
{
	const char *at = text + strcspn(text, SUMS_WORD), *comma;
	int depth = 0;

	at += strspn(at, SUMS_WORD);
	for (comma = at; *comma && (depth || *comma != ','); comma++)
		depth += *comma == '(' ? 1 : *comma == ')' ? -1 : 0;
	*stored = *at == '%' || *at == '$';
	if (*stored) {
		at = comma + (*comma == ',');
		at += strspn(at, SUMS_WORD);
		comma = at + strlen(at);
	}
	if (!memchr(at, '(', (size_t)(comma - at)) || (size_t)(comma - at) >= SUMS_OPERAND)
		return false;
	snprintf(operand, SUMS_OPERAND, "%.*s", (int)(comma - at), at);
	return true;
}

/* Places in memory, as operands. */
struct sums_slots {
	char at[SUMS_SLOTS][SUMS_OPERAND];
	unsigned n;
};

/* The place that is an operand of the instruction; -1: none. */
static int slots_find(const struct sums_slots *slots, const char *text)
{
	for (unsigned i = 0; i < slots->n; i++) {
		const char *at = strstr(text, slots->at[i]);
		if (at && at > text && strchr(", \t", at[-1]))
			return (int)i;
	}
	return -1;
}

static bool slots_add(struct sums_slots *slots, const char *operand)
{
	if (slots->n == SUMS_SLOTS)
		return false;
	snprintf(slots->at[slots->n++], SUMS_OPERAND, "%s", operand);
	return true;
}

static void slots_remove(struct sums_slots *slots, int slot)
{
	memmove(slots->at[slot], slots->at[slot + 1], (size_t)(--slots->n - (unsigned)slot) * SUMS_OPERAND);
}

/* What holds the old value, and the new one. */
struct sums_values {
	struct sums_set old, new;
	struct sums_slots slots; /* the old one */
	bool added;
};

/* A sum or difference in which the old value is an operand, and the other one is not.  @mode: "DF" or "SF". */
static bool sums_adds(const char *from, const char *last, const char *mode, const struct sums_values *v)
{
	bool minus = strncmp(from, "(minus:", 7) == 0;

	if ((!minus && strncmp(from, "(plus:", 6) != 0) || strncmp(strchr(from, ':') + 1, mode, 2) != 0)
		return false;
	const char *a = pattern_skip(from + strcspn(from, " \n")), *a_end = pattern_end(a), *b = pattern_skip(a_end);
	unsigned ra = pattern_register(a), rb = pattern_register(b);
	bool a_old = ra < SUMS_REGS && v->old.reg[ra], b_old = rb < SUMS_REGS && v->old.reg[rb];
	if (a_old)
		return !pattern_names(b, last, &v->old) && !pattern_names(b, last, &v->new);
	return b_old && !minus && !pattern_names(a, a_end, &v->old) && !pattern_names(a, a_end, &v->new);
}

/* An instruction between the load and the exchange.  Returns false if the values may be used for something else. */
static bool sums_before(const struct sums_line *l, const char *mode, struct sums_values *v)
{
	const char *end, *body = l->pattern ? pattern_body(l->pattern, &end) : NULL, *to, *from, *last;
	char copy[256], operand[SUMS_OPERAND];
	const char *text = sums_text(l, copy, sizeof(copy));
	bool stored;

	if (!body || !pattern_assignment(body, end, &to, &from, &last) || strncmp(l->pattern, "(insn", 5) != 0)
		return false;
	unsigned r = pattern_register(to), s = pattern_register(from);
	int slot = slots_find(&v->slots, text);
	bool moves = strncmp(text, "mov", 3) == 0;
	bool whole = pattern_sized(to, mode);
	bool from_old = whole && ((s < SUMS_REGS && v->old.reg[s]) || (slot >= 0 && moves && r < SUMS_REGS));
	bool from_new = whole && s < SUMS_REGS && v->new.reg[s];
	if (r >= SUMS_REGS) { /* a store */
		if (from_old && moves && pattern_temporary(to, from) && sums_memory(text, operand, &stored) && stored)
			return slot >= 0 || slots_add(&v->slots, operand);
		return !pattern_uses(body, end, &v->old) && !pattern_uses(body, end, &v->new) && slot < 0;
	}
	bool sum = !v->added && sums_adds(from, last, mode, v);
	if (!from_old && !from_new && !sum &&
	    (pattern_uses(body, end, &v->old) || pattern_uses(body, end, &v->new) ||
	     (slot >= 0 && strncmp(text, "lea", 3) != 0)))
		return false;
	pattern_changes(body, end, &v->old);
	pattern_changes(body, end, &v->new);
	v->old.reg[r] = from_old;
	v->new.reg[r] = from_new || sum;
	v->added |= sum;
	return true;
}

/* What must not be used any more. */
struct sums_gone {
	struct sums_set reg;
	struct sums_slots slots;
	bool pointed; /* a register may have a slot's address */
};

static bool sums_none(const struct sums_gone *g)
{
	static const struct sums_set none;

	return !g->slots.n && memcmp(&g->reg, &none, sizeof(none)) == 0;
}

/* A call changes all registers but bx, bp, r12 to r15. */
static void sums_called(struct sums_set *set)
{
	for (unsigned r = 0; r < SUMS_REGS; r++)
		if (r != 3 && r != 6 && (r < 40 || r > 43))
			set->reg[r] = false;
}

/* The index of the label's line; n_lines: not in this function. */
static size_t sums_label(const char *label)
{
	size_t n = strlen(label), i;

	for (i = 0; i < n_lines; i++)
		if (lines[i].label && lines[i].bytes > n && lines[i].text[n] == ':' &&
		    memcmp(lines[i].text, label, n) == 0)
			break;
	return i;
}

static unsigned steps;

/* The labels that were reached, with what was not gone then. */
static struct {
	size_t at;
	struct sums_gone gone;
} reached[SUMS_LABELS];
static unsigned n_reached;

static bool sums_within(const struct sums_gone *g, const struct sums_gone *all)
{
	for (unsigned r = 0; r < SUMS_REGS; r++)
		if (g->reg.reg[r] && !all->reg.reg[r])
			return false;
	for (unsigned i = 0; i < g->slots.n; i++) {
		unsigned k = 0;
		while (k < all->slots.n && strcmp(all->slots.at[k], g->slots.at[i]) != 0)
			k++;
		if (k == all->slots.n)
			return false;
	}
	return !g->pointed || all->pointed;
}

/* Was the label at line @at reached with all this before?  Else remember it. */
static bool sums_reached(size_t at, const struct sums_gone *g)
{
	for (unsigned i = 0; i < n_reached; i++)
		if (reached[i].at == at && sums_within(g, &reached[i].gone))
			return true;
	if (n_reached < SUMS_LABELS) {
		reached[n_reached].at = at;
		reached[n_reached++].gone = *g;
	}
	return false;
}

static bool sums_over(size_t at, struct sums_gone g);

/* A jump on a way behind the exchange.  Returns whether all ways from there are good. */
static bool sums_jump(size_t at, const char *text, const struct sums_gone *g)
{
	char label[SUMS_NAME];
	const char *target = text + strcspn(text, SUMS_WORD);

	target += strspn(target, SUMS_WORD);
	if (*target == '*')
		return false;
	snprintf(label, sizeof(label), "%s", target);
	size_t to = sums_label(label);
	return to < n_lines && sums_over(to, *g) && (strncmp(text, "jmp", 3) == 0 || sums_over(at + 1, *g));
}

/* An instruction behind the exchange.  Returns false if it may use what must be gone. */
static bool sums_behind(const struct sums_line *l, const char *text, struct sums_gone *g)
{
	const char *end, *body = l->pattern ? pattern_body(l->pattern, &end) : NULL;
	char operand[SUMS_OPERAND], name[256];
	bool stored;

	if (!body || pattern_uses(body, end, &g->reg))
		return false;
	if (strncmp(text, "call", 4) == 0) {
		bool loads = strncmp(sums_callee(l, name, sizeof(name)), "__atomic_load_", 14) == 0; /* a variable */
		if ((g->slots.n && g->pointed && !loads) || pattern_passes(end, &g->reg))
			return false;
		sums_called(&g->reg);
		return true;
	}
	int slot = slots_find(&g->slots, text);
	if (slot >= 0) {
		if (strncmp(text, "lea", 3) == 0)
			g->pointed = true;
		else if (strncmp(text, "mov", 3) == 0 && sums_memory(text, operand, &stored) && stored)
			slots_remove(&g->slots, slot);
		else
			return false;
	}
	const char *moves = strstr(text, ", %rsp");
	if (g->slots.n && (strncmp(text, "push", 4) == 0 || (moves && strncmp(text, "add", 3) != 0)))
		return false;
	if (moves)
		g->slots.n = 0; /* the frame ends */
	pattern_changes(body, end, &g->reg);
	return true;
}

/* Are the values gone on all ways from line @at, before they are used? */
static bool sums_over(size_t at, struct sums_gone g)
{
	char copy[256];

	for (; at < n_lines; at++) {
		if (sums_none(&g))
			return true;
		if (lines[at].label) {
			bool target =
			    strncmp(lines[at].text, ".L", 2) == 0 && isdigit((unsigned char)lines[at].text[2]);
			if (target && sums_reached(at, &g))
				return true;
			continue;
		}
		if (++steps > SUMS_STEPS)
			return false;
		const char *text = sums_text(&lines[at], copy, sizeof(copy));
		if (strncmp(text, "ret", 3) == 0)
			return !g.reg.reg[REG_XMM0] && (!returns_integer || (!g.reg.reg[REG_AX] && !g.reg.reg[REG_DX]));
		if (*text == 'j')
			return sums_jump(at, text, &g);
		if (!sums_behind(&lines[at], text, &g))
			return false;
	}
	return false;
}

/* Behind the exchange, at line @at, until the jump that depends on it.  Then follow its success. */
static bool sums_exit(size_t at, const struct sums_values *v)
{
	struct sums_gone g = {.reg = v->old};
	enum { NOTHING, EQUAL, TRUE } test = NOTHING;
	struct sums_set result = {0};
	char copy[256], label[SUMS_NAME];

	for (unsigned r = 0; r < SUMS_REGS; r++)
		g.reg.reg[r] |= v->new.reg[r];
	sums_called(&g.reg);
	g.slots = v->slots;
	result.reg[REG_AX] = true;
	for (at++; at < n_lines; at++) {
		struct sums_line *l = &lines[at];
		const char *end, *body = l->pattern ? pattern_body(l->pattern, &end) : NULL, *to, *from, *last;
		if (l->label) /* of the source's lines, or of another way to here */
			continue;
		if (!body)
			return false;
		const char *text = sums_text(l, copy, sizeof(copy));
		if (*text == 'j') {
			bool equal = strncmp(text, "je", 2) == 0, unequal = strncmp(text, "jne", 3) == 0;
			if (!test || (!equal && !unequal))
				return false;
			text += strcspn(text, SUMS_WORD);
			snprintf(label, sizeof(label), "%s", text + strspn(text, SUMS_WORD));
			steps = n_reached = 0;
			return sums_over((test == EQUAL) == equal ? sums_label(label) : at + 1, g);
		}
		if (!pattern_assignment(body, end, &to, &from, &last))
			return false;
		unsigned r = pattern_register(to);
		if (r < SUMS_REGS && slots_find(&g.slots, text) >= 0 && strncmp(text, "mov", 3) == 0) {
			pattern_changes(body, end, &result);
			g.reg.reg[r] = true; /* the old value */
			continue;
		}
		if (r < SUMS_REGS && pattern_register(from) < SUMS_REGS && g.reg.reg[pattern_register(from)]) {
			pattern_changes(body, end, &result);
			g.reg.reg[r] = true; /* a copy of it */
			continue;
		}
		if (strncmp(from, "(compare:CCZ ", 13) == 0 && pattern_names(from, last, &result)) {
			if (strncmp(text, "test", 4) != 0)
				return false;
			test = TRUE;
			continue;
		}
		if (strncmp(from, "(compare:CCZ ", 13) == 0 && pattern_names(from, last, &g.reg)) {
			const char *a = pattern_skip(from + 12), *b = pattern_skip(pattern_end(a));
			unsigned ra = pattern_register(a), rb = pattern_register(b);
			bool slot = slots_find(&g.slots, text) >= 0;
			if ((ra < SUMS_REGS && !g.reg.reg[ra]) || (rb < SUMS_REGS && !g.reg.reg[rb]) ||
			    ((ra >= SUMS_REGS || rb >= SUMS_REGS) && !slot))
				return false;
			test = EQUAL;
			continue;
		}
		if (pattern_uses(body, end, &result) || !sums_behind(l, text, &g))
			return false;
		pattern_changes(body, end, &result);
	}
	return false;
}

/* @load: the call of __atomic_load_N, N 4 or 8. */
static void sums_real(size_t load, unsigned bytes)
{
	struct sums_values v = {0};
	char name[256], wanted[64];

	snprintf(wanted, sizeof(wanted), "__atomic_compare_exchange_%u", bytes);
	v.old.reg[REG_AX] = true;
	for (size_t at = load + 1; at < n_lines && at < load + 60; at++) {
		if (lines[at].label)
			continue;
		if (*sums_callee(&lines[at], name, sizeof(name)) == '\0') {
			if (!sums_before(&lines[at], bytes == 8 ? "DF" : "SF", &v))
				return;
			continue;
		}
		if (strcmp(name, wanted) != 0 || !v.new.reg[REG_DX] || !v.slots.n || !sums_exit(at, &v))
			return;
		snprintf(lines[load].call, SUMS_NAME, "tw_threads_sum_load_%u", bytes);
		snprintf(lines[at].call, SUMS_NAME, "tw_threads_sum_%u", bytes);
		return;
	}
}

void sums_find(const char *text)
{
	char name[256];

	sums_read(text);
	for (size_t i = 0; i < n_lines; i++) {
		if (strncmp(sums_callee(&lines[i], name, sizeof(name)), "__atomic_", 9) != 0)
			continue;
		if (strcmp(name, "__atomic_load_8") == 0 || strcmp(name, "__atomic_load_4") == 0)
			sums_real(i, (unsigned)(name[14] - '0'));
		else
			sums_integer(&lines[i]);
	}
}

const char *sums_call(const char *line)
{
	while (asked < n_lines && lines[asked].text < line)
		asked++;
	return asked < n_lines && lines[asked].text == line && *lines[asked].call ? lines[asked].call : NULL;
}
