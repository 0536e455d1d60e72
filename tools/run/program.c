/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/run/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/job/boot.h"
#include "tools/tools.h"
#include "tweed/driver/protocol.h"
#include "tweed/driver/transport.h"

#define NOTE_OWNER "Tweed"

/* Kinds of notes: texts NAME=VALUE, each ended by a zero; the last is tw_boot_interface. */
enum program_note { NOTE_SETTINGS = 1, NOTE_LARGE, NOTE_INTERFACE };

#define PROGRAM_LARGE ((size_t)128 << 20) /* writable memory; from this size on, NOTE_LARGE applies, too */

/* A mapped executable; without parts: it is none. */
struct program {
	char *at;
	size_t bytes;
	const Elf64_Phdr *part;
	unsigned parts;
};

static struct program program_open(const char *path)
{
	struct program f = {.at = MAP_FAILED};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return f;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size >= sizeof(Elf64_Ehdr)) {
		f.bytes = (size_t)st.st_size;
		f.at = mmap(NULL, f.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	if (f.at == MAP_FAILED)
		return f;
	const Elf64_Ehdr *head = (void *)f.at;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
	    head->e_phentsize == sizeof(*f.part) && head->e_phoff % 8 == 0 && head->e_phoff <= f.bytes &&
	    head->e_phnum <= (f.bytes - head->e_phoff) / sizeof(*f.part)) {
		f.part = (void *)(f.at + head->e_phoff);
		f.parts = head->e_phnum;
	}
	return f;
}

static void program_close(struct program *f)
{
	if (f->at != MAP_FAILED)
		munmap(f->at, f->bytes);
}

static size_t program_writable(const struct program *f)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < f->parts; i++)
		if (f->part[i].p_type == PT_LOAD && (f->part[i].p_flags & PF_W))
			bytes += f->part[i].p_memsz;
	return bytes;
}

size_t program_data(const char *path)
{
	struct program f = program_open(path);
	size_t bytes = program_writable(&f);

	program_close(&f);
	return bytes;
}

/* Tweed's note of that kind in a part; NULL: there is none. */
static const char *note_of(const struct program *f, const Elf64_Phdr *part, enum program_note kind, size_t *bytes)
{
	size_t align = part->p_align == 8 ? 8 : 4, at = part->p_offset, end = at + part->p_filesz;
	Elf64_Nhdr head;

	if (end < at || end > f->bytes)
		return NULL;
	while (at < end && end - at >= sizeof(head)) {
		memcpy(&head, f->at + at, sizeof(head));
		size_t name = at + sizeof(head), text = TW_ALIGN_UP(name + head.n_namesz, align);
		if (text + head.n_descsz > end)
			return NULL;
		if (head.n_type == kind && head.n_namesz == sizeof(NOTE_OWNER) &&
		    memcmp(f->at + name, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0) {
			*bytes = head.n_descsz;
			return f->at + text;
		}
		at = TW_ALIGN_UP(text + head.n_descsz, align);
	}
	return NULL;
}

/* Are the settings compatible?  Migrating homes cause requests at faults, acquires and releases, page by page: not over
 * a network. */
static bool settings_go(const struct tw_config *config)
{
	const struct tw_protocol *protocol = tw_protocol_find(config->protocol);
	const struct tw_transport *transport = tw_transport_find(config->transport);
	char error[1024];

	return tw_settings_check(config, error, sizeof(error)) == 0 &&
	       (!(protocol->flags & TW_PROTOCOL_HOMES_MOVE) || (transport->caps & TW_NET_ONE_HOST));
}

/* Handle one NAME=VALUE: applied if @wanted.  Settings that name files or commands are left to the user. */
static int settings_set(const char *path, const char *text, bool wanted, struct tw_settings *settings,
                        enum tw_origin *origins)
{
	const struct tw_setting *s = tw_settings;
	size_t len = strcspn(text, "=");
	struct tw_settings with = *settings;
	char error[1024];

	while (s->name && (strlen(s->name) != len || memcmp(s->name, text, len) != 0))
		s++;
	if (!s->name || s->type == TW_SETTING_TEXT || !text[len]) {
		tool_say("'%s' asks for '%s', which is no setting that a program can choose; link it anew", path, text);
		return -EINVAL;
	}
	if (tw_settings_set(&with, NULL, s, text + len + 1, TW_ORIGIN_PROGRAM, error, sizeof(error)) < 0) {
		tool_say("'%s' asks for a setting that cannot be: %s; link it anew", path, error);
		return -EINVAL;
	}
	enum tw_origin *origin = &origins[s - tw_settings];
	if (wanted && *origin == TW_ORIGIN_DEFAULT && settings_go(&with.config)) {
		*settings = with;
		*origin = TW_ORIGIN_PROGRAM;
	}
	return 0;
}

/* Tweed's note of that kind; NULL: there is none. */
static const char *program_note(const struct program *f, enum program_note kind, size_t *bytes)
{
	const char *note = NULL;

	for (unsigned i = 0; i < f->parts && !note; i++)
		if (f->part[i].p_type == PT_NOTE)
			note = note_of(f, &f->part[i], kind, bytes);
	return note;
}

/* The number of a program that this tweed cannot start differs from this tweed's. */
static int interface_check(const char *path, const struct program *f)
{
	size_t bytes;
	const char *number = program_note(f, NOTE_INTERFACE, &bytes);

	if (!number || (bytes == sizeof(tw_boot_interface) && !memcmp(number, &tw_boot_interface, bytes)))
		return 0;
	tool_say("'%s' was built by another version of Tweed than this one: build it again, or start it by the tweed "
	         "that built it",
	         path);
	return -EINVAL;
}

/* Apply the note of that kind. */
static int settings_take(const char *path, const struct program *f, enum program_note kind,
                         struct tw_settings *settings, enum tw_origin *origins)
{
	bool wanted = kind == NOTE_SETTINGS || program_writable(f) >= PROGRAM_LARGE;
	size_t bytes = 0;
	const char *text = program_note(f, kind, &bytes);
	int status = 0;

	if (text && (!bytes || text[bytes - 1])) {
		tool_say("'%s' has a damaged note of its settings; link it anew", path);
		status = -EINVAL;
	}
	for (size_t at = 0; text && at < bytes && !status; at += strlen(text + at) + 1)
		if (text[at])
			status = settings_set(path, text + at, wanted, settings, origins);
	return status;
}

int program_settings(const char *path, struct tw_settings *settings, enum tw_origin *origins)
{
	struct program f = program_open(path);
	int status = interface_check(path, &f);

	if (!status)
		status = settings_take(path, &f, NOTE_SETTINGS, settings, origins);
	if (!status)
		status = settings_take(path, &f, NOTE_LARGE, settings, origins);
	program_close(&f);
	return status;
}

/* ---- programs that were not built for Tweed --------------------------------------------------------------------- */

/* The string table of the dynamic section: names of needed libraries, and of symbols, each between zeroes. */
static const char *program_names(const struct program *f, size_t *bytes)
{
	const Elf64_Dyn *entry = NULL, *end = NULL;
	uint64_t at = 0, size = 0;

	for (unsigned i = 0; i < f->parts; i++)
		if (f->part[i].p_type == PT_DYNAMIC && f->part[i].p_offset % 8 == 0 &&
		    f->part[i].p_offset <= f->bytes && f->part[i].p_filesz <= f->bytes - f->part[i].p_offset) {
			entry = (void *)(f->at + f->part[i].p_offset);
			end = entry + f->part[i].p_filesz / sizeof(*entry);
		}
	for (; entry < end; entry++) {
		at = entry->d_tag == DT_STRTAB ? entry->d_un.d_ptr : at;
		size = entry->d_tag == DT_STRSZ ? entry->d_un.d_val : size;
	}
	for (unsigned i = 0; i < f->parts && at; i++) {
		const Elf64_Phdr *part = &f->part[i];
		uint64_t inside = at - part->p_vaddr;
		if (part->p_type != PT_LOAD || at < part->p_vaddr || inside > part->p_filesz ||
		    size > part->p_filesz - inside || part->p_offset > f->bytes ||
		    inside + size > f->bytes - part->p_offset)
			continue;
		*bytes = size;
		return f->at + part->p_offset + inside;
	}
	*bytes = 0;
	return "";
}

/* Is there a name with this prefix? */
static bool program_has(const char *names, size_t bytes, const char *name)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%c%s", 0, name);

	return bytes && memmem(names, bytes, text, (size_t)n);
}

/* What libraries, or functions, of other systems show about a program; the first match counts.  The commands have room
 * for c or c++. */
static const struct program_other {
	const char *name, *is, *mend;
} program_others[] = {
    {"libmpi", "an MPI program, which Tweed does not run", "start it by mpirun"},
    {"libsma.", "linked with another OpenSHMEM", "build it with 'tweed osh%s', and start it by 'tweed oshrun'"},
    {"liboshmem", "linked with another OpenSHMEM", "build it with 'tweed osh%s', and start it by 'tweed oshrun'"},
    {"libgomp.", "an OpenMP program of another compiler", "build it with 'tweed omp %s'"},
    {"libomp.", "an OpenMP program of another compiler", "build it with 'tweed omp %s'"},
    {"libiomp5.", "an OpenMP program of another compiler", "build it with 'tweed omp %s'"},
    {"pthread_create", "a program of threads that were not made for it", "build it with 'tweed %s --pthreads'"},
    {"thrd_create", "a program of threads that were not made for it", "build it with 'tweed %s --pthreads'"},
    {"", "not built for Tweed", "build it with 'tweed %s' or, for threads, 'tweed %s --pthreads'"},
};

static bool program_of_system(const char *path)
{
	char real[PATH_MAX];

	return !realpath(path, real) || (strncmp(real, "/usr/", 5) == 0 && strncmp(real, "/usr/local/", 11) != 0);
}

void program_warn(const char *path, unsigned times)
{
	struct program f = program_open(path);
	size_t bytes;
	const char *names = program_names(&f, &bytes);
	const char *compiler = program_has(names, bytes, "libstdc++.") ? "c++" : "cc";
	/* A program of Tweed's contains this text; its arguments may have asked for nothing that needs a job. */
	bool ours = f.parts && memmem(f.at, f.bytes, "TWEED_BOOT", sizeof("TWEED_BOOT"));

	for (size_t i = 0; !ours && i < sizeof(program_others) / sizeof(*program_others); i++) {
		const struct program_other *other = &program_others[i];
		char mend[128];
		if (*other->name ? !program_has(names, bytes, other->name) : !f.parts || program_of_system(path))
			continue;
		snprintf(mend, sizeof(mend), other->mend, compiler, compiler);
		tool_say("warning: '%s' ran %u times, each by itself: it is %s; %s", path, times, other->is, mend);
		break;
	}
	program_close(&f);
}
