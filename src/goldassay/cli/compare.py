"""``goldassay compare``: runs on the same gold, side by side, with paired tests corrected for their number."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders; all are compared with the first.")
    ],
    test: Annotated[
        str, typer.Option(metavar="NAME", help="permutation, bootstrap, paired_t, wilcoxon or mcnemar.")
    ] = "permutation",
    seed: use.Seed = 0,
    json: use.Json = False,
) -> None:
    """Compare runs on the same gold: paired tests, intervals, which examples were won and lost."""
    from goldassay.reporting import runs as tables
    from goldassay.running import Run
    from goldassay.running.comparing import by_stratum, compared, errors_by_type, worked

    if len(runs) < 2:
        raise GoldassayError("compare needs two runs or more")
    loaded = [Run.load(folder) for folder in runs]
    usable = [made for made in loaded if worked(made)]
    missing = [str(made.folder) for made in loaded if not worked(made)]
    arms = [made if worked(made) else None for made in loaded]
    found = compared(usable, test=test, seed=seed) if len(usable) > 1 else []
    if json:
        body = {
            "runs": [{**made.summary(), "available": worked(made)} for made in loaded],
            "comparisons": [one.state() for one in found],
            "by": by_stratum(arms),
            "errors": errors_by_type(arms),
            "not_available": missing,
        }
        terminal.answer(body)
        return
    tables.comparison(loaded, found, missing)
    tables.parts(by_stratum(arms), errors_by_type(arms), next(iter(usable[0].values), "") if usable else "")
