#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Torture whose processors are stopped and continued at random moments: a signal ends a fault's sleep early, and the
# access is tried again while the fault is still being served.  Usage: paused.sh TWEED TORTURE BACKEND [SEEDS]
set -u
tweed=$1 torture=$2 backend=$3 seeds=${4:-60} log=$(mktemp)
TWEED_TWINS=1M timeout 100 "$tweed" run -n 2 -p 4 --fault "$backend" "$torture" --seeds "7000:$seeds" >"$log" 2>&1 &
job=$!
while kill -0 $job 2>/dev/null; do
	mapfile -t agents < <(pgrep -P "$(pgrep -P $job -d, || echo $job)" -d, | tr ',' '\n')
	processors=$(for a in "${agents[@]}"; do pgrep -P "$a"; done)
	[ -n "$processors" ] || { sleep 0.01; continue; }
	# shellcheck disable=SC2086
	kill -STOP $processors 2>/dev/null
	sleep 0.00$((RANDOM % 9 + 1))
	# shellcheck disable=SC2086
	kill -CONT $processors 2>/dev/null
	sleep 0.0$((RANDOM % 4 + 1))
done
wait $job
status=$?
tail -n 3 "$log"
rm -f "$log"
exit $status
