/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c - symmetric global variables of shared libraries: `tweed oshcc -shared` adds a symbol that asks for them.
 * They are in the order of loading, which is the same for all PEs of a program. */
#include <link.h>

#include "pgas/shmem/shmem_impl.h"
#include "pgas/shmem/size.h"

#define LIBRARY_PAGE ((uintptr_t)4096)

struct libraries {
	struct sh_range *range;
	unsigned count, most;
};

/* Does the library define the symbol?  Where the C library has relocated the dynamic section, its entries are
 * addresses. */
static bool library_asks(const ElfW(Dyn) * d, uintptr_t base)
{
	uintptr_t names = 0;
	size_t bytes = 0;

	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			names = d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
		else if (d->d_tag == DT_STRSZ)
			bytes = d->d_un.d_val;
	}
	return names && memmem((const char *)names, bytes, "\0" SH_LIBRARY_MARK, sizeof(SH_LIBRARY_MARK) + 1);
}

/* Data and bss: the writable part, without what is read-only after relocation. */
static int library_add(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *all = arg;
	uintptr_t start = UINTPTR_MAX, end = 0, kept = 0;
	const ElfW(Dyn) *dynamic = NULL;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;

		if (h->p_type == PT_LOAD && (h->p_flags & PF_W)) {
			start = TW_MIN(start, from);
			end = TW_MAX(end, to);
		} else if (h->p_type == PT_GNU_RELRO) {
			kept = to;
		} else if (h->p_type == PT_DYNAMIC) {
			dynamic = (const void *)from;
		}
	}
	start = TW_MAX(start, kept) / LIBRARY_PAGE * LIBRARY_PAGE;
	end = TW_ALIGN_UP(end, LIBRARY_PAGE);
	if (start >= end || !dynamic || !info->dlpi_name[0] || !library_asks(dynamic, info->dlpi_addr))
		return 0; /* the executable has no name */
	if (all->count == all->most)
		tw_fatal("more than %u shared libraries have symmetric variables: link some of them into the program",
		         all->most);
	all->range[all->count++] = (struct sh_range){.base = (char *)start, .bytes = end - start};
	return 0;
}

unsigned sh_libraries(struct sh_range *range, unsigned most)
{
	struct libraries all = {.range = range, .most = most};

	dl_iterate_phdr(library_add, &all);
	return all.count;
}
