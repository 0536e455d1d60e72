/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/compile/placed.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

static enum library_kind library_kind(const struct library_file *f)
{
	const Elf64_Ehdr *head = (void *)f->at;

	if (f->bytes >= 8 && memcmp(f->at, "!<arch>\n", 8) == 0)
		return LIBRARY_ARCHIVE;
	if (f->bytes >= 8 && memcmp(f->at, "!<thin>\n", 8) == 0)
		return LIBRARY_THIN;
	if (f->bytes < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64)
		return LIBRARY_OTHER;
	return head->e_type == ET_REL ? LIBRARY_REL : head->e_type == ET_DYN ? LIBRARY_DYN : LIBRARY_OTHER;
}

struct library_file library_open(const char *path)
{
	struct library_file f = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return f;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		f.bytes = (size_t)st.st_size;
		f.at = mmap(NULL, f.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		f.at = f.at == MAP_FAILED ? NULL : f.at;
		f.kind = f.at ? library_kind(&f) : LIBRARY_NONE;
	}
	close(fd);
	return f;
}

void library_close(struct library_file *f)
{
	if (f->at)
		munmap(f->at, f->bytes);
	*f = (struct library_file){0};
}

/* The table of sections, if the file has it whole. */
static const Elf64_Shdr *library_table(const struct library_file *f, unsigned *n)
{
	const Elf64_Ehdr *head = (void *)f->at;

	*n = 0;
	if ((f->kind != LIBRARY_REL && f->kind != LIBRARY_DYN) || head->e_shentsize != sizeof(Elf64_Shdr) ||
	    head->e_shoff % 8 || head->e_shoff > f->bytes ||
	    head->e_shnum > (f->bytes - head->e_shoff) / sizeof(Elf64_Shdr) || head->e_shstrndx >= head->e_shnum)
		return NULL;
	*n = head->e_shnum;
	return (void *)(f->at + head->e_shoff);
}

static const char *library_contents(const struct library_file *f, const Elf64_Shdr *s)
{
	return s->sh_type != SHT_NOBITS && s->sh_offset <= f->bytes && s->sh_size <= f->bytes - s->sh_offset
	           ? f->at + s->sh_offset
	           : NULL;
}

/* The text at @at of a table of strings; "": damaged. */
static const char *library_text(const struct library_file *f, const Elf64_Shdr *strings, uint32_t at)
{
	const char *text = library_contents(f, strings);
	bool whole = text && at < strings->sh_size && memchr(text + at, 0, strings->sh_size - at);

	return whole ? text + at : "";
}

const char *library_section(const struct library_file *f, const char *name, size_t *bytes)
{
	unsigned n;
	const Elf64_Shdr *s = library_table(f, &n);
	const Elf64_Ehdr *head = (void *)f->at;

	for (unsigned i = 0; i < n; i++) {
		if (strcmp(library_text(f, &s[head->e_shstrndx], s[i].sh_name), name) != 0)
			continue;
		*bytes = s[i].sh_size;
		return library_contents(f, &s[i]);
	}
	return NULL;
}

void library_sections(const struct library_file *f, library_each *each, void *arg)
{
	unsigned n;
	const Elf64_Shdr *s = library_table(f, &n);
	const Elf64_Ehdr *head = (void *)f->at;

	for (unsigned i = 0; i < n; i++)
		each(library_text(f, &s[head->e_shstrndx], s[i].sh_name), arg);
}

static void library_object_variables(const struct library_file *f, library_each *each, void *arg)
{
	const uint64_t variables = SHF_ALLOC | SHF_WRITE, others = SHF_TLS | SHF_EXECINSTR | SHF_LINK_ORDER;
	unsigned n;
	const Elf64_Shdr *s = library_table(f, &n);
	const Elf64_Ehdr *head = (void *)f->at;

	for (unsigned i = 0; i < n; i++)
		if ((s[i].sh_flags & (variables | others)) == variables &&
		    (s[i].sh_type == SHT_PROGBITS || s[i].sh_type == SHT_NOBITS))
			each(library_text(f, &s[head->e_shstrndx], s[i].sh_name), arg);
}

/* A member, which an archive may have at an odd place. */
static void library_member_variables(char *at, size_t bytes, library_each *each, void *arg)
{
	struct library_file f = {.at = malloc(bytes), .bytes = bytes};

	if (!f.at)
		return;
	memcpy(f.at, at, bytes);
	f.kind = library_kind(&f);
	library_object_variables(&f, each, arg);
	free(f.at);
}

/* A member of an archive: @bytes at @at, or the file @file. */
typedef void library_member(const char *file, char *at, size_t bytes, void *arg);

/* The file that a thin archive @path has under the name "/AT": at that place of the member "//", up to "/\n". */
static void library_named_member(const char *path, const char *names, size_t bytes, size_t at, library_member *each,
                                 void *arg)
{
	const char *slash = strrchr(path, '/'), *name = names + at;
	const char *end = at < bytes ? memchr(name, '\n', bytes - at) : NULL;
	char file[PATH_MAX];

	if (!end || end == name)
		return;
	int folder = slash && *name != '/' ? (int)(slash + 1 - path) : 0, n = (int)(end - name) - 1;
	if (snprintf(file, sizeof(file), "%.*s%.*s", folder, path, n, name) < (int)sizeof(file))
		each(file, NULL, 0, arg);
}

/* Each member has a header of 60 bytes: name, 16; 32 others; size, 10; 2 others. */
static void library_archive_members(const struct library_file *f, const char *path, library_member *each, void *arg)
{
	const char *names = NULL;
	size_t names_bytes = 0;

	for (size_t at = 8; at + 60 <= f->bytes;) {
		char *header = f->at + at, *data = header + 60, size[11] = "";
		memcpy(size, header + 48, 10);
		size_t bytes = strtoul(size, NULL, 10), left = f->bytes - at - 60;
		bool table = header[0] == '/' && (header[1] < '0' || header[1] > '9');
		bool inside = table || f->kind != LIBRARY_THIN;

		if (inside && bytes > left)
			return;
		if (memcmp(header, "// ", 3) == 0) {
			names = data;
			names_bytes = bytes;
		} else if (!inside && header[0] == '/' && names) {
			library_named_member(path, names, names_bytes, strtoul(header + 1, NULL, 10), each, arg);
		} else if (!table) {
			each(NULL, data, bytes, arg);
		}
		at += 60 + (inside ? TW_ALIGN_UP(bytes, (size_t)2) : 0);
	}
}

struct library_call {
	library_each *each;
	void *arg;
};

static void library_variables_of(const char *file, char *at, size_t bytes, void *arg)
{
	const struct library_call *c = arg;

	if (file)
		library_variables(file, c->each, c->arg);
	else
		library_member_variables(at, bytes, c->each, c->arg);
}

void library_variables(const char *path, library_each *each, void *arg)
{
	struct library_file f = library_open(path);
	struct library_call call = {each, arg};

	if (f.kind == LIBRARY_REL)
		library_object_variables(&f, each, arg);
	else if (f.kind == LIBRARY_ARCHIVE || f.kind == LIBRARY_THIN)
		library_archive_members(&f, path, library_variables_of, &call);
	library_close(&f);
}

static void library_file_of(const char *file, char *at, size_t bytes, void *arg)
{
	const struct library_call *c = arg;

	(void)at, (void)bytes;
	if (file)
		c->each(file, c->arg);
}

void library_members(const char *path, library_each *each, void *arg)
{
	struct library_file f = library_open(path);
	struct library_call call = {each, arg};

	if (f.kind == LIBRARY_THIN)
		library_archive_members(&f, path, library_file_of, &call);
	library_close(&f);
}

/* The index of an archive: the member "/", with a count, that many offsets, and the names. */
static void library_index(const struct library_file *f, library_each *each, void *arg)
{
	const size_t at = 8 + 60;
	const unsigned char *count = (void *)(f->at + at);

	if (f->bytes < at + 4 || memcmp(f->at + 8, "/ ", 2) != 0)
		return;
	uint32_t n = (uint32_t)count[0] << 24 | (uint32_t)count[1] << 16 | (uint32_t)count[2] << 8 | count[3];
	for (size_t next = at + 4 + 4 * (size_t)n; n-- && next < f->bytes; next += strlen(f->at + next) + 1) {
		if (!memchr(f->at + next, 0, f->bytes - next))
			return;
		each(f->at + next, arg);
	}
}

void library_symbols(const struct library_file *f, library_each *each, void *arg)
{
	unsigned n;
	const Elf64_Shdr *s = library_table(f, &n);

	if (f->kind == LIBRARY_ARCHIVE || f->kind == LIBRARY_THIN)
		library_index(f, each, arg);
	for (unsigned i = 0; i < n; i++) {
		const Elf64_Sym *symbol = (void *)library_contents(f, &s[i]);
		if (s[i].sh_type != (f->kind == LIBRARY_DYN ? SHT_DYNSYM : SHT_SYMTAB) || !symbol ||
		    s[i].sh_offset % 8 || s[i].sh_link >= n)
			continue;
		for (size_t k = s[i].sh_info; k < s[i].sh_size / sizeof(*symbol); k++) {
			const char *name = library_text(f, &s[s[i].sh_link], symbol[k].st_name);
			if (symbol[k].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol[k].st_info) != STB_LOCAL && *name)
				each(name, arg);
		}
	}
}

void library_dynamic(const struct library_file *f, long tag, library_each *each, void *arg)
{
	unsigned n;
	const Elf64_Shdr *s = library_table(f, &n);

	for (unsigned i = 0; i < n; i++) {
		const Elf64_Dyn *entry = (void *)library_contents(f, &s[i]);
		if (s[i].sh_type != SHT_DYNAMIC || !entry || s[i].sh_offset % 8 || s[i].sh_link >= n)
			continue;
		for (size_t k = 0; k < s[i].sh_size / sizeof(*entry) && entry[k].d_tag != DT_NULL; k++)
			if (entry[k].d_tag == tag)
				each(library_text(f, &s[s[i].sh_link], (uint32_t)entry[k].d_un.d_val), arg);
	}
}

void library_weaken(const char *path)
{
	struct library_file f = library_open(path);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	unsigned n;
	const Elf64_Shdr *s = library_table(&f, &n);

	for (unsigned i = 0; i < n && fd >= 0; i++) {
		const Elf64_Sym *symbol = (void *)library_contents(&f, &s[i]);
		if (s[i].sh_type != SHT_SYMTAB || !symbol || s[i].sh_offset % 8)
			continue;
		for (size_t k = s[i].sh_info; k < s[i].sh_size / sizeof(*symbol); k++) {
			unsigned char info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(symbol[k].st_info));
			if (ELF64_ST_BIND(symbol[k].st_info) == STB_GNU_UNIQUE &&
			    pwrite(fd, &info, 1, (const char *)&symbol[k].st_info - f.at) != 1)
				break;
		}
	}
	if (fd >= 0)
		close(fd);
	library_close(&f);
}
