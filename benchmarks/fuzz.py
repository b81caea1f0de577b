"""100,000 damaged files through every reader: how many were read, how many refused in one line, and what else happened.

``python -m benchmarks fuzz``; ``GOLDASSAY_FUZZ=times,seed`` changes how long and from where.
"""

from __future__ import annotations

import os
import time

from goldassay.proof import fuzz
from goldassay.proof.fuzz import readers


def main() -> None:
    times, _, seed = os.environ.get("GOLDASSAY_FUZZ", "100000,0").partition(",")
    started = time.perf_counter()
    found = fuzz.run(int(times), int(seed or 0))
    seconds = time.perf_counter() - started
    print(f"fuzz: {int(times):,} damaged files through {len(readers())} readers in {seconds:.0f} s")
    print(f"  read {found.read.total():,}, refused in one line {found.refused.total():,}, faults {len(found.faults):,}")
    for label, why, content in found.faults[:20]:
        print(f"  {label}: {why[:200]} on {content[:200]!r}")
