"""The rows of a run: in memory if they are few, else only in their file, from which they are read when asked for.

One walk over them gives the evidence of all as columns (`RowColumns`), of which a `Result` is made. With repeats there
is a row for each answer, and the answers to an example become its row (`example_row`), so that whatever reads a run
sees examples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from goldassay._support import jsonl
from goldassay.core.evidence import Chunks, stacked
from goldassay.core.fields import Fields, Record, cluster, identity, read
from goldassay.core.measure import Assessment, Error
from goldassay.core.steps import Step
from goldassay.core.tally import Evidence, flat, nested
from goldassay.statistics.design import SAMPLING, SIMPLE, Design

ROWS_IN_MEMORY = 20_000  # rows that stay in memory too
ROWS_IN_COLUMNS = 4096  # rows whose evidence is put into columns at once


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of models, tokens, and answers that came from DSPy's cache."""

    calls: float = 0
    prompt_tokens: float = 0
    completion_tokens: float = 0
    cached: float = 0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return int(self.prompt_tokens) + int(self.completion_tokens)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached + other.cached,
        )

    def __bool__(self) -> bool:
        return bool(self.calls or self.prompt_tokens or self.completion_tokens or self.cached)

    @classmethod
    def of(cls, state: Record) -> Usage:
        """Usage from its JSON."""
        get = state.get
        return cls(get("calls", 0), get("prompt_tokens", 0), get("completion_tokens", 0), get("cached", 0))

    def state(self) -> dict[str, float]:
        """As JSON; ``cached`` only if there are cached answers."""
        state = {"calls": self.calls, "prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens}
        return {**state, "cached": self.cached} if self.cached else state


UNUSED = Usage()


@dataclass(slots=True)
class Row:
    """One evaluated example of a run, or one of its answers if there are ``repeats``.

    ``tallies`` holds the state of each measure's tally. With a trace it also has the example's ``inputs`` and ``gold``,
    the ``calls`` of models, each with its prompt and answer, and the ``steps`` of the program. ``waited_s``
    are seconds in which the example waited for a rate limit, ``retried`` says that an earlier try failed.
    """

    index: int
    id: str
    tallies: Record
    score: float
    repeat: int | None = None
    document: str | None = None
    language: str | None = None
    strata: Record | None = None
    sampling: Record | None = None
    errors: tuple[Error, ...] = ()
    latency_s: float | None = None
    error: str = ""
    prediction: Fields | None = None
    usage: Usage = UNUSED
    waited_s: float = 0.0
    truncated: bool = False
    inputs: Fields | None = None
    gold: Fields | None = None
    calls: tuple[Fields, ...] = ()
    steps: tuple[Step, ...] = ()
    retried: bool = False

    @classmethod
    def of(cls, state: Fields) -> Row:
        """A row from its JSON; keys of other versions of goldassay are left out.

        Raises:
            KeyError: It has no index, id, score or tallies.
            TypeError: A value has the wrong type.
        """
        get = state.get
        document = get("document")
        errors = get("errors")
        usage = get("usage")
        return cls(
            state["index"],
            state["id"],
            state["tallies"],
            state["score"],
            get("repeat"),
            None if document is None else str(document),
            get("language"),
            get("strata"),
            get("sampling"),
            tuple(Error(**error) for error in errors) if errors else (),
            get("latency_s"),
            get("error") or "",
            get("prediction"),
            Usage.of(usage) if usage else UNUSED,
            get("waited_s") or 0.0,
            bool(get("truncated")),
            get("inputs"),
            get("gold"),
            tuple(get("calls") or ()),
            tuple(Step.of(step, index) for index, step in enumerate(get("steps") or ())),
            bool(get("retried")),
        )

    def state(self) -> Fields:
        """As JSON: what is always known, then what this row has."""
        state: Fields = {"index": self.index, "id": self.id}
        for name in ("document", "language", "strata", "sampling"):
            if value := getattr(self, name):
                state[name] = value
        state["tallies"] = self.tallies
        if self.errors:
            state["errors"] = [error.state() for error in self.errors]
        state["score"] = self.score
        if self.latency_s is not None:
            state["latency_s"] = self.latency_s
        if self.error:
            state["error"] = self.error
        if self.prediction is not None:
            state["prediction"] = self.prediction
        if self.usage:
            state["usage"] = self.usage.state()
        for name in ("waited_s", "truncated"):
            if value := getattr(self, name):
                state[name] = value
        for name in ("inputs", "gold"):
            if (value := getattr(self, name)) is not None:
                state[name] = value
        if self.steps:
            state["steps"] = [step.state() for step in self.steps]
        for name in ("calls", "repeat", "retried"):
            if value := getattr(self, name):
                state[name] = value
        return state

    def check(self) -> None:
        """Check what came from a file of another program.

        Raises:
            TypeError: Seconds or tokens are not numbers.
            ValueError: A number is not finite, inputs, gold, strata or the prediction are not objects, or an error has
                something else than texts and places.
        """
        usage = self.usage
        total = usage.calls + usage.prompt_tokens + usage.completion_tokens + usage.cached + (self.latency_s or 0.0)
        objects = True
        for part in (self.inputs, self.gold, self.strata, self.prediction):
            objects = objects and (not part or isinstance(part, (dict, Mapping)))
        for error in self.errors:
            for name, value in error.state().items():
                objects = objects and isinstance(value, int if name in ("start", "end", "size", "step") else str)
        if not math.isfinite(total) or not objects:
            raise ValueError("not a row: seconds and tokens are numbers, inputs and gold objects, errors have texts")

    @property
    def facets(self) -> dict[str, str]:
        """The strata of the row's example, and its language if it has one.

        >>> Row(0, "a", {}, 1.0, strata={"tier": 1}, language="nl").facets
        {'tier': '1', 'language': 'nl'}
        """
        facets = {key: str(value) for key, value in (self.strata or {}).items()}
        if self.language:
            facets["language"] = str(self.language)
        return facets


class Rows(Sequence[Row]):
    """Rows in the order of their examples and repeats; ``file`` is the file that holds them, if any.

    Of those in a file the first `ROWS_IN_MEMORY` stay in memory, and of the others their offsets in the file. The
    number of a row is that of its example times the ``repeats`` of the run, plus its repeat, counted from 0.

    >>> rows = Rows(repeats=2)
    >>> rows.add(Row(7, "b", {}, 1.0, repeat=2)), rows.add(Row(2, "a", {}, 1.0, repeat=1))
    (None, None)
    >>> [row.id for row in rows], rows.numbers, rows[-1].id, list(rows.missing(3))
    (['a', 'b'], [4, 15], 'b', [0, 2, 1, 3, 5])
    """

    def __init__(self, file: Path | None = None, repeats: int = 1) -> None:
        self.file = file and file.absolute()  # a program may change the current folder
        self.repeats = repeats
        self._stored: dict[int, Row | int] = {}
        self._order: list[int] | None = None

    def number(self, row: Row) -> int:
        """The number of a row."""
        return int(row.index * self.repeats + (row.repeat or 1) - 1)

    def add(self, row: Row, offset: int = 0) -> None:
        """Add a row whose line starts at this offset of the file; it replaces an earlier one of its number."""
        stays = self.file is None or len(self._stored) < ROWS_IN_MEMORY
        self._stored[self.number(row)] = row if stays else offset
        self._order = None

    def drop(self, number: int) -> None:
        """Forget a row."""
        del self._stored[number]
        self._order = None

    @property
    def numbers(self) -> list[int]:
        """The numbers of the rows, in order."""
        self._order = self._order or sorted(self._stored)
        return self._order

    def missing(self, size: int) -> Iterator[int]:
        """The numbers of the rows that ``size`` examples lack, one repeat after the other."""
        numbers = (index * self.repeats + repeat for repeat in range(self.repeats) for index in range(size))
        return (number for number in numbers if number not in self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def __iter__(self) -> Iterator[Row]:
        return self._read(self.numbers)

    def __getitem__(self, at: Any) -> Any:
        numbers = self.numbers[at]
        return list(self._read(numbers)) if isinstance(numbers, list) else next(self._read([numbers]))

    def _read(self, numbers: Sequence[int]) -> Iterator[Row]:
        entries = [self._stored[number] for number in numbers]
        offsets = [entry for entry in entries if isinstance(entry, int)]
        states = jsonl.rows_at(self.file, offsets) if self.file and offsets else iter(())
        for entry in entries:
            yield Row.of(next(states)) if isinstance(entry, int) else entry


def example_row(answers: Sequence[Row], evidence: Callable[[Row], Evidence]) -> Row:
    """The row of an example, from its answers: an example counts once, however often it was asked.

    Tallies, score and seconds are means, usage is a sum, and errors are those of all answers. The rest (prediction,
    prompts) is that of the first answer that did not fail, so that an example failed if all of them did.

    >>> from goldassay.core.tally import Counts
    >>> answers = [Row(0, "a", {"f1": {"tp": tp, "fp": 0, "fn": 0}}, 1.0) for tp in (1, 2)]
    >>> example_row(answers, lambda row: Evidence({"f1": Counts()}).from_state(row.tallies)).tallies
    {'f1': {'tp': 1.5, 'fp': 0.0, 'fn': 0.0}}
    """
    total = sum(map(evidence, answers[1:]), evidence(answers[0]))
    seconds = [answer.latency_s for answer in answers if answer.latency_s is not None]
    return replace(
        next((answer for answer in answers if not answer.error), answers[0]),
        repeat=None,
        tallies=nested({path: number / len(answers) for path, number in flat(total.state()).items()}),
        score=fmean(answer.score for answer in answers),
        latency_s=fmean(seconds) if seconds else None,
        usage=sum((answer.usage for answer in answers), UNUSED),
        errors=tuple(error for answer in answers for error in answer.errors),
        truncated=any(answer.truncated for answer in answers),
    )


@dataclass
class RowColumns:
    """What one walk over the rows of a run collects: rows of a large run do not stay in memory.

    Args:
        tallies: The evidence by measure, as tallies whose fields are arrays; none without rows.
        scores: The score of each row.
        clusters: The document of each row, if any two share one.
        design: How the examples were chosen.
        facets: By stratum and key, the positions of its rows.
        failed: How many rows failed.
        truncated: How many have an answer that was cut off.
    """

    tallies: dict[str, Any]
    scores: list[float]
    clusters: list[object] | None
    design: Design
    facets: dict[str, dict[str, list[int]]]
    failed: int
    truncated: int

    @classmethod
    def of(cls, rows: Sequence[Row], evidence_of: Callable[[Row], Evidence], zero: Evidence) -> RowColumns:
        """The columns of rows.

        Args:
            rows: The rows.
            evidence_of: The tallies of a row.
            zero: No evidence.
        """
        counts = Counter[str]()
        chunks = Chunks(zero)
        scores: list[float] = []
        numbers: dict[str | int, int] = {}
        documents: list[object] = []
        facets: dict[str, dict[str, list[int]]] = {}
        for start in range(0, len(rows), ROWS_IN_COLUMNS):
            chunk = rows[start : start + ROWS_IN_COLUMNS]
            evidence = list(map(evidence_of, chunk))
            chunks.add({key: stacked([tallies[key] for tallies in evidence], zero[key]) for key in zero}, len(chunk))
            for position, row in enumerate(chunk, start):
                counts.update(name for name in ("error", "truncated", SAMPLING) if getattr(row, name))
                scores.append(float(row.score))
                documents.append(numbers.setdefault(row.document or position, len(numbers)))
                for name, key in row.facets.items():
                    facets.setdefault(name, {}).setdefault(key, []).append(position)
        return cls(
            dict(chunks) if rows else {},
            scores,
            documents if len(numbers) < len(documents) else None,
            Design.of(rows) if counts[SAMPLING] else SIMPLE,
            facets,
            counts["error"],
            counts["truncated"],
        )


def record(row: Row, evidence: Evidence) -> Fields:
    """A row as a flat record: id, strata, score, each measure's value, errors, seconds, tokens, inputs."""
    flat_row: Fields = {"id": row.id}
    flat_row |= {f"stratum.{name}": key for name, key in row.facets.items()}
    flat_row |= {"score": row.score}
    flat_row |= {name: float(tally.value) if tally.weight else None for name, tally in evidence.items()}
    flat_row |= {"failed": row.error, "errors": len(row.errors), "seconds": row.latency_s}
    flat_row |= {"calls": row.usage.calls, "tokens": row.usage.prompt_tokens + row.usage.completion_tokens}
    for side, fields in (("input", row.inputs), ("gold", row.gold), ("prediction", row.prediction)):
        for name, value in (fields or {}).items():
            if (side, name) != ("gold", "id"):
                plain = isinstance(value, str | int | float | None)
                flat_row[f"{side}.{name}"] = value if plain else jsonl.dumps(value)
    return flat_row


def measured_row(index: int, example: object, assessed: Mapping[str, Assessment], score: float) -> Row:
    """The row of an example, as far as it comes from its gold and its assessments."""
    document = cluster(example, index)
    return Row(
        index,
        identity(example, index),
        {key: assessment.tally.state() for key, assessment in assessed.items()},
        score,
        document=document if isinstance(document, str) else None,
        language=read(example, "language", None) or None,
        strata=read(example, "strata", None) or None,
        sampling=read(example, SAMPLING, None) or None,
        errors=tuple(dict.fromkeys(error for assessment in assessed.values() for error in assessment.errors)),
    )
