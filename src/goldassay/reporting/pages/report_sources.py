"""The sources of a report: run folders, a tuning folder, the agreement of a judge, and what extensions read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.extensions import Kind, of_kind, registered
from goldassay.judges.agreement import JudgeAgreement
from goldassay.reporting.tuning import Tuning
from goldassay.results.view import Sentence, View
from goldassay.running.folder import run_at
from goldassay.running.head import HEAD
from goldassay.running.run import Run, logged_runs
from goldassay.running.summary import model_name
from goldassay.tuning.proofs import read_proofs


class Sources(TypedDict):
    """The first arguments of `goldassay.reporting.pages.report`."""

    runs: list[Run]
    tuning: Tuning | None
    views: list[View]


def sources(places: Sequence[Path]) -> Sources:
    """Reads the arguments of `report` from run folders, one tuning folder, files of ``goldassay judge eval --json``,
    proofs of prompts (``PROGRAM.proof.json``), and whatever an extension reads as runs (logs of other tools) or shows
    (folders of reviews).

    Raises:
        GoldassayError: There is no place, a place is no run, or there are several tunings.
        DataError: A file is neither a log nor the agreement of a judge, or a review is broken.
    """
    if not places:
        raise GoldassayError(
            "a report needs a run folder, a tuning folder, a log of another tool, the proof of a prompt, the agreement "
            "of a judge as JSON, or the folder of a review"
        )
    runs: list[Run] = []
    views: list[View] = []
    tuning: Tuning | None = None
    for place in places:
        folder = run_at(place)
        if (folder / "tuning.json").is_file():
            if tuning is not None:
                raise GoldassayError(f"{folder}: a report shows one tuning, and it already shows {tuning.folder}")
            tuning = Tuning.load(folder)
            runs += map(Run.load, tuning.runs)
        elif place.name.endswith(".proof.json"):
            views += [proof.view() for proof in read_proofs(place)]
        elif view := _first("views", place):
            views.append(view)
        elif not (folder / HEAD).is_file() and (logged := logged_runs(place)):
            runs += logged
        elif place.is_file():
            views.append(_judge(place))
        else:
            runs.append(Run.load(folder))
    return {"runs": runs, "tuning": tuning, "views": views}


def _first(kind: Kind, place: Path) -> Any:
    """What the first extension that knows this file or folder reads or shows of it; None if none does."""
    return next((result for read in of_kind(kind).values() if (result := read(place))), None)


def _judge(file: Path) -> View:
    try:
        value = files.json_value(file)
        agreement = files.validated(
            JudgeAgreement, value.get("agreement", value) if isinstance(value, dict) else value, file
        )
    except DataError:
        logs = ", ".join(registered("readers"))
        message = (
            f"neither the agreement of a judge as JSON nor a log that an extension reads ({logs or 'none is there'})"
        )
        raise DataError(message, file=file) from None
    named = replace(agreement, judge=model_name(agreement.judge))
    return [Sentence("A judge compared with people", "head"), *named.view()]
