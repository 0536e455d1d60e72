#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shmem.sh - shmem_bench under Tweed and under another OpenSHMEM, in turn, from one source; a table of medians and figures.
#
#     results/shmem.sh BUILD OUT [PES [PREFIX...]]
#
# BUILD: Tweed's build folder.  OUT: a folder for what comes out: tweed, other (NAME|VALUE|UNIT of all rounds), table, *.png.
# OTHER_CC, OTHER_RUN: the other one's compiler and launcher.  OPTIONS: of `tweed oshrun`.  ROUNDS: 3.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$1 out=$2 pes=${3:-2}
shift 2
[ $# = 0 ] || shift
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$out"
${OTHER_CC:-oshcc} -O2 -o "$out/bench" "$here/apps/shmem_bench.c"
: >"$out/tweed" >"$out/other"
for round in $(seq "${ROUNDS:-3}"); do
	"$build/tools/tweed" oshrun -n "$pes" ${OPTIONS:-} "$build/apps/shmem_bench" "$@" >>"$out/tweed"
	${OTHER_RUN:-oshrun --oversubscribe} -n "$pes" "$out/bench" "$@" >>"$out/other"
done

# The median of each measurement, in the order of the first round.
medians() {
	awk -F'|' '
	{ if (!n[$1]++) name[++names] = $1; v[$1, n[$1]] = $2; unit[$1] = $3 }
	END {
		for (i = 1; i <= names; i++) {
			m = name[i]
			for (a = 2; a <= n[m]; a++)
				for (b = a; b > 1 && v[m, b] + 0 < v[m, b - 1] + 0; b--) { t = v[m, b]; v[m, b] = v[m, b - 1]; v[m, b - 1] = t }
			print m, v[m, int((n[m] + 1) / 2)], unit[m]
		}
	}' "$1"
}
medians "$out/tweed" >"$out/tweed.median"
medians "$out/other" >"$out/other.median"
awk 'NR == FNR { t[$1] = $2; next } $1 in t { printf "%-26s %12.4f %12.4f %-5s %8.2f\n", $1, t[$1], $2, $3, t[$1] / ($2 ? $2 : 1) }' \
	"$out/tweed.median" "$out/other.median" >"$out/table"
cat "$out/table"

# A figure for each family that goes over sizes.
command -v gnuplot >/dev/null || exit 0
for family in put.fence put.barrier get put.stream get.stream broadcast collect fcollect alltoall reduce; do
	awk -v f="$family." 'index($1, f) == 1 && substr($1, length(f) + 1) ~ /^[0-9]+$/ { print substr($1, length(f) + 1), $2, $3 }' \
		"$out/table" >"$out/$family.dat"
	[ -s "$out/$family.dat" ] || continue
	case $family in *stream) unit=MB/s ;; *) unit=us ;; esac
	gnuplot <<-GNUPLOT
		set terminal pngcairo size 700,450
		set output "$out/$family.png"
		set logscale xy
		set xlabel "bytes"
		set ylabel "$unit"
		set key left top
		set title "$family, $pes PEs"
		plot "$out/$family.dat" using 1:2 with linespoints title "Tweed", "" using 1:3 with linespoints title "the other"
	GNUPLOT
done
