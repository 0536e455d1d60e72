#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under mprotect the same program must end with a sentence that says what ran out and how to mend it.
# Usage: mappings.sh TWEED LARGE
limit=$(cat /proc/sys/vm/max_map_count)
[ "$limit" -le 200000 ] || { echo "vm.max_map_count is $limit: nothing to run out of"; exit 77; }
said=$("$1" run -n 2 --fault mprotect "$2" $((limit / 256 * 4)) 2>&1) && {
	echo "it did not run out of mappings: $said"
	exit 1
}
echo "$said"
grep -q 'vm.max_map_count.*TWEED_FAULT=uffd' <<<"$said"
