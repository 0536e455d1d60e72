/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c - loads on which waiting loops depend.
 *
 * A loop is what lies between a label and a jump back to it.  It waits if it has a pause instruction, or a call of a
 * function that yields or sleeps.  A load in it counts if the loaded number is tested before it serves as an address:
 * pointers on the way to the variable are not what the loop waits for.
 *
 * A loop that stores nothing and calls nothing waits if it loads one place again and again: a compiler that is free to
 * would load it once, before the loop.  It does not if its loads or its end depend on what goes from one round to the
 * next: a search loads its bounds again, and a count its conditions, where a compiler may not load them early.  Nor if
 * what lies there is not passed round: gcc sets blocks in any order, and a jump back may be from a block that the label
 * does not lead to.
 *
 * gcc copies the first test of a loop to before the loop, with other registers.  A copy has the place in the source
 * that its pattern names, which is how it is found. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compile/waits.h"

#define WAITS_LOOP  200u /* most lines of a loop that may wait */
#define WAITS_AHEAD 8u   /* instructions between a load and the test of what it has loaded */
#define WAITS_WORD  " \t"

struct waits_line {
	const char *text;
	size_t bytes;
	bool label;
	const char *place; /* "FILE":LINE:COLUMN in the pattern */
	size_t place_bytes;
	bool counts; /* a load that the program waits for */
};

static struct waits_line *lines;
static bool round_of[WAITS_LOOP + 1]; /* of the loop that is looked at: is its line passed on the way round? */
static size_t n_lines, room, asked;
static bool in_frame; /* the function has a frame pointer */

static void waits_add(struct waits_line line)
{
	if (n_lines == room) {
		room = room ? 2 * room : 1024;
		lines = realloc(lines, room * sizeof(*lines));
		if (!lines)
			abort();
	}
	lines[n_lines++] = line;
}

/* The place in a line of a pattern: `) "FILE":LINE:COLUMN`. */
static void waits_place(const char *text, size_t bytes, struct waits_line *line)
{
	const char *at = memmem(text, bytes, ") \"", 3),
	           *end = at ? memchr(at + 3, '"', bytes - (size_t)(at + 3 - text)) : NULL;

	if (!end)
		return;
	line->place = at + 2;
	for (end++; *end == ':' || isdigit((unsigned char)*end); end++)
		;
	line->place_bytes = (size_t)(end - line->place);
}

/* Cut the function into labels and instructions. */
static void waits_read(const char *text)
{
	struct waits_line line = {0};

	n_lines = asked = 0;
	in_frame = false;
	for (size_t n; *text && strncmp(text, "\t.cfi_endproc", 13) != 0; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (strncmp(text, "#(", 2) == 0)
			line.place = NULL;
		if (*text == '#')
			waits_place(text, n, &line);
		if (strncmp(text, "\t.cfi_def_cfa_register 6", 24) == 0)
			in_frame = true;
		const char *word = text + strspn(text, WAITS_WORD);
		line.label = word == text;
		if (word >= text + n || *word == '#' || (*word == '.' && !line.label))
			continue;
		line.text = text;
		line.bytes = n;
		waits_add(line);
		if (!line.label)
			line.place = NULL;
	}
}

/* The line as a string without comments; what counts the program's work does nothing. */
static const char *waits_string(const struct waits_line *line, char *copy, size_t size)
{
	size_t skipped = strspn(line->text, WAITS_WORD), n = line->bytes - skipped;
	const char *comment = memchr(line->text + skipped, '#', n);

	if (comment)
		n = (size_t)(comment - line->text) - skipped;
	if (n >= size)
		n = size - 1;
	memcpy(copy, line->text + skipped, n);
	copy[n] = '\0';
	return strstr(copy, "__sanitizer_cov_trace_pc") ? "nop" : copy;
}

static bool waits_among(const char *const *names, const char *text, size_t n)
{
	for (; *names; names++)
		if (strlen(*names) == n && memcmp(*names, text, n) == 0)
			return true;
	return false;
}

/* Does the line let time pass? */
static bool waits_passes(const struct waits_line *line)
{
	static const char *const calls[] = {"usleep",        "nanosleep",  "clock_nanosleep", "sleep", "sched_yield",
	                                    "pthread_yield", "thrd_yield", "thrd_sleep",      NULL};
	char copy[256];
	const char *text = waits_string(line, copy, sizeof(copy));

	if (strncmp(text, "pause", 5) == 0 || strncmp(text, "rep; nop", 8) == 0 || strncmp(text, "rep;nop", 7) == 0 ||
	    strncmp(text, "rep nop", 7) == 0)
		return true;
	if (strncmp(text, "call", 4) != 0)
		return false;
	text += 4;
	text += strspn(text, WAITS_WORD "*");
	return waits_among(calls, text, strcspn(text, "@(" WAITS_WORD));
}

/* The label that the line jumps to; "" if it does not. */
static const char *waits_target(const struct waits_line *line, char *copy, size_t size)
{
	const char *text = waits_string(line, copy, size);

	if (line->label || *text != 'j')
		return "";
	text += strcspn(text, WAITS_WORD);
	text += strspn(text, WAITS_WORD);
	copy[(size_t)(text - copy) + strcspn(text, WAITS_WORD)] = '\0';
	return text;
}

/* The label that line @jump jumps to, not before @from and not behind @to; false: none. */
static bool waits_inside(size_t jump, size_t from, size_t to, size_t *head)
{
	char copy[256];
	const char *label = waits_target(&lines[jump], copy, sizeof(copy));
	size_t n = strlen(label);

	for (*head = to + 1; n && (*head)-- > from;) {
		const struct waits_line *line = &lines[*head];
		if (line->label && line->bytes > n && line->text[n] == ':' && memcmp(line->text, label, n) == 0)
			return true;
	}
	return false;
}

/* The smallest loop around line @at, as its first and its last line. */
static bool waits_loop(size_t at, size_t *first, size_t *last)
{
	size_t from = at > WAITS_LOOP ? at - WAITS_LOOP : 0, best = WAITS_LOOP, head;

	for (size_t jump = at + 1; jump < n_lines && jump < at + WAITS_LOOP; jump++)
		if (waits_inside(jump, from, at, &head) && jump - head < best) {
			best = jump - head;
			*first = head;
			*last = jump;
		}
	return best < WAITS_LOOP;
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

/* The general register whose name stands at @text behind '%': 0 to 15; 16: another. */
static unsigned waits_register(const char *text)
{
	static const char *const old[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};

	if (text[0] == 'r' && isdigit((unsigned char)text[1]))
		return (unsigned)atoi(text + 1);
	if (text[0] == 'r' || text[0] == 'e')
		text++;
	for (unsigned i = 0; i < 8; i++)
		if (text[0] == old[i][0] && (text[1] == old[i][1] || text[1] == 'l'))
			return i;
	return 16;
}

/* Is a register of the set used in an address? */
static bool waits_addresses(const char *text, unsigned set)
{
	bool inside = false;

	for (; *text; text++) {
		if (*text == '(' || *text == ')')
			inside = *text == '(';
		else if (inside && *text == '%' && set >> waits_register(text + 1) & 1)
			return true;
	}
	return false;
}

/* Is a register of the set an operand? */
static bool waits_uses(const char *text, unsigned set)
{
	for (; (text = strchr(text, '%')); text++)
		if (set >> waits_register(text + 1) & 1)
			return true;
	return false;
}

/* Is the number that line @at has loaded into the registers @set tested before it serves as an address? */
static bool waits_tested(size_t at, unsigned set)
{
	static const char *const tests[] = {"cmp", "test", "and", "or", "xor", "sub", "sar", "shr", "bt", NULL};
	char copy[256];

	for (unsigned seen = 0; ++at < n_lines && seen < WAITS_AHEAD;) {
		if (lines[at].label)
			continue;
		seen++;
		const char *text = waits_string(&lines[at], copy, sizeof(copy));
		if (waits_addresses(text, set) || strncmp(text, "call", 4) == 0)
			return false;
		if (!waits_uses(text, set))
			continue;
		size_t n = strcspn(text, WAITS_WORD);
		if (n && strchr("bwlq", text[n - 1]))
			n--;
		if (waits_among(tests, text, n))
			return true;
		const char *last = strrchr(text, '%');
		if (strncmp(text, "mov", 3) != 0)
			return false;
		const char *source = strchr(text, '%');
		if (source && source != last && set >> waits_register(source + 1) & 1)
			set |= 1u << waits_register(last + 1) & 0xffff;
		else if (last)
			set &= ~(1u << waits_register(last + 1));
	}
	return false;
}

/* Does line @at load a number that it, or an instruction behind it, tests?  The frame is the thread's own. */
static bool waits_is_load(size_t at)
{
	char copy[256];
	const char *text = waits_string(&lines[at], copy, sizeof(copy));
	size_t n = strcspn(text, WAITS_WORD);
	const char *operands = text + n + strspn(text + n, WAITS_WORD), *open = strchr(operands, '(');

	if (lines[at].label || !open || strstr(operands, "%rsp") || strstr(operands, "%fs:") ||
	    (in_frame && strstr(operands, "(%rbp)")))
		return false;
	if (strncmp(text, "cmp", 3) == 0 || strncmp(text, "test", 4) == 0)
		return true;
	const char *last = strrchr(operands, '%'), *close = strchr(operands, ')');
	if (strncmp(text, "mov", 3) != 0 || *operands == '%' || *operands == '$' || !last || last < close ||
	    waits_register(last + 1) > 15)
		return false;
	return waits_tested(at, 1u << waits_register(last + 1));
}

/* Loads of line @loop's place count anywhere in the function. */
static void waits_copies(const struct waits_line *loop)
{
	for (size_t i = 0; i < n_lines; i++)
		if (lines[i].place && lines[i].place_bytes == loop->place_bytes &&
		    memcmp(lines[i].place, loop->place, loop->place_bytes) == 0 && waits_is_load(i))
			lines[i].counts = true;
}

static void waits_counts(size_t at)
{
	lines[at].counts = true;
	if (lines[at].place)
		waits_copies(&lines[at]);
}

/* Does the line only compare, or jump?  Then its last operand is not changed. */
static bool waits_looks(const char *text)
{
	static const char *const looks[] = {"cmp", "test", "bt", "j", "prefetch", "nop", NULL};

	for (const char *const *look = looks; *look; look++)
		if (strncmp(text, *look, strlen(*look)) == 0)
			return true;
	return false;
}

/* The register that the line changes, as a set; none if it only compares, or jumps. */
static unsigned waits_changed(const struct waits_line *line, const char *text)
{
	const char *reg = strrchr(text, '%');

	return line->label || waits_looks(text) || !reg ? 0 : 1u << waits_register(reg + 1) & 0xffff;
}

/* Does line @at never continue with the next one? */
static bool waits_leaves(size_t at)
{
	char copy[256];
	const char *text = waits_string(&lines[at], copy, sizeof(copy));

	return !lines[at].label && (strncmp(text, "jmp", 3) == 0 || strncmp(text, "ret", 3) == 0 ||
	                            strncmp(text, "rep ret", 7) == 0 || strncmp(text, "ud2", 3) == 0);
}

/* Find which lines of the loop lie on a way from its first line to its last one, and fill round_of.  Returns whether
 * there is a way. */
static bool waits_round(size_t first, size_t last)
{
	size_t n = last - first + 1, to;
	bool from_head[WAITS_LOOP + 1] = {true}, changed = true;
	int16_t target[WAITS_LOOP + 1];

	for (size_t i = 0; i < n; i++) {
		target[i] = (int16_t)(i + 1 < n && waits_inside(first + i, first, last, &to) ? (int)(to - first) : -1);
		round_of[i] = i + 1 == n;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i + 1 < n; i++) {
			bool on = !waits_leaves(first + i);
			if (from_head[i] && on && !from_head[i + 1])
				from_head[i + 1] = changed = true;
			if (from_head[i] && target[i] >= 0 && !from_head[target[i]])
				from_head[target[i]] = changed = true;
			if (!round_of[i] && ((on && round_of[i + 1]) || (target[i] >= 0 && round_of[target[i]])))
				round_of[i] = changed = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		round_of[i] = round_of[i] && from_head[i];
	return round_of[n - 1];
}

/* Does the loop neither store nor call on its way round? */
static bool waits_only_looks(size_t first, size_t last)
{
	char copy[256];

	for (size_t i = first; i <= last; i++) {
		const char *text = waits_string(&lines[i], copy, sizeof(copy)), *close = strrchr(text, ')');
		if (lines[i].label || waits_looks(text) || !round_of[i - first])
			continue;
		/* A place in memory that is the last operand is stored to. */
		if (strncmp(text, "call", 4) == 0 || strstr(text, "xchg") || strncmp(text, "lock", 4) == 0 ||
		    (close && !strchr(close, ',')))
			return false;
	}
	return true;
}

/* Does the line set its last register without reading it? */
static bool waits_sets(const char *text)
{
	const char *first = strchr(text, '%'), *last = strrchr(text, '%');

	return strncmp(text, "mov", 3) == 0 || strncmp(text, "lea", 3) == 0 || strncmp(text, "set", 3) == 0 ||
	       strncmp(text, "pop", 3) == 0 ||
	       (strncmp(text, "xor", 3) == 0 && first != last && waits_register(first + 1) == waits_register(last + 1));
}

/* The registers that the loop changes, but not by loads from places whose addresses are independent of @computed. */
static unsigned waits_computes(size_t first, size_t last, unsigned computed)
{
	char copy[256];
	unsigned others = 0;

	for (size_t i = first; i <= last; i++) {
		const char *text = waits_string(&lines[i], copy, sizeof(copy));
		if (round_of[i - first] &&
		    (strncmp(text, "mov", 3) != 0 || !strchr(text, ')') || waits_addresses(text, computed)))
			others |= waits_changed(&lines[i], text);
	}
	return others;
}

/* The computed registers that go from one round of the loop to the next: they are read before they are changed. */
static unsigned waits_carried(size_t first, size_t last)
{
	char copy[256];
	unsigned changed = 0, read = 0, computed = 0xffff;

	for (unsigned before = 0; before != computed;) {
		before = computed;
		computed = waits_computes(first, last, before);
	}
	for (size_t i = first; i <= last; i++) {
		const char *text = waits_string(&lines[i], copy, sizeof(copy));
		unsigned sets = waits_changed(&lines[i], text);
		if (lines[i].label || !round_of[i - first])
			continue;
		for (unsigned r = 0; r < 16; r++) {
			bool reads = waits_addresses(text, 1u << r) ||
			             (waits_uses(text, 1u << r) && !((sets >> r & 1) && waits_sets(text)));
			read |= reads && !(changed >> r & 1) ? 1u << r : 0;
		}
		changed |= sets;
	}
	return read & changed & computed;
}

/* Does what the loop loads, or when it ends, depend on what goes from one round to the next?  A number of rounds that
 * is only counted may go. */
static bool waits_progresses(size_t first, size_t last)
{
	char copy[256], next[256];
	unsigned carried = waits_carried(first, last);

	for (unsigned before = 0; before != carried;) {
		before = carried;
		for (size_t i = first; i <= last; i++) {
			const char *text = waits_string(&lines[i], copy, sizeof(copy));
			if (round_of[i - first] && !lines[i].label && waits_uses(text, carried))
				carried |= waits_changed(&lines[i], text);
		}
	}
	for (size_t i = first; i <= last; i++) {
		const char *text = waits_string(&lines[i], copy, sizeof(copy));
		if (lines[i].label || !round_of[i - first] || !waits_uses(text, carried))
			continue;
		bool jumps = i < last && waits_string(&lines[i + 1], next, sizeof(next))[0] == 'j' &&
		             !waits_leaves(i + 1) && strncmp(text, "mov", 3) != 0 && strncmp(text, "lea", 3) != 0;
		if (waits_looks(text) || waits_addresses(text, carried) || jumps)
			return true;
	}
	return false;
}

/* A loop that loads one place again and again ends with line @jump. */
static void waits_polls(size_t jump)
{
	size_t first;

	if (!waits_inside(jump, jump > WAITS_LOOP ? jump - WAITS_LOOP : 0, jump, &first) || !waits_round(first, jump) ||
	    !waits_only_looks(first, jump) || waits_progresses(first, jump))
		return;
	for (size_t i = first; i <= jump; i++)
		if (round_of[i - first] && waits_is_load(i))
			waits_counts(i);
}

void waits_find(const char *text)
{
	size_t first, last;

	waits_read(text);
	for (size_t at = 0; at < n_lines; at++) {
		waits_polls(at);
		if (lines[at].label || !waits_passes(&lines[at]) || !waits_loop(at, &first, &last))
			continue;
		for (size_t i = first; i <= last; i++)
			if (!lines[i].counts && waits_is_load(i))
				waits_counts(i);
	}
}

bool waits_load(const char *line)
{
	while (asked < n_lines && lines[asked].text < line)
		asked++;
	return asked < n_lines && lines[asked].text == line && lines[asked].counts;
}
