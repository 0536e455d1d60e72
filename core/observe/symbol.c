/* SPDX-License-Identifier: BSD-3-Clause */
/* symbol.c - the function and source line of an instruction, in this process or in a program's file.
 *
 * libdw knows static functions and source lines. It is loaded on first use, because programs are not linked with it. If
 * it is missing at build or at run time, the dynamic linker's symbols are used. */
#include "core/observe/symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "core/base/library.h"
#include "core/base/base.h"

/* The first object is the program itself. */
static int symbol_first(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct tw_symbol_program *program = ctx;

	(void)bytes;
	program->base = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			program->end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

void tw_symbol_program(struct tw_symbol_program *program)
{
	dl_iterate_phdr(symbol_first, program);
}

/* The last component of a path. */
static const char *symbol_file(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

static void symbol_dladdr(uintptr_t ip, char *out, size_t bytes)
{
	Dl_info info;

	if (!dladdr((void *)ip, &info))
		tw_format(out, bytes, "%p", (void *)ip);
	else if (info.dli_sname)
		tw_format(out, bytes, "%s+0x%lx", info.dli_sname, (unsigned long)(ip - (uintptr_t)info.dli_saddr));
	else
		tw_format(out, bytes, "%s+0x%lx", symbol_file(info.dli_fname),
		          (unsigned long)(ip - (uintptr_t)info.dli_fbase));
}

#ifdef TW_LIBDW
#include <elfutils/libdwfl.h>

#define SYMBOL_CALLS(X)                                                                                                \
	X(dwfl_begin)                                                                                                  \
	X(dwfl_linux_proc_report)                                                                                      \
	X(dwfl_report_elf)                                                                                             \
	X(dwfl_report_end)                                                                                             \
	X(dwfl_addrmodule)                                                                                             \
	X(dwfl_module_addrinfo)                                                                                        \
	X(dwfl_module_getsymtab)                                                                                       \
	X(dwfl_module_getsym)                                                                                          \
	X(dwfl_module_getsrc)                                                                                          \
	X(dwfl_module_nextcu)                                                                                          \
	X(dwarf_haspc)                                                                                                 \
	X(dwfl_getsrclines)                                                                                            \
	X(dwfl_onesrcline)                                                                                             \
	X(dwfl_lineinfo) X(dwfl_linux_proc_find_elf) X(dwfl_standard_find_debuginfo)

static struct {
#define X(name) __typeof__(name) *name;
	SYMBOL_CALLS(X)
#undef X
	Dwfl_Callbacks callbacks;
	bool tried, complete;
} symbol;

/* Both live until the process exits. NULL: not available. */
struct symbol_dwfl {
	Dwfl *dwfl;
	Dwfl_Module *module; /* the file's */
	bool tried;
};

static bool symbol_load(void)
{
	if (symbol.tried)
		return symbol.complete;
	symbol.tried = true;
	void *libdw = tw_library_open("libdw.so.1");
	symbol.complete = libdw != NULL;
#define X(name) symbol.complete = symbol.complete && (*(void **)&symbol.name = dlsym(libdw, #name)) != NULL;
	SYMBOL_CALLS(X)
#undef X
	symbol.callbacks.find_elf = symbol.dwfl_linux_proc_find_elf;
	symbol.callbacks.find_debuginfo = symbol.dwfl_standard_find_debuginfo;
	return symbol.complete;
}

/* Open libdw's view of process @pid as of the first call, or of the file at @path, loaded at its own addresses. */
static Dwfl *symbol_open(struct symbol_dwfl *s, const char *path, pid_t pid)
{
	if (s->tried || !symbol_load())
		return s->dwfl;
	s->tried = true;
	Dwfl *dwfl = symbol.dwfl_begin(&symbol.callbacks);
	if (dwfl && path)
		s->module = symbol.dwfl_report_elf(dwfl, path, path, -1, 0, true);
	bool reported = dwfl && (path ? s->module != NULL : symbol.dwfl_linux_proc_report(dwfl, pid) == 0);
	if (reported && symbol.dwfl_report_end(dwfl, NULL, NULL) == 0)
		s->dwfl = dwfl;
	return s->dwfl;
}

static struct symbol_dwfl symbol_process, symbol_other;

void tw_symbol_variables(const char *path, uintptr_t from, uintptr_t to,
                         void (*each)(void *ctx, const char *name, uintptr_t address, size_t bytes), void *ctx)
{
	Dwfl *dwfl = symbol_open(&symbol_other, path, 0);
	int symbols = dwfl ? symbol.dwfl_module_getsymtab(symbol_other.module) : 0;
	GElf_Sym sym;

	for (int i = 0; i < symbols; i++) {
		const char *name = symbol.dwfl_module_getsym(symbol_other.module, i, &sym, NULL);
		if (name && GELF_ST_TYPE(sym.st_info) == STT_OBJECT && sym.st_size && sym.st_value >= from &&
		    sym.st_value < to)
			each(ctx, name, sym.st_value, sym.st_size);
	}
}

/* Returns the line of @ip. clang writes no address table, so then each unit is searched. */
static Dwfl_Line *symbol_line(Dwfl_Module *module, uintptr_t ip)
{
	Dwfl_Line *found = symbol.dwfl_module_getsrc(module, ip);
	Dwarf_Addr bias, address, best = 0;
	size_t lines;

	for (Dwarf_Die *unit = NULL; !found && (unit = symbol.dwfl_module_nextcu(module, unit, &bias));) {
		if (symbol.dwarf_haspc(unit, ip - bias) != 1 || symbol.dwfl_getsrclines(unit, &lines) != 0)
			continue;
		for (size_t i = 0; i < lines; i++) {
			Dwfl_Line *line = symbol.dwfl_onesrcline(unit, i);
			if (symbol.dwfl_lineinfo(line, &address, NULL, NULL, NULL, NULL) && address <= ip &&
			    address >= best) {
				best = address;
				found = line;
			}
		}
	}
	return found;
}

static bool symbol_libdw(const char *path, pid_t pid, uintptr_t ip, char *out, size_t bytes)
{
	Dwfl *dwfl = symbol_open(path ? &symbol_other : &symbol_process, path, pid);
	Dwfl_Module *module = dwfl ? symbol.dwfl_addrmodule(dwfl, ip) : NULL;
	GElf_Off offset;
	GElf_Sym sym;
	int line = 0;

	const char *name = module ? symbol.dwfl_module_addrinfo(module, ip, &offset, &sym, NULL, NULL, NULL) : NULL;
	if (!name)
		return false;
	size_t n = tw_format(out, bytes, "%s+0x%lx", name, (unsigned long)offset);
	Dwfl_Line *source = symbol_line(module, ip);
	const char *file = source ? symbol.dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) : NULL;
	if (file)
		tw_format(out + n, bytes - n, " (%s:%d)", symbol_file(file), line);
	return true;
}
#else
void tw_symbol_variables(const char *path, uintptr_t from, uintptr_t to,
                         void (*each)(void *ctx, const char *name, uintptr_t address, size_t bytes), void *ctx)
{
	(void)path, (void)from, (void)to, (void)each, (void)ctx;
}

static bool symbol_libdw(const char *path, pid_t pid, uintptr_t ip, char *out, size_t bytes)
{
	(void)path;
	(void)pid;
	(void)ip;
	(void)out;
	(void)bytes;
	return false;
}
#endif

void tw_symbol_text(uintptr_t ip, char *out, size_t bytes)
{
	if (!symbol_libdw(NULL, getpid(), ip, out, bytes))
		symbol_dladdr(ip, out, bytes);
}

void tw_symbol_of_file(const char *path, uintptr_t address, char *out, size_t bytes)
{
	if (!symbol_libdw(path, 0, address, out, bytes))
		tw_format(out, bytes, "%s+0x%lx", symbol_file(path), (unsigned long)address);
}

void tw_symbol_of_process(pid_t pid, uintptr_t ip, char *out, size_t bytes)
{
	if (!symbol_libdw(NULL, pid, ip, out, bytes))
		tw_format(out, bytes, "0x%lx", (unsigned long)ip);
}
