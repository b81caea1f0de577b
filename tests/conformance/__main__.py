"""Replay official results and compare with installed implementations: ``python -m tests.conformance``.

``--data FOLDER`` names the folder of official files (default: ``../shared/data``, or ``GOLDASSAY_DATA``); ``--fetch
FOLDER`` downloads those that are public first; ``--only NAME`` (repeat) chooses suites and implementations. Prints
``N of M`` for each suite and in total, and exits with 1 if a number differs.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.conformance import live, official, suites

from goldassay._support.exceptions import GoldassayError


def main() -> None:
    """Parse the call, replay, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("GOLDASSAY_DATA", "../shared/data")))
    parser.add_argument("--fetch", type=Path, metavar="FOLDER")
    parser.add_argument("--only", action="append", choices=[*suites.SUITES, *live.ORACLES])
    arguments = parser.parse_args()
    not_fetched = official.fetch(arguments.fetch) if arguments.fetch else []
    data = arguments.fetch or arguments.data
    names = arguments.only or [*live.ORACLES, *suites.SUITES]
    replayed = [name for name in names if name in suites.SUITES]
    if not arguments.only:  # all that are there
        replayed = [name for name in replayed if (data / suites.SUITES[name][0]).is_dir()]
    try:
        results = live.run([name for name in names if name in live.ORACLES])
        results += suites.run(data, replayed) if replayed else []
    except GoldassayError as error:
        sys.exit(str(error))
    for result in results:
        print(f"{result.name}: {result.missing or f'{result.reproduced} of {result.total}'}")
        for difference in result.differences:
            print(f"  {difference}")
    for line in not_fetched:
        print(f"not fetched: {line}", file=sys.stderr)
    reproduced, total = sum(each.reproduced for each in results), sum(each.total for each in results)
    print(f"{reproduced} of {total}")
    sys.exit(1 if not_fetched or reproduced < total else 0)


if __name__ == "__main__":
    main()
