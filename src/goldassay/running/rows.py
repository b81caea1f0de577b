"""The rows of a run: in memory if they are few, else only in their file, from which they are read when asked for.

With repeats there is a row for each answer, and the answers to an example become its row (`example_row`), so that
whatever reads a run sees examples.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from operator import add
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from goldassay._support import jsonl
from goldassay._support.secrets import redact, scrub
from goldassay.core.fields import Fields, JsonObject, Record, cluster, identity, read
from goldassay.core.measure import Assessment, Error, Names
from goldassay.core.steps import Step
from goldassay.core.tally import Evidence, flat, nested
from goldassay.measures.trajectories.records import steps_of
from goldassay.statistics.design import SAMPLING

ROWS_IN_MEMORY = 20_000  # rows that stay in memory too


class Usage(NamedTuple):
    """Calls of models, tokens, and answers that came from DSPy's cache."""

    calls: float = 0
    prompt_tokens: float = 0
    completion_tokens: float = 0
    cached: float = 0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return int(self.prompt_tokens) + int(self.completion_tokens)

    def __add__(self, other: Usage) -> Usage:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return Usage(*map(add, self, other))

    def __bool__(self) -> bool:
        return any(self)

    @classmethod
    def of(cls, state: Record) -> Usage:
        """Usage from its JSON."""
        return cls(*(state.get(name, 0) for name in cls._fields))

    def state(self) -> dict[str, float]:
        """As JSON; ``cached`` only if there are cached answers."""
        return {name: number for name, number in self._asdict().items() if number or name != "cached"}


UNUSED = Usage()
IN_FILE = (
    *("index", "id", "document", "language", "strata", "sampling", "tallies", "errors", "score", "latency_s", "error"),
    *("prediction", "usage", "waited_s", "truncated", "inputs", "gold", "steps", "calls", "repeat", "retried"),
)
"""The fields of a row in its file, in this order."""
EVEN_EMPTY = ("index", "id", "tallies", "score", "latency_s", "prediction", "inputs", "gold")
"""The fields that are written even if they are 0 or empty, but not None."""


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
    strata: JsonObject | None = None
    sampling: Mapping[str, object] | None = None
    errors: tuple[Error, ...] = ()
    latency_s: float | None = None
    error: str = ""
    prediction: Fields | None = None
    usage: Usage = UNUSED
    waited_s: float = 0.0
    truncated: bool = False
    inputs: JsonObject | None = None
    gold: JsonObject | None = None
    calls: tuple[Fields, ...] = ()
    steps: tuple[Step, ...] = ()
    retried: bool = False

    @classmethod
    def of(cls, state: Fields) -> Row:
        """A row from its JSON; keys of other versions of goldassay are left out.

        Raises:
            TypeError: It has no index, id, score or tallies, or a value has the wrong type.
        """
        fields = {name: state[name] for name in IN_FILE if state.get(name) is not None}
        if "document" in fields:
            fields["document"] = str(fields["document"])
        if "errors" in fields:
            errors = ({**error, "measures": tuple(error.get("measures", ()))} for error in fields["errors"])
            fields["errors"] = tuple(Error(**error) for error in errors)
        if "usage" in fields:
            fields["usage"] = Usage.of(fields["usage"])
        if "calls" in fields:
            fields["calls"] = tuple(fields["calls"])
        if "steps" in fields:
            fields["steps"] = tuple(map(Step.of, fields["steps"], count()))
        return cls(**fields)

    def state(self) -> Fields:
        """As JSON: what is always known, then what this row has."""
        state = {}
        for name in IN_FILE:
            value = getattr(self, name)
            if value or (name in EVEN_EMPTY and value is not None):
                state[name] = value
        for name in ("errors", "steps"):
            if name in state:
                state[name] = [item.state() for item in state[name]]
        if self.usage:
            state["usage"] = self.usage.state()
        return state

    @property
    def recorded_calls(self) -> list[Step]:
        """The recorded calls behind the trajectory of the prediction; none where they differ.

        Of several agents the last may return its calls alone.
        """
        names = [step.name for step in steps_of(self.prediction or {}) if step.is_call]
        calls = [step for step in self.steps if step.is_call]
        for first in range(len(calls) - len(names), -1, -1):
            made = calls[first : first + len(names)]
            if [step.name for step in made] == names:
                return made
        return []

    def check(self) -> None:
        """Check what came from a file of another program.

        Raises:
            TypeError: Seconds or tokens are not numbers.
            ValueError: A number is not finite, inputs, gold, strata, the prediction or a call are not objects, or an
                error has something else than texts and places.
        """
        total = sum(self.usage.state().values(), self.latency_s or 0.0)
        objects = all(
            not part or isinstance(part, Mapping) for part in (self.inputs, self.gold, self.strata, self.prediction)
        )
        objects = objects and all(isinstance(call, Mapping) for call in self.calls or ())
        for error in self.errors:
            for name, value in error.state().items():
                kind: type = str
                if name == "measures":
                    kind = tuple
                elif name in ("start", "end", "size", "step"):
                    kind = int
                objects = objects and isinstance(value, kind)
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


def without_secrets(row: Row) -> tuple[Row, str]:
    """The row without secrets, and its line in a file.

    >>> row, line = without_secrets(Row(0, "a", {}, 1.0, prediction={"label": "sk-abcdef123456"}))
    >>> row.prediction, line
    ({'label': '[hidden]'}, '{"index": 0, "id": "a", "tallies": {}, "score": 1.0, "prediction": {"label": "[hidden]"}}')
    """
    line = jsonl.dumps(row.state())
    if redact(line) != line:  # rare, so rows without secrets are not parsed again
        row = Row.of(scrub(json.loads(line)))
        line = jsonl.dumps(row.state())
    return row, line


def measured_row(index: int, example: object, assessed: Mapping[str, Assessment], evidence: Evidence) -> Row:
    """The row of an example, as far as it comes from its gold, its assessments and their evidence."""
    document = cluster(example, index)
    named = {name: {*assessment.errors} for name, assessment in assessed.items()}
    weighted = [named[name] for name in evidence.weighted if named[name]]
    errors: dict[Error, Names] = dict.fromkeys((e for assessment in assessed.values() for e in assessment.errors), ())
    for error in errors:
        if not all(error in of_measure for of_measure in weighted):
            errors[error] = tuple(name for name in named if error in named[name])
    return Row(
        index,
        identity(example, index),
        {key: tally.state() for key, tally in evidence.items()},
        float(evidence.value),
        document=document if isinstance(document, str) else None,
        language=read(example, "language", None) or None,
        strata=read(example, "strata", None) or None,
        sampling=read(example, SAMPLING, None) or None,
        errors=tuple(replace(error, measures=names) for error, names in errors.items()),
    )
