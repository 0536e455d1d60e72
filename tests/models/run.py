#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the models beside this file with Spin, one line per run.

A model's header lists its runs:
    pan:  FLAGS   remark    must pass: full search, no error
    fail: FLAGS   remark    must fail: the search must find an error
FLAGS are -D options for spin.  Usage: run.py [MODEL.pml ...]   (TWEED_SPIN_MEMORY: MiB, 2000)
Exit status: 0 all as required, 1 otherwise, 77 spin or the compiler is missing (meson: skipped).
"""
import concurrent.futures
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY = os.environ.get('TWEED_SPIN_MEMORY', '2000')
CC = os.environ.get('CC', 'gcc').split()
DEPTH = '2000000'


def runs(model):
    """(must_fail, flags) of each run in the model's header."""
    with open(model) as f:
        header = f.read().split('*/\n#', 1)[0]
    for line in re.finditer(r'^ \* (pan|fail):((?: +-D\S+)*)', header, re.M):
        yield line.group(1) == 'fail', line.group(2).split()


def call(args, folder):
    done = subprocess.run(args, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def check(model, must_fail, flags):
    """Run one variant; returns (as required, verdict, states)."""
    with tempfile.TemporaryDirectory(prefix='tweed-model-') as folder:
        shutil.copy(model, folder)
        status, text = call(['spin', *flags, '-a', os.path.basename(model)], folder)
        if status or 'Error' in text or not os.path.exists(os.path.join(folder, 'pan.c')):
            return False, 'spin refuses it:\n' + text, 0
        status, text = call([*CC, '-O0' if must_fail else '-O1', '-w', '-DSAFETY', '-DMEMLIM=' + MEMORY, '-o', 'pan',
                             'pan.c'], folder)
        if status:
            return False, 'the compiler refuses it:\n' + text[:500], 0
        status, text = call(['./pan', '-w24', '-m' + DEPTH], folder)
    errors = re.search(r'errors: (\d+)', text)
    states = re.search(r'(\d+) states, stored', text)
    states = int(states.group(1)) if states else 0
    # A search that met the depth limit or full memory proves nothing.
    if not errors or 'max search depth too small' in text or 'Search not completed' in text and errors.group(1) == '0':
        return False, 'search not complete:\n' + text, states
    why = re.search(r'pan:\d+: (assertion violated|invalid end state)', text)
    if errors.group(1) == '0':
        return not must_fail, 'no error', states
    return must_fail and why is not None, why.group(1) if why else 'error:\n' + text, states


def timed(variant):
    started = time.monotonic()
    return *check(*variant), time.monotonic() - started


def main():
    if not shutil.which('spin') or not shutil.which(CC[0]):
        print('spin or the compiler is not installed')
        return 77
    models = sys.argv[1:] or sorted(os.path.join(HERE, f) for f in os.listdir(HERE) if f.endswith('.pml'))
    good, begun = True, time.monotonic()
    todo = []
    for model in models:
        variants = [(os.path.abspath(model), must_fail, flags) for must_fail, flags in runs(model)]
        todo += variants
        if not variants:
            good = False
            print('NOT OK %s: its header names no runs' % os.path.basename(model))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:  # each process uses at most MEMORY
        for (model, must_fail, flags), (fine, verdict, states, seconds) in zip(todo, pool.map(timed, todo)):
            good = good and fine
            print('%s %-14s %-46s %-4s %9d states %5.1f s  %s' % (
                'ok    ' if fine else 'NOT OK', os.path.basename(model), ' '.join(flags),
                'fail' if must_fail else 'pass',
                states, seconds, verdict), flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print('%s; %.0f s, of them %.0f s computing' % ('all as they must be' if good else 'SOME NOT AS THEY MUST BE',
                                                    time.monotonic() - begun, used.ru_utime + used.ru_stime))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
