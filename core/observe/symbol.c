/* SPDX-License-Identifier: BSD-3-Clause */
/* symbol.c - the function and source line of an instruction, in a process or in a program's file; a thread's stack.
 *
 * libdw knows static functions and source lines. It is loaded on first use, because programs are not linked with it. If
 * it is missing at build or at run time, the dynamic linker's symbols are used. */
#include "core/observe/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/library.h"
#include "core/base/base.h"

#define SYMBOL_NAME 100u /* most of a function's name that is shown, with its end */

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

const char *tw_symbol_built;

#ifdef TW_LIBDW
#include <dwarf.h>
#include <elfutils/libdwfl.h>

#define SYMBOL_CALLS(X)                                                                                                \
	X(dwfl_begin)                                                                                                  \
	X(dwfl_end)                                                                                                    \
	X(dwfl_attach_state)                                                                                           \
	X(dwfl_linux_proc_attach)                                                                                      \
	X(dwfl_getthreads)                                                                                             \
	X(dwfl_thread_getframes)                                                                                       \
	X(dwfl_thread_state_registers)                                                                                 \
	X(dwfl_frame_pc)                                                                                               \
	X(dwfl_module_info)                                                                                            \
	X(dwfl_module_addrdie)                                                                                         \
	X(dwfl_module_addrname)                                                                                        \
	X(dwarf_attr)                                                                                                  \
	X(dwarf_formstring)                                                                                            \
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

/* Both live until the process exits, or another process is looked at. NULL: not available. */
struct symbol_dwfl {
	Dwfl *dwfl;
	Dwfl_Module *module; /* the file's */
	bool tried;
	pid_t pid;
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
	if (!symbol_load() || (s->tried && s->pid == pid))
		return s->dwfl;
	if (s->dwfl)
		symbol.dwfl_end(s->dwfl);
	*s = (struct symbol_dwfl){.tried = true, .pid = pid};
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

/* C++: the name as in the program, if its library is there; allocated, or NULL. */
static char *symbol_demangled(const char *name)
{
	static char *(*demangle)(const char *name, char *out, size_t *bytes, int *status);
	static bool tried;
	int status;

	if (strncmp(name, "_Z", 2) != 0)
		return NULL;
	if (!tried) {
		void *library = tw_library_open("libstdc++.so.6");
		*(void **)&demangle = library ? dlsym(library, "__cxa_demangle") : NULL;
	}
	tried = true;
	return demangle ? demangle(name, NULL, NULL, &status) : NULL;
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
	char *demangled = symbol_demangled(name);
	size_t n = tw_format(out, TW_MIN(bytes, SYMBOL_NAME), "%s", demangled ? demangled : name);
	free(demangled);
	if (n > strlen(TW_SYMBOL_OWN) && strcmp(out + n - strlen(TW_SYMBOL_OWN), TW_SYMBOL_OWN) == 0)
		n -= strlen(TW_SYMBOL_OWN);
	n += tw_format(out + n, bytes - n, "%s+0x%lx", n == SYMBOL_NAME - 1 ? "..." : "", (unsigned long)offset);
	Dwfl_Line *source = symbol_line(module, ip);
	const char *file = source ? symbol.dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) : NULL;
	if (file)
		tw_format(out + n, bytes - n, " (%s:%d)", symbol_file(file), line);
	return true;
}

/* ---- stacks ---- */

static const char *symbol_unit_text(Dwarf_Die *unit, unsigned name)
{
	Dwarf_Attribute attribute;

	return unit && symbol.dwarf_attr(unit, name, &attribute) ? symbol.dwarf_formstring(&attribute) : NULL;
}

/* Is the unit of the code at @ip Tweed's own, as the build compiles it? */
static bool symbol_is_tweed(Dwfl_Module *module, uintptr_t ip)
{
	static const char *const ours[] = {"../core/",      "../net/",     "../pgas/",
	                                   "../protocols/", "../runtime/", "../sync/"};
	Dwarf_Addr bias;
	Dwarf_Die *unit = symbol.dwfl_module_addrdie(module, ip, &bias);
	const char *folder = symbol_unit_text(unit, DW_AT_comp_dir), *file = symbol_unit_text(unit, DW_AT_name);

	if (!folder || !file || !tw_symbol_built || strcmp(folder, tw_symbol_built) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strncmp(file, ours[i], strlen(ours[i])) == 0)
			return true;
	return false;
}

static enum tw_frame_of symbol_frame_of(Dwfl *dwfl, uintptr_t ip)
{
	static const char *const common[] = {"libc.",    "libm.", "libstdc++.",   "libgcc_s.",  "libpthread.",
	                                     "ld-linux", "[vdso", "libjemalloc.", "libfabric.", "libgfortran."};
	Dwfl_Module *module = symbol.dwfl_addrmodule(dwfl, ip);
	const char *function = module ? symbol.dwfl_module_addrname(module, ip) : NULL;
	const char *name =
	    module ? symbol_file(symbol.dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) : NULL;

	for (size_t i = 0; name && i < sizeof(common) / sizeof(common[0]); i++)
		if (!strncmp(name, common[i], strlen(common[i])))
			return TW_FRAME_COMMON;
	if (function && strcmp(function, "_start") == 0)
		return TW_FRAME_COMMON;
	return module && symbol_is_tweed(module, ip) ? TW_FRAME_TWEED : TW_FRAME_PROGRAM;
}

struct symbol_stack {
	Dwfl *dwfl;
	pid_t pid, tid;
	const uint64_t *registers;
	struct tw_frame *frame;
	unsigned frames;
	void (*each)(void *ctx, const struct tw_frame *frame, unsigned frames);
	void *ctx;
};

static int symbol_frame(Dwfl_Frame *state, void *stack)
{
	struct symbol_stack *s = stack;
	Dwarf_Addr ip;
	bool active;

	if (s->frames == TW_FRAMES || !symbol.dwfl_frame_pc(state, &ip, &active) || ip <= 1)
		return DWARF_CB_ABORT;
	ip -= !active;
	s->frame[s->frames++] = (struct tw_frame){ip, symbol_frame_of(s->dwfl, ip)};
	return DWARF_CB_OK;
}

static int symbol_thread(Dwfl_Thread *thread, void *stack)
{
	struct tw_frame frame[TW_FRAMES];
	struct symbol_stack *s = stack;

	s->frame = s->registers ? s->frame : frame;
	s->frames = 0;
	symbol.dwfl_thread_getframes(thread, symbol_frame, s);
	if (s->each && s->frames)
		s->each(s->ctx, s->frame, s->frames);
	return DWARF_CB_OK;
}

static pid_t symbol_next_thread(Dwfl *dwfl, void *stack, void **thread)
{
	const struct symbol_stack *s = stack;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = stack;
	return s->tid;
}

static bool symbol_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *stack)
{
	const struct symbol_stack *s = stack;
	struct iovec to = {result, sizeof(*result)}, from = {(void *)address, sizeof(*result)};

	(void)dwfl;
	return process_vm_readv(s->pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(*result);
}

static bool symbol_registers(Dwfl_Thread *thread, void *stack)
{
	const struct symbol_stack *s = stack;

	return symbol.dwfl_thread_state_registers(thread, 0, TW_REGISTERS, s->registers);
}

unsigned tw_symbol_unwind(pid_t pid, pid_t tid, const uint64_t registers[TW_REGISTERS],
                          struct tw_frame frame[TW_FRAMES])
{
	static const Dwfl_Thread_Callbacks callbacks = {
	    .next_thread = symbol_next_thread, .memory_read = symbol_read, .set_initial_registers = symbol_registers};
	struct symbol_stack s = {.dwfl = symbol_open(&symbol_process, NULL, pid),
	                         .pid = pid,
	                         .tid = tid,
	                         .registers = registers,
	                         .frame = frame};

	if (s.dwfl && symbol.dwfl_attach_state(s.dwfl, NULL, pid, &callbacks, &s))
		symbol.dwfl_getthreads(s.dwfl, symbol_thread, &s);
	return s.frames;
}

int tw_symbol_threads(pid_t pid, void (*each)(void *ctx, const struct tw_frame *frame, unsigned frames), void *ctx)
{
	struct symbol_stack s = {.dwfl = symbol_open(&symbol_process, NULL, pid), .pid = pid, .each = each, .ctx = ctx};

	if (!symbol.complete)
		return -ENOSYS;
	int error = s.dwfl ? symbol.dwfl_linux_proc_attach(s.dwfl, pid, false) : ESRCH;
	if (error)
		return error > 0 ? -error : -EPERM;
	return symbol.dwfl_getthreads(s.dwfl, symbol_thread, &s) < 0 ? -EPERM : 0;
}
#else
unsigned tw_symbol_unwind(pid_t pid, pid_t tid, const uint64_t registers[TW_REGISTERS],
                          struct tw_frame frame[TW_FRAMES])
{
	(void)pid, (void)tid, (void)registers, (void)frame;
	return 0;
}

int tw_symbol_threads(pid_t pid, void (*each)(void *ctx, const struct tw_frame *frame, unsigned frames), void *ctx)
{
	(void)pid, (void)each, (void)ctx;
	return -ENOSYS;
}

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
