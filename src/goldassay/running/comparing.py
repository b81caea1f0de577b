"""Runs on the same gold beside each other: paired tests corrected for their number, what was won and lost.

Predictions that already exist become runs (`given`), so that files are compared as runs are: no program is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import ConventionError
from goldassay.fields import read
from goldassay.measure import Measure, parse, stored
from goldassay.running.example import FACETS
from goldassay.running.identity import gold_hash
from goldassay.running.run import Run
from goldassay.score import Evidence
from goldassay.statistics import Comparison, holm
from goldassay.statistics import compare as paired
from goldassay.statistics.paired import Rank, ranks

SHOWN = 2  # examples won and lost that are shown with what was wrong


@dataclass(frozen=True)
class Against:
    """One run against the first one, by one measure; ``p`` of the comparison is as tested, ``corrected`` after Holm."""

    run: Run
    measure: str
    found: Comparison
    corrected: float
    won: tuple[str, ...]
    lost: tuple[str, ...]
    shown: Mapping[str, str]
    """Some of the examples that were won and lost, with what was wrong in them."""

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "run": str(self.run.folder),
            "measure": self.measure,
            **self.found.state(),
            "corrected_p": self.corrected,
            "won": list(self.won),
            "lost": list(self.lost),
            "shown": dict(self.shown),
        }


def compare(*runs: Run | Path | str, test: str = "permutation", seed: int = 0) -> list[Against]:
    """Runs (or their folders) on the same gold against the first of them, by every measure, corrected for their number.

    >>> import dspy
    >>> from goldassay.running import evaluate
    >>> gold = [dspy.Example(text=word, label=word.upper()).with_inputs("text") for word in ("a", "b", "c", "d")]
    >>> exact = lambda gold, pred: gold["label"] == pred["label"]
    >>> one, other = (evaluate(lambda text, end=end: dspy.Prediction(label=text.upper() + end), gold, exact)
    ...               for end in ("", "!"))
    >>> (found,) = compare(other, one)
    >>> found.measure, found.found.difference, found.won
    ('score', 1.0, ('0', '1', '2', '3'))
    """
    return compared([one if isinstance(one, Run) else Run.load(one) for one in runs], test=test, seed=seed)


async def acompare(*runs: Run | Path | str, test: str = "permutation", seed: int = 0) -> list[Against]:
    """`compare` for asynchronous code: the same words, and the loop stays free."""
    return await asyncio.to_thread(compare, *runs, test=test, seed=seed)


def worked(made: Run) -> bool:
    """Whether the program worked at all; an arm that failed everywhere is not available, never a loss by 0."""
    return any(not row.get("error") for row in made.rows)


def compared(runs: Sequence[Run], *, test: str = "permutation", seed: int = 0) -> list[Against]:
    """Every run against the first one by every measure; refuses other gold and other conventions."""
    first = runs[0]
    for other in runs[1:]:
        alike(first, other)
    clusters = _documents(first)
    pairs = [(other, name) for other in runs[1:] for name in first.values if name in other.values]
    tests = [
        paired(
            other.tallies(name),
            first.tallies(name),
            first.zero[name],
            clusters=clusters,
            test=test,
            bounds=first.bounds(name),
            seed=seed,
        )
        for other, name in pairs
    ]
    corrected = holm([found.p for found in tests])
    out = []
    for (other, name), found, p in zip(pairs, tests, corrected, strict=True):
        gaps = [
            (str(row["id"]), float(b.value) - float(a.value))
            for row, a, b in zip(first.rows, first.tallies(name), other.tallies(name), strict=True)
        ]
        won = tuple(key for key, gap in sorted(gaps, key=lambda pair: -pair[1]) if gap > 1e-12)
        lost = tuple(key for key, gap in sorted(gaps, key=lambda pair: pair[1]) if gap < -1e-12)
        shown = {
            **_messages("won", won[:SHOWN], first, without=other),
            **_messages("lost", lost[:SHOWN], other, without=first),
        }
        out.append(Against(other, name, found, p, won, lost, shown))
    return out


def ranked(runs: Sequence[Run], *, seed: int = 0) -> dict[str, list[Rank]]:
    """By each measure that all runs have, the ranks that each run may have, in the order of the runs."""
    first = runs[0]
    for other in runs[1:]:
        alike(first, other)
    out = {}
    for name in first.values:
        if all(name in made.values for made in runs):
            measure = first.about["measures"].get(name, {}).get("measure")
            out[name] = ranks(
                [made.tallies(name) for made in runs],
                first.zero[name],
                clusters=_documents(first),
                lower_is_better=bool(measure) and parse(measure).lower_is_better,
                seed=seed,
            )
    return out


def _documents(made: Run) -> list[Any] | None:
    """The document of each row, where any two share one: as for the intervals of a run."""
    documents = [row.get("document", row["index"]) for row in made.rows]
    return documents if len(set(documents)) < len(documents) else None


def _messages(how: str, ids: Sequence[str], made: Run, *, without: Run) -> dict[str, str]:
    """What one run has wrong in examples and the other has not, by how it went and the example's id."""
    known = {str(row["id"]): [error["message"] for error in row.get("errors", ())] for row in without.rows}
    out: dict[str, str] = {}
    for row in made.rows:
        key = str(row["id"])
        new = [error["message"] for error in row.get("errors", ()) if error["message"] not in known.get(key, ())]
        if key in ids and (new or row.get("error")):
            out[f"{how} {key}"] = str(row.get("error") or new[0])
    return out


def by_stratum(runs: Sequence[Run | None]) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Each measure's value of each run, by stratum and key; None where a run has no evidence or is not available."""
    parts: list[Mapping[str, Any]] = [made.by_stratum if made else {} for made in runs]
    first = next(filter(None, parts), {})
    return {
        stratum: {
            key: {name: [part.get(stratum, {}).get(key, {}).get(name) for part in parts] for name in values}
            for key, values in keys.items()
        }
        for stratum, keys in first.items()
    }


def errors_by_type(runs: Sequence[Run | None]) -> dict[str, list[int | None]]:
    """How many errors each run has, by type; None for a run that is not available."""
    types = sorted({kind for made in runs if made for kind in made.errors_by_type})
    return {kind: [made.errors_by_type.get(kind, 0) if made else None for made in runs] for kind in types}


def alike(a: Run, b: Run) -> None:
    """Two runs can be compared when they are on the same examples under the same conventions."""
    if a.about["gold"] != b.about["gold"]:
        raise ConventionError(
            f"{a.folder} and {b.folder} are on different gold ({len(a.rows)} and {len(b.rows)} examples); "
            "evaluate both on the same split"
        )
    if len(a.rows) != len(b.rows):
        less, more = sorted((a, b), key=lambda run: len(run.rows))
        raise ConventionError(f"{less.folder} has {len(less.rows)} of {len(more.rows)} rows; finish it with --resume")
    if [row["id"] for row in a.rows] != [row["id"] for row in b.rows]:
        raise ConventionError(f"{a.folder} and {b.folder} stopped at different examples; finish both with --resume")
    if not set(a.about["measures"]) & set(b.about["measures"]):
        one, two = (", ".join(made.about["measures"]) for made in (a, b))
        raise ConventionError(f"{a.folder} and {b.folder} have no measure in common: {one} and {two}")
    for name, about in a.about["measures"].items():
        other = b.about["measures"].get(name)
        if other and other["conventions"] != about["conventions"]:
            raise ConventionError(f"{name} has other conventions: {about['conventions']} and {other['conventions']}")


def given(
    gold: Sequence[object],
    pred: Sequence[object],
    measures: Mapping[str, Measure[Any]],
    *,
    name: str,
    file: Path | None = None,
    protocol: str | None = None,
) -> Run:
    """A run of aligned gold and predictions, in memory: a row an example, with tallies and errors.

    ``measures`` are by the names of their values; ``file`` is where the predictions come from, and ``protocol`` the
    official one under which they were read.

    Args:
        pred: The predictions, aligned with gold.

    >>> from goldassay.measures import classification
    >>> run = given([{"id": "a", "label": "M"}], [{"label": "M"}], {"accuracy": classification.Accuracy()}, name="ours")
    >>> run.values, run.rows[0]["id"]
    ({'accuracy': 1.0}, 'a')
    """
    rows = []
    for index, (example, answer) in enumerate(zip(gold, pred, strict=True)):
        assessed = {key: measure(example, answer) for key, measure in measures.items()}
        row: dict[str, Any] = {"index": index, "id": str(read(example, "id", None) or index)}
        row |= {key: found for key in FACETS if (found := read(example, key, None))}
        row["tallies"] = {key: found.tally.state() for key, found in assessed.items()}
        errors = dict.fromkeys(error for found in assessed.values() for error in found.errors)
        if errors:
            row["errors"] = [error.state() for error in errors]
        rows.append(row)
    about = {
        "name": name,
        "status": "given",
        "gold": {"examples": len(gold), "sha256": gold_hash(gold)},
        "settings": {"protocol": protocol} if protocol else {},
        "measures": {
            key: {"measure": stored(measure), "conventions": measure.conventions, "weight": 1.0, "target": None}
            for key, measure in measures.items()
        },
    }
    zero = Evidence({key: measure.zero for key, measure in measures.items()})
    return Run(about, rows, zero, file)
