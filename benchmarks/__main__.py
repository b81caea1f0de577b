"""All quick benchmarks, or those named: ``python -m benchmarks [extraction loop …]``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

LONG = (
    "accept",
    "audit",
    "claims",
    "coverage",
    "edits",
    "judging",
    "labels",
    "local_lm",
    "modes",
    "loop_of_modes",
    "null",
    "optimizers",
    "report",
    "scale",
    "tuning",
)  # minutes each: they run when they are named


def main() -> None:
    folder = Path(__file__).parent
    names = sorted(file.stem for file in folder.glob("*.py") if file.stem not in ("__main__", "harness"))
    for name in sys.argv[1:] or [name for name in names if name not in LONG]:
        if name not in names:
            raise SystemExit(f"no benchmark {name!r}; there are {', '.join(names)}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
