# SPDX-License-Identifier: BSD-3-Clause
"""Every kernel at a size for slow networks, and every protocol."""

KERNELS = [("sor", "--rows 128 --columns 128 --iterations 5"), ("gauss", "--size 96"), ("lu", "--size 96 --block 16"),
           ("clu", "--size 96 --block 16"), ("em3d", "--nodes 2000 --iterations 4"), ("ilink", "--thetas 1"), ("tsp", "--cities 11"),
           ("water", "--molecules 64 --steps 2"), ("barnes", "--bodies 512 --steps 1"),
           ("volrend", "--size 32 --pixels 32 --frames 1"), ("fft", "--log 12"), ("radix", "--keys 16384"),
           ("ocean", "--size 33 --steps 2"), ("cholesky", "--side 8")]
PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "1L", "TS", "simple"]


def program(kernel, protocol):
    """Where a build has @kernel as @protocol needs it."""
    folder = "apps" if kernel in ("sor", "gauss", "em3d", "ilink", "tsp") else "splash"
    return f"tests/instrument/{kernel}-gcc" if protocol == "1L" else f"{folder}/{kernel}"
