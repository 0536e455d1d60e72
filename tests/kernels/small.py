# SPDX-License-Identifier: BSD-3-Clause
"""Every kernel at its size for slow networks, and every protocol."""
import os
import tomllib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
with open(os.path.join(ROOT, "results/applications.toml"), "rb") as f:
    APPLICATIONS = tomllib.load(f)
FIRST = ["sor", "gauss", "lu", "clu"]  # where not all are run
KERNELS = [(name, APPLICATIONS[name]["sizes"]["tiny"]) for name in FIRST + [a for a in APPLICATIONS if a not in FIRST]]
PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "1L", "TS", "simple"]


def program(kernel, protocol):
    """Where a build has @kernel as @protocol needs it."""
    if protocol == "1L":
        return f"tests/instrument/{kernel}-gcc"
    return f"apps/{kernel}" if os.path.exists(os.path.join(ROOT, f"apps/{kernel}.c")) else f"splash/{kernel}"
