/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c - instructions in files that other compilers have made, which Tweed's assembler has not seen: those that
 * are atomic within one node only, and those of loops that wait for another thread.  The run-time performs them
 * (runtime/threads/emulate.h).
 *
 * objdump finds them.  Its output has the order of the archive's members and of their sections, which may share names.
 * Only what lies in a function is taken for an instruction: assembler files have tables beside functions. */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "runtime/threads/emulate.h"
#include "tools/compile/compile.h"
#include "tools/compile/ld.h"
#include "tools/compile/placed.h"

#define FOREIGN_HEAD 60u /* of an archive's member */

/* Where objdump is: an ELF file, or a member of an archive, and one of its sections.  Objects of an archive begin at
 * even addresses: what is in them is copied. */
struct foreign_place {
	const struct library_file *file;
	size_t at, bytes, next; /* of the object; where the member behind it begins */
	Elf64_Ehdr head;
	unsigned section;
};

/* The header of section @i, whose contents are in the file.  Returns false if there is none. */
static bool foreign_section(const struct foreign_place *p, unsigned i, Elf64_Shdr *s)
{
	size_t at = p->head.e_shoff + i * sizeof(*s);

	if (i >= p->head.e_shnum || at > p->bytes || p->bytes - at < sizeof(*s))
		return false;
	memcpy(s, p->file->at + p->at + at, sizeof(*s));
	if (s->sh_type == SHT_NOBITS || s->sh_offset > p->bytes || s->sh_size > p->bytes - s->sh_offset)
		s->sh_size = 0;
	return true;
}

static bool foreign_is_object(struct foreign_place *p)
{
	if (p->bytes < sizeof(p->head))
		return false;
	memcpy(&p->head, p->file->at + p->at, sizeof(p->head));
	return memcmp(p->head.e_ident, ELFMAG, SELFMAG) == 0 && p->head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       p->head.e_machine == EM_X86_64 && p->head.e_shentsize == sizeof(Elf64_Shdr);
}

/* Go to the next object.  Returns false at the end. */
static bool foreign_next(struct foreign_place *p)
{
	const struct library_file *f = p->file;

	p->section = 0;
	if (f->kind != LIBRARY_ARCHIVE) {
		p->at = 0;
		p->bytes = p->next ? 0 : f->bytes;
		p->next = f->bytes;
		return foreign_is_object(p);
	}
	for (p->next = p->next ? p->next : 8; p->next + FOREIGN_HEAD <= f->bytes;) {
		p->at = p->next + FOREIGN_HEAD;
		p->bytes = strtoul(f->at + p->next + 48, NULL, 10);
		p->bytes = TW_MIN(p->bytes, f->bytes - p->at);
		p->next = p->at + p->bytes + p->bytes % 2;
		if (foreign_is_object(p))
			return true;
	}
	return false;
}

/* Go to the next section of that name with instructions. */
static bool foreign_enter(struct foreign_place *p, const char *name)
{
	Elf64_Shdr s, names;

	if (!foreign_section(p, p->head.e_shstrndx, &names))
		return false;
	while (foreign_section(p, ++p->section, &s))
		if ((s.sh_flags & SHF_EXECINSTR) && s.sh_type == SHT_PROGBITS && s.sh_name < names.sh_size &&
		    strcmp(p->file->at + p->at + names.sh_offset + s.sh_name, name) == 0)
			return true;
	return false;
}

/* Is the byte @offset of the section inside a function? */
static bool foreign_in_function(const struct foreign_place *p, uint64_t offset)
{
	Elf64_Shdr s;
	Elf64_Sym symbol;

	for (unsigned i = 1; foreign_section(p, i, &s); i++) {
		const char *at = p->file->at + p->at + s.sh_offset;
		for (size_t left = s.sh_type == SHT_SYMTAB ? s.sh_size / sizeof(symbol) : 0; left--;
		     at += sizeof(symbol)) {
			memcpy(&symbol, at, sizeof(symbol));
			if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx == p->section &&
			    offset - symbol.st_value < symbol.st_size)
				return true;
		}
	}
	return false;
}

/* What takes the place of a byte of the instruction @text, at @at, @most bytes before the section's end, and its
 * distance in *@byte; 0: nothing. */
static int foreign_replacement(const char *text, const unsigned char *at, size_t most, size_t *byte)
{
	*byte = 0;
	if (strncmp(text, "pause", 5) == 0 || strncmp(text, "mfence", 6) == 0)
		return EMULATE_TRAP;
	if (strchr(text, ':')) /* %fs: thread-local */
		return 0;
	if (strncmp(text, "lock ", 5) == 0)
		return *at == 0xf0 ? EMULATE_TRAP : 0;
	if (strncmp(text, "xchg ", 5) != 0 || !strchr(text, '('))
		return 0;
	while (*byte < most - 1 && (at[*byte] & 0xfe) != 0x86)
		++*byte; /* over two prefixes */
	return *byte > 2 ? 0 : at[*byte] == 0x86 ? EMULATE_XCHG8 : at[*byte] == 0x87 ? EMULATE_XCHG : 0;
}

static void foreign_found(const struct foreign_place *p, uint64_t offset, const char *text, struct foreign_code *code)
{
	Elf64_Shdr s;
	size_t byte;

	if (!foreign_section(p, p->section, &s) || offset >= s.sh_size)
		return;
	size_t at = p->at + s.sh_offset + offset;
	int by = foreign_replacement(text, (const unsigned char *)p->file->at + at, s.sh_size - offset, &byte);
	if (!by || !foreign_in_function(p, offset))
		return;
	code->spins |= strncmp(text, "pause", 5) == 0;
	if (code->n == code->room) {
		code->room = 2 * code->room + 64;
		code->byte = realloc(code->byte, code->room * sizeof(*code->byte));
		if (!code->byte)
			ld_fail("out of memory");
	}
	code->byte[code->n++] = (struct foreign_byte){at + byte, (unsigned char)by};
}

struct foreign_code foreign_find(const char *path)
{
	struct foreign_code code = {0};
	struct library_file f = library_open(path);
	struct foreign_place place = {.file = &f};
	char *line = NULL;
	size_t room = 0;
	bool inside = false;

	setenv("TWEED_FILE", path, 1);
	FILE *text = f.at ? popen("LC_ALL=C objdump -d --no-show-raw-insn -- \"$TWEED_FILE\"", "re") : NULL;
	unsetenv("TWEED_FILE");
	while (text && getline(&line, &room, text) > 0) {
		char *end;
		line[strcspn(line, "\n")] = '\0';
		if (strstr(line, ":     file format elf64-x86-64")) {
			inside = false;
			if (!foreign_next(&place))
				break;
		} else if (strncmp(line, "Disassembly of section ", 23) == 0) {
			line[strlen(line) - 1] = '\0';
			inside = foreign_enter(&place, line + 23);
		} else if (inside && (end = strstr(line, ":\t"))) {
			foreign_found(&place, strtoull(line, NULL, 16), end + 2, &code);
		}
	}
	free(line);
	if (text)
		pclose(text);
	library_close(&f);
	return code;
}
