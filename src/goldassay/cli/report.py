"""``goldassay report``: runs, a tuning and judges as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError


def report(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...",
            help="Run folders, the first is the baseline; a tuning's folder; what `judge align --json` wrote.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write.")] = Path("report.html"),
    seed: use.Seed = 0,
    force: use.Force = False,
) -> None:
    """Write one HTML file to look at: values, errors, every example. It opens from disk, offline."""
    from goldassay.reporting import pages, terminal

    use.free(out, force)
    found = pages.sources(runs or [])
    text = pages.report(found.runs, tuning=found.tuning, judges=found.judges, seed=seed)
    write(out, text)
    terminal.line(f"Written: {out}, {len(text.encode()) / 1e6:.1f} MB. Open it in a browser.")


def write(file: Path, text: str) -> None:
    """Write a page; a folder that cannot be written to is an error of one line."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise GoldassayError(f"cannot write {file}: {error.strerror}; choose another place with --out") from None
