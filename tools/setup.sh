# shellcheck shell=bash
# Sourced by ./demo and ./check: install what is missing (Debian, apt), configure and build.

# To build, to run, and to draw.
tweed_packages=(gcc g++ meson ninja-build pkg-config libjemalloc-dev libjansson-dev libsodium-dev libhwloc-dev
	libpmix-dev libdw-dev libfabric-dev libibverbs-dev librdmacm-dev libpng-dev gnuplot-nox python3)
# To test, too: networks are tested in virtual machines.
tweed_test_packages=(clang clang-format libclang-rt-dev libcunit1-dev spin m4 libck-dev git libfabric-bin
	cmake autoconf automake libtool ccache ibverbs-providers qemu-system-x86 busybox-static cpio kmod iproute2)
# Services of clusters, for tests of launching.  Installed only in CI; elsewhere these tests are skipped.
[ -z "${CI:-}" ] || tweed_test_packages+=(openssh-client openssh-server openmpi-bin slurmd slurmctld slurm-client munge)

# progress TEXT - one line on a terminal, nothing elsewhere.
progress() {
	if [ -t 2 ]; then printf '\r\033[K%s' "$1" >&2; fi
}

# setup_packages PACKAGE... - apt-get install the packages that are not installed; silent unless it fails.
setup_packages() {
	local missing=() p log
	for p in "$@"; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing+=("$p")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	progress "installing ${missing[*]} ..."
	log=$(mktemp)
	local sudo=()
	[ "$(id -u)" -eq 0 ] || sudo=(sudo)
	local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
	if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
		progress ''
		cat "$log" >&2
		echo "could not install ${missing[*]}: install them by hand, then run this again" >&2
		rm -f "$log"
		exit 2
	fi
	rm -f "$log"
}

# setup_build DIR MESON-OPTIONS... - configure once, compile; silent unless it fails.  setup_only: a regular expression;
# only the programs whose paths match it are built, with what they need.
setup_only=
setup_build() {
	local dir=$1 log targets=()
	shift
	log=$(mktemp)
	[ -z "${CI:-}" ] || local -x CCACHE_DISABLE=1 # the cache is empty there
	progress "building $dir ..."
	if [ ! -f "$dir/build.ninja" ]; then
		meson setup "$dir" "$@" >"$log" 2>&1 || { progress ''; cat "$log" >&2; rm -f "$log"; exit 1; }
	fi
	if [ -n "$setup_only" ]; then
		mapfile -t targets < <(ninja -C "$dir" -t targets all | sed -n 's/: c_LINKER$//p' | grep -E "$setup_only")
	fi
	ninja -C "$dir" "${targets[@]}" >"$log" 2>&1 || { progress ''; tail -n 40 "$log" >&2; rm -f "$log"; exit 1; }
	rm -f "$log"
	progress ''
}
