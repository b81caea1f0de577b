"""``goldassay compare``: runs on the same gold, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.running.comparing import by_stratum, compared, errors_by_type, worked


def run(folders: Sequence[Path], *, test: str = "permutation", seed: int = 0, as_json: bool = False) -> None:
    """Compare and print."""
    from goldassay.reporting import runs as tables

    if len(folders) < 2:
        raise GoldassayError("compare needs two runs or more")
    runs = [Run.load(folder) for folder in folders]
    usable = [made for made in runs if worked(made)]
    missing = [str(made.folder) for made in runs if not worked(made)]
    arms = [made if worked(made) else None for made in runs]
    found = compared(usable, test=test, seed=seed) if len(usable) > 1 else []
    if as_json:
        body = {
            "runs": [{**made.summary(), "available": worked(made)} for made in runs],
            "comparisons": [one.state() for one in found],
            "by": by_stratum(arms),
            "errors": errors_by_type(arms),
            "not_available": missing,
        }
        print(json.dumps(body, ensure_ascii=False))
        return
    tables.comparison(runs, found, missing)
    tables.parts(by_stratum(arms), errors_by_type(arms), next(iter(usable[0].values), "") if usable else "")
