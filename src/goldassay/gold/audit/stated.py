"""Agreement that a card states as measured, against the two or more passes that it names.

A card may state figures, where a bare promise (``">0.85"``) says only what is to be::

    inter_annotator_agreement:
      passes: [first/extraction.jsonl, second/extraction.jsonl]
      records: 60
      strict_f1: {value: 0.9727, low: 0.9527, high: 0.9893}

The passes lie in the set. Each figure is measured again from them: values and bounds must agree to four places (the
bootstrap is seeded), and so must the number of records that all annotators have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.gold.audit.finding import Finding
from goldassay.gold.sets import CARD

FIELD = "inter_annotator_agreement"
ROUNDING = 0.5e-4 + 1e-9


def audit(task: str, said: Mapping[str, Any], folder: Path) -> Iterator[Finding]:
    """What a card states of a task's agreement, measured again; a card that states no figures is left alone."""
    stated = said.get(FIELD)
    if not isinstance(stated, Mapping):
        return
    where = f"tasks.{task}.{FIELD}"
    passes = stated.get("passes")
    if not isinstance(passes, list) or len(passes) < 2 or not all(isinstance(one, str) for one in passes):
        yield _finding("agreement is stated without 'passes', the list of files that it was measured on", where)
        return
    files = [folder / one for one in passes]
    for one, file in zip(passes, files, strict=True):
        if not file.resolve().is_relative_to(folder.resolve()):
            yield _finding(f"{one!r} lies outside the set", f"{where}.passes")
            return
    try:
        from goldassay.gold.agreement import agree_files

        found = agree_files(files, task)
    except (GoldassayError, OSError) as error:
        yield _finding(f"agreement is stated, and its passes cannot be compared: {error}", f"{where}.passes")
        return
    measured: dict[str, dict[str, float]] = {}
    for figure in found.figures:
        if figure.type is None and figure.interval is not None:
            bounds = figure.interval
            known = {"value": bounds.value, "low": bounds.low, "high": bounds.high}
            # Of several pairs the lowest counts, as for promises.
            if figure.name not in measured or known["value"] < measured[figure.name]["value"]:
                measured[figure.name] = known
    for name, value in stated.items():
        at = f"{where}.{name}"
        if name == "records":
            if value != found.records:
                yield _finding(f"{value} records are stated, and the passes share {found.records}", at)
        elif isinstance(value, Mapping):
            yield from _figure(str(name), value, measured, at)


def _figure(
    name: str, stated: Mapping[str, Any], measured: Mapping[str, Mapping[str, float]], at: str
) -> Iterator[Finding]:
    if name not in measured:
        yield _finding(f"{name} is stated, and the passes give {', '.join(measured)}", at)
        return
    for part, value in measured[name].items():
        number = stated.get(part)
        if number is None:
            continue
        if not isinstance(number, (int, float)) or not abs(number - value) <= ROUNDING:
            yield _finding(f"{name} {part} {number} is stated, and {value:.4f} was measured between the passes", at)


def _finding(message: str, field: str) -> Finding:
    return Finding("promise", message, CARD, field=field)
