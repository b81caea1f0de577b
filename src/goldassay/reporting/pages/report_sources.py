"""The sources of a report: run folders, a tuning folder, logs of other tools, judges' agreement, folders of reviews."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import Fields
from goldassay.gold.modes import REVIEW
from goldassay.reporting.pages.reviews import review_of
from goldassay.reporting.summary import model_name
from goldassay.reporting.tuning import Tuning
from goldassay.running.folder import run_at
from goldassay.running.logs import read_log, runs_at, split_name
from goldassay.running.logs.tools import KINDS
from goldassay.running.run import Run


class Sources(TypedDict):
    """The first arguments of `goldassay.reporting.pages.report`."""

    runs: list[Run]
    tuning: Tuning | None
    judges: list[Fields]
    reviews: list[Fields]


def sources(places: Sequence[Path]) -> Sources:
    """Reads the arguments of `report` from run folders, one tuning folder, logs of other tools, files of
    ``goldassay judge align --json``, and folders of reviews.

    Raises:
        GoldassayError: There is no place, a place is no run, or there are several tunings.
        DataError: A file is neither a log nor the agreement of a judge, or a review is broken.
    """
    if not places:
        raise GoldassayError(
            "a report needs a run folder, a tuning folder, a log of another tool, the agreement of a judge as JSON, or "
            "the folder of a review"
        )
    runs: list[Run] = []
    judges: list[Fields] = []
    reviews: list[Fields] = []
    tuning: Tuning | None = None
    for place in places:
        if split_name(place)[0].is_file():
            logged = read_log(place)
            runs += logged
            judges += [] if logged else [_judge(place)]
            continue
        if (place / REVIEW).is_file():
            from goldassay.reviewing.exporting import reviewed_traces  # which loads a server

            reviews.append(review_of(place, reviewed_traces(place)))
            continue
        folder = run_at(place)
        if not (folder / "tuning.json").is_file():
            runs += runs_at(folder)
            continue
        if tuning is not None:
            raise GoldassayError(f"{folder}: a report shows one tuning, and it already shows {tuning.folder}")
        tuning = Tuning.load(folder)
        runs += map(Run.load, tuning.runs)
    return {"runs": runs, "tuning": tuning, "judges": judges, "reviews": reviews}


def _judge(file: Path) -> Fields:
    try:
        agreement = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        agreement = None
    if not isinstance(agreement, dict) or "judge" not in agreement:
        raise DataError(f"neither the agreement of a judge as JSON nor a log of {KINDS}", file=file)
    return {**agreement, "judge": model_name(agreement["judge"])}
