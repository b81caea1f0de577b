"""The rows of a run: in memory if they are few, else only in their file, from which they are read when asked for.

One walk over them gives the values, in all and by stratum (`fold`). With repeats there is a row for each answer, and
the answers to an example become its row (`example_row`), so that whatever reads a run sees examples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay import jsonl
from goldassay.fields import Fields, Record, cluster, identity, read
from goldassay.measure import Assessment
from goldassay.statistics.design import SAMPLING, Design
from goldassay.statistics.evidence import Chunks, chosen, scaled, stacked
from goldassay.tally import Evidence, flat, nested

Row = dict[str, Any]
FEW = 20_000  # rows that stay in memory too
FACETS = ("language", "strata")  # fields of a gold example that its row repeats, beside its document
CHUNK = 4096  # rows whose evidence is put into columns at once


class Rows(Sequence[Row]):
    """Rows in the order of their examples and repeats; ``file`` is the file that holds them, if any.

    Of those in a file the first `FEW` stay in memory, and of the others their offsets in the file. A row has a number
    of its own: that of its example times the ``repeats`` of the run, plus its repeat, counted from 0.

    >>> rows = Rows(repeats=2)
    >>> rows.add({"index": 7, "id": "b", "repeat": 2}), rows.add({"index": 2, "id": "a", "repeat": 1})
    (None, None)
    >>> [row["id"] for row in rows], rows.numbers, rows[-1]["id"], list(rows.missing(3))
    (['a', 'b'], [4, 15], 'b', [0, 2, 1, 3, 5])
    """

    def __init__(self, file: Path | None = None, repeats: int = 1) -> None:
        self.file = file and file.absolute()  # a program may change the current folder
        self.repeats = repeats
        self._places: dict[int, Row | int] = {}
        self._order: list[int] | None = None

    def number(self, row: Row) -> int:
        """The number of a row."""
        return int(row["index"] * self.repeats + row.get("repeat", 1) - 1)

    def add(self, row: Row, offset: int = 0) -> None:
        """Add a row whose line starts at this offset of the file; it replaces an earlier one of its number."""
        stays = self.file is None or len(self._places) < FEW
        self._places[self.number(row)] = row if stays else offset
        self._order = None

    def drop(self, number: int) -> None:
        """Forget a row."""
        del self._places[number]
        self._order = None

    @property
    def numbers(self) -> list[int]:
        """The numbers of the rows, in order."""
        self._order = self._order or sorted(self._places)
        return self._order

    def missing(self, size: int) -> Iterator[int]:
        """The numbers of the rows that ``size`` examples lack, one repeat after the other."""
        numbers = (index * self.repeats + repeat for repeat in range(self.repeats) for index in range(size))
        return (number for number in numbers if number not in self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Row]:
        return self._read(self.numbers)

    def __getitem__(self, at: Any) -> Any:
        numbers = self.numbers[at]
        return list(self._read(numbers)) if isinstance(numbers, list) else next(self._read([numbers]))

    def _read(self, numbers: Sequence[int]) -> Iterator[Row]:
        places = [self._places[number] for number in numbers]
        offsets = [place for place in places if isinstance(place, int)]
        stored = jsonl.rows_at(self.file, offsets) if self.file and offsets else iter(())
        for place in places:
            yield next(stored) if isinstance(place, int) else place


def example_row(answers: Sequence[Row], evidence: Callable[[Row], Evidence]) -> Row:
    """The row of an example, from its answers: an example counts once, however often it was asked.

    Tallies, score and seconds are means, usage is a sum, and errors are those of all answers. The rest (prediction,
    prompts) is that of the first answer that did not fail, so that an example failed if all of them did.

    >>> from goldassay.tally import Counts
    >>> answers = [{"index": 0, "score": 1.0, "tallies": {"f1": {"tp": tp, "fp": 0, "fn": 0}}} for tp in (1, 2)]
    >>> example_row(answers, lambda row: Evidence({"f1": Counts()}).from_state(row["tallies"]))["tallies"]
    {'f1': {'tp': 1.5, 'fp': 0.0, 'fn': 0.0}}
    """
    row = dict(next((answer for answer in answers if not answer.get("error")), answers[0]))
    row.pop("repeat", None)
    total = sum(map(evidence, answers[1:]), evidence(answers[0]))
    row["tallies"] = nested({path: number / len(answers) for path, number in flat(total.state()).items()})
    for name in ("score", "latency_s"):
        row |= {name: fmean(answer[name] for answer in answers)} if name in row else {}
    usage = sum((Counter(answer.get("usage", {})) for answer in answers), Counter[str]())
    errors = [error for answer in answers for error in answer.get("errors", ())]
    some = {"truncated": any(answer.get("truncated") for answer in answers), "usage": dict(usage), "errors": errors}
    return {key: value for key, value in {**row, **some}.items() if value or key not in some}


def check_parts(row: Record) -> None:
    """Check that seconds and tokens of a row are numbers, and that its inputs and its gold are objects.

    Raises:
        TypeError: A number is none.
        ValueError: A number is not finite, or a part is no object.
    """
    finite = math.isfinite(sum([row.get("latency_s") or 0.0, *(row.get("usage") or {}).values()]))
    if not finite or not all(isinstance(row.get(name) or {}, Mapping) for name in ("inputs", "gold")):
        raise ValueError("not a row: seconds and tokens are numbers, inputs and gold objects")


def facets(row: Record) -> dict[str, str]:
    """The strata of a row's example, and its language if it has one.

    >>> facets({"strata": {"tier": 1}, "language": "nl"})
    {'tier': '1', 'language': 'nl'}
    """
    language = {"language": row["language"]} if row.get("language") else {}
    return {key: str(value) for key, value in {**(row.get("strata") or {}), **language}.items()}


class Folded:
    """The sums over the rows of a run, some rows at a time: those of a large run do not stay in memory.

    ``clusters`` has the document of each row, if any two share one; ``columns`` the evidence by measure, as tallies
    whose fields are arrays. Rows whose examples were chosen by a ``design`` are weighed by it.
    """

    def __init__(self, rows: Sequence[Row], evidence_of: Callable[[Row], Evidence], zero: Evidence) -> None:
        self.total = zero
        counts = Counter[str]()
        sums: dict[tuple[tuple[str, str], ...], tuple[int, Evidence]] = {}  # by what rows belong to: one addition a row
        chunks = Chunks(zero)
        numbers: dict[Any, int] = {}
        documents: list[int] = []
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            evidence = list(map(evidence_of, chunk))
            chunks.add({key: stacked([each[key] for each in evidence], zero[key]) for key in zero}, len(chunk))
            for place, (row, each) in enumerate(zip(chunk, evidence, strict=True), start):
                counts.update(name for name in ("error", "truncated", SAMPLING) if row.get(name))
                documents.append(numbers.setdefault(cluster(row, place), len(numbers)))
                belongs = tuple(facets(row).items())
                size, part = sums.get(belongs, (0, zero))
                sums[belongs] = size + 1, part + each
        strata: dict[str, dict[str, tuple[int, Evidence]]] = {}
        for belongs, (number, each) in sums.items():
            self.total = self.total + each
            for name, key in belongs:
                size, part = strata.setdefault(name, {}).get(key, (0, zero))
                strata[name][key] = size + number, part + each
        self.columns = dict(chunks) if rows else {}
        self.clusters = documents if len(numbers) < len(documents) else None
        self.design = Design.of(rows) if counts[SAMPLING] else None
        self.failed = counts["error"]
        self.truncated = counts["truncated"]
        self.by_stratum = {
            name: {key: {"examples": size, **values(part)} for key, (size, part) in sorted(keys.items())}
            for name, keys in strata.items()
        }
        if self.design:
            self._weigh(self.design, rows, zero)

    def _weigh(self, design: Design, rows: Sequence[Row], zero: Evidence) -> None:
        """Let each row count for the inputs that it stands for; without a level there is no value."""
        self.total = zero
        self.by_stratum = {}
        if design.weights is None:
            return
        weighted = {key: scaled(columns, design.weights) for key, columns in self.columns.items()}
        self.total = zero.with_items({key: columns.summed for key, columns in weighted.items()})
        places: dict[tuple[str, str], list[int]] = {}
        for place, row in enumerate(rows):
            for belongs in facets(row).items():
                places.setdefault(belongs, []).append(place)
        for (name, key), part in sorted(places.items()):
            total = zero.with_items({each: chosen(columns, part).summed for each, columns in weighted.items()})
            self.by_stratum.setdefault(name, {})[key] = {"examples": len(part), **values(total)}


def values(total: Evidence) -> dict[str, float]:
    """Each measure's corpus value; measures without evidence are left out."""
    return {key: float(tally.value) for key, tally in total.items() if tally.weight > 0}


def record(row: Record, evidence: Evidence) -> Fields:
    """A row as a flat record: id, strata, score, each measure's value, errors, seconds, tokens, inputs."""
    usage = row.get("usage") or {}
    flat_row: Fields = {"id": row["id"]}
    flat_row |= {f"stratum.{name}": key for name, key in facets(row).items()}
    flat_row |= {"score": row["score"]}
    flat_row |= {name: float(tally.value) if tally.weight else None for name, tally in evidence.items()}
    flat_row |= {"failed": row.get("error", ""), "errors": len(row.get("errors", ())), "seconds": row.get("latency_s")}
    flat_row |= {"calls": usage.get("calls", 0)}
    flat_row |= {"tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)}
    for side, part in (("inputs", "input"), ("gold", "gold"), ("prediction", "prediction")):
        for name, value in (row.get(side) or {}).items():
            if (part, name) != ("gold", "id"):
                plain = isinstance(value, str | int | float | None)
                flat_row[f"{part}.{name}"] = value if plain else jsonl.dumps(value)
    return flat_row


def measured_row(index: int, example: Any, assessed: Mapping[str, Assessment]) -> Row:
    """The part of an example's row that comes from its gold and its assessments."""
    row: Row = {"index": index, "id": identity(example, index)}
    document = cluster(example, index)
    row |= {"document": document} if isinstance(document, str) else {}
    row |= {key: value for key in (*FACETS, SAMPLING) if (value := read(example, key, None))}
    row["tallies"] = {key: assessment.tally.state() for key, assessment in assessed.items()}
    if errors := dict.fromkeys(error for assessment in assessed.values() for error in assessment.errors):
        row["errors"] = [error.state() for error in errors]
    return row
