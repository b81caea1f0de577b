"""The rows of a run: in memory if they are few, else only in their file, from which they are read when asked for.

One walk over them gives the values, in all and by stratum (`fold`). With repeats there is a row for each answer, and
here the answers to an example become its row (`example_row`), so that whatever reads a run sees examples.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any, overload

from goldassay import jsonl
from goldassay.fields import cluster, identity, read
from goldassay.measure import Assessment
from goldassay.statistics.evidence import flat, joined, nested, stacked
from goldassay.tally.evidence import Evidence

Row = dict[str, Any]
FEW = 20_000  # rows that stay in memory too
FACETS = ("language", "strata")  # fields of a gold example that its row repeats, beside its document
CHUNK = 4096  # rows whose evidence is put into columns at once


class Rows(Sequence[Row]):
    """Rows in the order of their examples and repeats; ``file`` is the file that holds them, if any.

    Of more than `FEW` rows only the offsets in the file stay in memory. A row has a number of its own: that of its
    example times the ``repeats`` of the run, plus its repeat, counted from 0.

    >>> rows = Rows(repeats=2)
    >>> rows.add({"index": 7, "id": "b", "repeat": 2}), rows.add({"index": 2, "id": "a", "repeat": 1})
    (None, None)
    >>> [row["id"] for row in rows], rows.numbers, rows[-1]["id"], list(rows.missing(3))
    (['a', 'b'], [4, 15], 'b', [0, 2, 1, 3, 5])
    """

    def __init__(self, file: Path | None = None, repeats: int = 1) -> None:
        self.file, self.repeats = file and file.absolute(), repeats  # a program may change the current folder
        self.cached: dict[int, Row] | None = {}
        self._offsets: dict[int, int] = {}
        self._order: list[int] | None = None

    def number(self, row: Row) -> int:
        """The number of a row."""
        return int(row["index"] * self.repeats + row.get("repeat", 1) - 1)

    def add(self, row: Row, offset: int = 0) -> None:
        """Add a row whose line starts at this offset of the file; it replaces an earlier one of its number."""
        number = self.number(row)
        self._offsets[number], self._order = offset, None
        if self.cached is not None:
            self.cached[number] = row
            if len(self.cached) > FEW and self.file is not None:
                self.cached = None

    def drop(self, number: int) -> None:
        """Forget a row."""
        del self._offsets[number]
        self._order = None
        if self.cached is not None:
            del self.cached[number]

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of the rows, in order."""
        if self._order is None:
            self._order = sorted(self._offsets)
        return self._order

    def missing(self, size: int) -> Iterator[int]:
        """The numbers of the rows that ``size`` examples lack, one repeat after the other."""
        numbers = (index * self.repeats + repeat for repeat in range(self.repeats) for index in range(size))
        return (number for number in numbers if number not in self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Row]:
        return self._read(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return list(self._read(self.numbers[at]))
        return next(self._read([self.numbers[at]]))

    def _read(self, numbers: Sequence[int]) -> Iterator[Row]:
        if self.cached is not None:
            return map(self.cached.__getitem__, numbers)
        return jsonl.rows_at(self.file or Path(), map(self._offsets.__getitem__, numbers))


def example_rows(answers: Iterable[Row], evidence: Callable[[Row], Evidence]) -> list[Row]:
    """One row an example (`example_row`), from the rows of a run with repeats."""
    return [example_row(list(group), evidence) for _, group in groupby(answers, itemgetter("index"))]


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
    paths = list(flat(total.state()))
    row["tallies"] = nested([path for path, _ in paths], [number / len(answers) for _, number in paths])
    for name in ("score", "latency_s"):
        row |= {name: fmean(answer[name] for answer in answers)} if name in row else {}
    usage = sum((Counter(answer.get("usage", {})) for answer in answers), Counter[str]())
    errors = [error for answer in answers for error in answer.get("errors", ())]
    some = {"truncated": any(answer.get("truncated") for answer in answers), "usage": dict(usage), "errors": errors}
    some["retried"] = sum(answer.get("retried", 0) for answer in answers)
    return {key: value for key, value in {**row, **some}.items() if value or key not in some}


def facets(row: Mapping[str, Any]) -> dict[str, str]:
    """What a row's example belongs to: its strata, and its language if it has one.

    >>> facets({"strata": {"tier": 1}, "language": "nl"})
    {'tier': '1', 'language': 'nl'}
    """
    language = {"language": row["language"]} if row.get("language") else {}
    return {key: str(value) for key, value in {**(row.get("strata") or {}), **language}.items()}


@dataclass
class Folded:
    """The sums over the rows of a run.

    ``clusters`` has the document of each row, if any two share one; ``columns`` the evidence by measure, as tallies
    whose fields are arrays.
    """

    total: Evidence
    by_stratum: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    columns: dict[str, Any] = field(default_factory=dict)
    clusters: list[int] | None = None
    failed: int = 0
    truncated: int = 0


def fold(rows: Iterable[tuple[Mapping[str, Any], Evidence]], zero: Evidence) -> Folded:
    """Fold rows with their evidence, in their order; none of them stays in memory."""
    folded = Folded(zero)
    strata: dict[tuple[str, str], tuple[int, Evidence]] = {}
    chunk: list[Evidence] = []
    chunks: list[dict[str, Any]] = []
    numbers: dict[Any, int] = {}
    documents = array("q")
    for place, (row, evidence) in enumerate(rows):
        folded.total = folded.total + evidence
        folded.failed += bool(row.get("error"))
        folded.truncated += bool(row.get("truncated"))
        for facet in facets(row).items():
            size, part = strata.get(facet, (0, zero))
            strata[facet] = size + 1, part + evidence
        documents.append(numbers.setdefault(cluster(row, place), len(numbers)))
        chunk.append(evidence)
        if len(chunk) == CHUNK:
            chunks.append(_columns(chunk, zero))
            chunk = []
    chunks += [_columns(chunk, zero)] if chunk else []
    folded.columns = {key: joined([columns[key] for columns in chunks], zero[key]) for key in zero} if chunks else {}
    folded.clusters = documents.tolist() if len(numbers) < len(documents) else None
    folded.by_stratum = {
        name: {
            key: {"examples": size, **values(part)}
            for (stratum, key), (size, part) in sorted(strata.items())
            if stratum == name
        }
        for name in dict.fromkeys(stratum for stratum, _ in strata)
    }
    return folded


def _columns(rows: Sequence[Evidence], zero: Evidence) -> dict[str, Any]:
    return {key: stacked([evidence[key] for evidence in rows], zero[key]) for key in zero}


def values(total: Evidence) -> dict[str, float]:
    """Each measure's corpus value; measures without evidence are left out."""
    return {key: float(tally.value) for key, tally in total.items() if tally.weight > 0}


def errors_by_type(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many errors each type has: gold's type, else the predicted one, else the kind of error.

    >>> errors_by_type([{"errors": [{"kind": "missed", "gold_type": "TOP"}, {"kind": "spurious", "pred_type": "TOP"}]}])
    {'TOP': 2}
    """
    errors = [error for row in rows for error in row.get("errors", ())]
    return dict(Counter(error.get("gold_type") or error.get("pred_type") or error["kind"] for error in errors))


def record(row: Mapping[str, Any], evidence: Evidence) -> dict[str, object]:
    """A row as a flat record: id, strata, score, each measure's value, errors, seconds, tokens, inputs."""
    usage = row.get("usage") or {}
    parts = {"input": row.get("inputs"), "gold": row.get("gold"), "prediction": row.get("prediction")}
    return {
        "id": row["id"],
        **{f"stratum.{name}": key for name, key in facets(row).items()},
        "score": row["score"],
        **{name: float(tally.value) if tally.weight else None for name, tally in evidence.items()},
        "failed": row.get("error", ""),
        "errors": len(row.get("errors", ())),
        "seconds": row.get("latency_s"),
        "calls": usage.get("calls", 0),
        "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        **{
            f"{part}.{name}": value if isinstance(value, str | int | float | None) else jsonl.dumps(value)
            for part, fields in parts.items()
            for name, value in (fields or {}).items()
            if (part, name) != ("gold", "id")
        },
    }


def messages(call: Mapping[str, Any]) -> list[dict[str, str]]:
    """The messages of a call, as role and text.

    >>> messages({"messages": None, "prompt": "Where is Delft?"})
    [{'role': 'user', 'content': 'Where is Delft?'}]
    """
    parts = call.get("messages") or [{"role": "user", "content": call.get("prompt") or ""}]
    return [{"role": str(part["role"]), "content": text(part.get("content"))} for part in parts]


def answer(outputs: object) -> str:
    """The outputs of a call as text; several completions follow each other.

    >>> answer(["Delft", {"text": "Gouda", "logprobs": None}])
    'Delft\\n\\nGouda'
    """
    return "\n\n".join(map(text, outputs if isinstance(outputs, (list, tuple)) else [outputs]))


def text(content: object) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(map(text, content))
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return str(content)


def measured_row(index: int, example: Any, assessed: Mapping[str, Assessment[Any]]) -> Row:
    """What the row of an example holds of its gold and its assessments."""
    row: Row = {"index": index, "id": identity(example, index)}
    document = cluster(example, index)
    row |= {"document": document} if isinstance(document, str) else {}
    row |= {key: value for key in FACETS if (value := read(example, key, None))}
    row["tallies"] = {key: assessment.tally.state() for key, assessment in assessed.items()}
    if errors := dict.fromkeys(error for assessment in assessed.values() for error in assessment.errors):
        row["errors"] = [error.state() for error in errors]
    return row
