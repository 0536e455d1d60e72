/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_library.c - libfabric is loaded at run time, without the libraries of PSM on hosts without their devices.
 *
 * libpsm_infinipath and libpsm2, on which libfabric may depend, measure the clock when they are loaded, each for a
 * tenth of a second in each process.  A library of the same name that is loaded already takes their place: a substitute
 * (net/ofi/psm/psm.c).  If a substitute cannot be loaded, the library itself is. */
#include "net/ofi/port/ofi_port.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <net/ofi/psm/psm.h> /* made of psm.c, with each of the two names */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/fd.h"

#define LIBRARY_NAME "libfabric.so.1"

struct ofi_calls ofi_calls;

struct library_substitute {
	const void *image;
	size_t bytes;
	int fd;
	void *handle;
};

/* Is there a device that PSM works on? */
static bool library_device(void)
{
	static const char *const names[] = {"ipath", "qib", "hfi1"};
	DIR *devices = opendir("/sys/class/infiniband");
	bool found = false;

	for (const struct dirent *d; devices && !found && (d = readdir(devices));)
		for (unsigned i = 0; i < 3; i++)
			found = found || strncmp(d->d_name, names[i], strlen(names[i])) == 0;
	if (devices)
		closedir(devices);
	return found;
}

/* The descriptor is in Tweed's range: the path must differ from the other substitute's, and from those of the program's
 * libraries. */
static void library_substitute_open(struct library_substitute *substitute)
{
	char path[32];

	substitute->fd = tw_fd_keep(memfd_create("no-psm", MFD_CLOEXEC));
	if (substitute->fd < 0 ||
	    write(substitute->fd, substitute->image, substitute->bytes) != (ssize_t)substitute->bytes)
		return;
	tw_format(path, sizeof(path), "/proc/self/fd/%d", substitute->fd);
	substitute->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void library_substitute_close(struct library_substitute *substitute)
{
	if (substitute->handle)
		dlclose(substitute->handle); /* stays loaded while libfabric does */
	if (substitute->fd >= 0)
		tw_fd_close(substitute->fd);
}

/* dlopen of libfabric; @psm: with what its providers psm and psm2 need, else only where there are devices for them. */
static void *library_open(bool psm)
{
	struct library_substitute substitute[] = {{psm_infinipath_image, sizeof(psm_infinipath_image), -1, NULL},
	                                          {psm2_image, sizeof(psm2_image), -1, NULL}};
	bool substitutes = !psm && !library_device();

	for (unsigned i = 0; substitutes && i < 2; i++)
		library_substitute_open(&substitute[i]);
	void *library = tw_fd_library(LIBRARY_NAME);
	for (unsigned i = 0; i < 2; i++)
		library_substitute_close(&substitute[i]);
	return library || !substitutes ? library : tw_fd_library(LIBRARY_NAME);
}

int ofi_load(const char *provider, char *why, size_t why_bytes)
{
	static bool loaded;

	if (loaded)
		return 0;
	void *library = library_open(provider && strstr(provider, "psm"));
	if (!library) {
		tw_format(why, why_bytes, LIBRARY_NAME " is not installed");
		return -ENOENT;
	}
	loaded = true;
#define X(name) loaded = loaded && (*(void **)&ofi_calls.name = dlsym(library, #name)) != NULL;
	OFI_CALLS(X)
#undef X
	if (!loaded) {
		tw_format(why, why_bytes, LIBRARY_NAME " is none that we know");
		dlclose(library);
		return -ENOTSUP;
	}
	return 0;
}

const char *ofi_text(ssize_t error)
{
	return ofi_calls.fi_strerror((int)(error < 0 ? -error : error));
}
