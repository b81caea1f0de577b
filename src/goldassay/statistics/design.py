"""How gold was chosen to be labelled: a `Sampling` in each record, together the `Design` that estimates need.

The records of a draft are not a random sample of the inputs. Each says which question it was chosen for, the stratum
that it was drawn from, and the sizes of the stratum and of the population; estimates weigh it by them.

This is the one place where a design becomes a value (`Design.interval`, `Design.weighted`), and the strata of a
difference (`Design.population_of`; the difference itself: `goldassay.ext.labelling.labelled`). Gold that nobody drafted
has a design, too: `SIMPLE`, a simple random sample of inputs that nobody counted. So whoever has gold asks its design
for values, and never which kind of gold it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError, model_validator

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.evidence import Evidences, Floats, Values, scaled
from goldassay.core.fields import identity, read
from goldassay.core.tally import T, Tally
from goldassay.statistics.intervals import Bounds, Interval, interval, unit_bounds
from goldassay.statistics.sampling import Stratum, estimate

Question = Literal["compare", "level", "errors", "tuning"]
SAMPLING = "sampling"
"""The field of a record that says how it was chosen."""
OF_DESIGN = (
    "question",
    "population",
    "seed",
    "systems",
    "agreement",
    "measure",
    "scored",
    "wave",
    "fixed",
)  # the same in every record of a draft
NO_ESTIMATE = {
    "compare": "these examples were chosen where systems disagree: they show how systems differ, not how good one is",
    "errors": "these examples were chosen for their likely errors: they show what goes wrong, not how good a system is",
    "tuning": "these examples were chosen to tune with, so no value can be estimated from them",
}
"""Why no value can be estimated from the labels of a question."""
UNCOVERED = "a stratum of the draft has no label yet, so these labels do not describe all inputs"
OF_STRATUM = ("size", "predicted", "verdict_mean")  # the same in every record of a stratum


class Sampling(BaseModel):
    """How one record was chosen.

    Args:
        question: What its label is for: ``compare`` systems, the ``level`` of one, its ``errors``, or ``tuning``.
        stratum: The part of the population that it was drawn from: ``agree``, ``disagree``, ``a=b|c`` …
        size: How many inputs the stratum has.
        population: How many inputs there are in all.
        seed: The seed of the order.
        position: The place in the order inside its stratum, from 0.
        systems: The names of the sources.
        agreement: What counted as agreement, in words.
        measure: The measure that the draft is for, if one was named.
        scored: The fields by which answers were compared, of a task of your own whose program declares them.
        predicted: How many items each system predicted in the whole stratum, where outputs are lists.
        verdict: A judge's verdict of this record, where one was asked.
        verdict_mean: The mean of its verdicts over the stratum.
        wave: When the draft was made that added it to a review, where several did.
        fixed: The number of labels, if it was fixed before the first one: a test of that number decides, once.
        sources: The files and folders of the draft, relative to the folder of its review.
        map: Their fields under other names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    question: Question
    stratum: str = Field(min_length=1)
    size: PositiveInt
    population: PositiveInt
    seed: int = 0
    position: NonNegativeInt
    systems: tuple[str, ...] = ()
    agreement: str = ""
    measure: str = ""
    scored: tuple[str, ...] | None = None
    predicted: dict[str, NonNegativeInt] = Field(default_factory=dict)
    verdict: float | None = Field(default=None, allow_inf_nan=False)
    verdict_mean: float | None = Field(default=None, allow_inf_nan=False)
    wave: str | None = None
    fixed: PositiveInt | None = None
    sources: tuple[str, ...] | None = None
    map: dict[str, str] | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Sampling:
        """A place is inside its stratum, a stratum inside the population, and a verdict has its mean."""
        if self.position >= self.size:
            raise ValueError(f"position {self.position} is outside a stratum of {self.size}")
        if self.size > self.population:
            raise ValueError(f"a stratum of {self.size} does not fit into a population of {self.population}")
        if (self.verdict is None) != (self.verdict_mean is None):
            raise ValueError("a verdict needs verdict_mean, its mean over the stratum, and the other way round")
        return self


@dataclass(frozen=True)
class Design:
    """How a set of records was chosen.

    Args:
        first: The sampling of one record, for what all share: question, population, systems, agreement.
        strata: One sampling of each stratum, by name, for its size and totals; strata without a record are unknown.
            There are none if nobody drafted the records (`SIMPLE`).
        samplings: The sampling of each record, in their order.
    """

    first: Sampling
    strata: Mapping[str, Sampling]
    samplings: tuple[Sampling, ...]

    @classmethod
    def of(cls, records: Iterable[object], file: Path | str | None = None) -> Design:
        """The design of labelled records; `SIMPLE` if none has a ``sampling``.

        Waves that were drafted one after the other, each from its own inputs, are strata of all inputs.

        Args:
            records: The records.
            file: Their file, for errors.

        Raises:
            DataError: A sampling is broken, only some records have one, two designs are mixed, or a stratum has more
                labels than inputs.

        >>> sampling = {"question": "compare", "stratum": "disagree", "size": 60, "population": 600, "position": 0}
        >>> design = Design.of([{"id": "a", "label": "museum", "sampling": sampling}])
        >>> design.question, design.sizes, design.population
        ('compare', {'disagree': 60}, 600)
        """
        samplings: dict[str, Sampling] = {}
        undrafted: list[str] = []
        for index, record in enumerate(records):
            name = identity(record, index)
            value = read(record, SAMPLING, None)
            if value is None:
                undrafted.append(name)
            else:
                samplings[name] = sampling_of(value, name, file)
        if not samplings:
            return SIMPLE
        if undrafted:
            message = (
                f"has no {SAMPLING}, and {len(samplings)} others have; labels outside the design cannot be weighed"
            )
            raise DataError(message, file=file, record=undrafted[0])
        samplings = _as_one_design(samplings, file)
        first = next(iter(samplings.values()))
        strata: dict[str, Sampling] = {}
        counts: Counter[str] = Counter()
        for name, sampling in samplings.items():
            stratum = strata.setdefault(sampling.stratum, sampling)
            _check_same(sampling, first, OF_DESIGN, name, file)
            _check_same(sampling, stratum, OF_STRATUM, name, file)
            counts[sampling.stratum] += 1
            if counts[sampling.stratum] > sampling.size:
                message = f"more labels than the {sampling.size} inputs of the stratum {sampling.stratum!r}"
                raise DataError(message, file=file, record=name, field=SAMPLING)
        if sum(stratum.size for stratum in strata.values()) > first.population:
            message = f"the strata have more inputs than the population of {first.population}"
            raise DataError(message, file=file, field=SAMPLING)
        return cls(first, strata, tuple(samplings.values()))

    def only(self, places: Sequence[int]) -> Design:
        """The design with only the records at these places; what the others say of their strata stays."""
        return replace(self, samplings=tuple(self.samplings[index] for index in places))

    @property
    def drafted(self) -> bool:
        """Whether a draft chose the records; if none did, each stands for itself."""
        return bool(self.strata)

    @property
    def stratified(self) -> bool:
        """Whether the records are not a simple random sample, so that only a weighted value is one of all inputs."""
        return bool(self.why_no_estimate) or len(self.strata) > 1

    @property
    def question(self) -> Question:
        """The question that the labels answer."""
        return self.first.question

    @property
    def population(self) -> int:
        """How many inputs there are."""
        return self.first.population

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the sources."""
        return self.first.systems

    @property
    def agreement(self) -> str:
        """The definition of agreement, in words."""
        return self.first.agreement

    @property
    def sizes(self) -> dict[str, int]:
        """How many inputs each stratum has, of those that have a record."""
        return {name: sampling.size for name, sampling in self.strata.items()}

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The places of each stratum's records."""
        places: dict[str, list[int]] = {name: [] for name in self.strata}
        for index, sampling in enumerate(self.samplings):
            places[sampling.stratum].append(index)
        return places

    @property
    def labels(self) -> dict[str, int]:
        """How many records each stratum has."""
        return {name: len(places) for name, places in self.places.items()}

    @property
    def skipped(self) -> list[str]:
        """A warning of records that were passed over; none if those of each stratum are the first of its order."""
        count = 0
        for places in self.places.values():
            last = max((self.samplings[index].position for index in places), default=-1)
            count += last + 1 - len(places)
        if count <= 0:
            return []
        what = f"{count} records come before labelled ones of their stratum and have no label"
        return [f"{what}: the values hold only if these were not skipped for what they are (long, hard); label them"]

    @property
    def why_no_estimate(self) -> str:
        """Why no value can be estimated from these records, and what to draft for one; empty if it can."""
        if self.question in NO_ESTIMATE:
            return f"{NO_ESTIMATE[self.question]}; for that, draft records for the question level"
        return UNCOVERED if self.drafted and self.groups() is None else ""

    def groups(
        self, agreeing: Collection[str] = (), *, known: bool = False
    ) -> list[tuple[list[str], list[int]]] | None:
        """The strata that need labels, with their records; None if one has no label at all.

        A stratum with a single label says nothing of its spread, so it is put together with the largest (Cochran, 1977,
        5A.12).

        Args:
            agreeing: The strata in which two systems have the same output, which stay apart from the others.
            known: Whether these, and what was not drafted, need no labels, since nothing can differ there.
        """
        groups: dict[bool, list[tuple[list[str], list[int]]]] = {False: [], True: []}
        for name in sorted(self.sizes, key=lambda name: -len(self.places[name])):
            same = name in agreeing
            rows = self.places[name]
            if same and known:
                continue
            if len(rows) != 1 or len(rows) == self.sizes[name] or not groups[same]:
                groups[same].append(([name], rows))
            else:
                names, rows_before = groups[same][0]
                groups[same][0] = ([*names, name], [*rows_before, *rows])
        every = [*groups[False], *groups[True]]
        undrafted = self.population - sum(self.sizes.values())
        return None if (undrafted and not known) or not all(rows for _, rows in every) else every

    def weighted(self, tallies: T) -> T:
        """The evidence of all records, each times the inputs that it stands for; as it is where that is not known.

        Args:
            tallies: One tally whose fields are arrays, a number a record.
        """
        return scaled(tallies, self.shares(self.groups())) if self.drafted and not self.why_no_estimate else tallies

    def shares(self, groups: Sequence[tuple[list[str], list[int]]] | None) -> Floats:
        """For how many inputs each record stands; 1 where that is not known."""
        weights = np.ones(len(self.samplings))
        for names, rows in groups or ():
            weights[rows] = sum(self.sizes[name] for name in names) / max(len(rows), 1)
        return weights

    def population_of(
        self,
        evidence: Floats,
        groups: Sequence[tuple[list[str], list[int]]],
        documents: Sequence[Hashable] | None = None,
        predicted: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> list[Stratum]:
        """The population, as `goldassay.statistics.sampling.estimate` takes it.

        Args:
            evidence: The evidence of the records, a row each.
            groups: The strata (`groups`).
            documents: The document of each record.
            predicted: By stratum, how much each system predicts in all of it.
        """
        strata: list[Stratum] = []
        for names, rows in groups:
            samplings = [self.samplings[index] for index in rows]
            judged = all(sampling.verdict is not None for sampling in samplings)
            size = sum(self.sizes[name] for name in names)
            verdicts = sum(self.sizes[name] * (self.strata[name].verdict_mean or 0.0) for name in names)
            counted = [predicted[name] for name in names if name in predicted]
            strata.append(
                Stratum(
                    size,
                    evidence[rows],
                    np.sum(counted, axis=0, dtype=float) if len(counted) == len(names) else None,
                    np.array([sampling.verdict for sampling in samplings], float) if judged else None,
                    verdicts / size,
                    [documents[index] for index in rows] if documents else (),
                )
            )
        uncovered = self.population - sum(stratum.size for stratum in strata)
        return [*strata, Stratum.agreeing(uncovered)] if uncovered else strata

    def interval(
        self,
        tallies: Values,
        zero: Tally | None = None,
        *,
        clusters: Sequence[Hashable] | None = None,
        bounds: Bounds | None = None,
        level: float = 0.95,
    ) -> Interval:
        """The value of one system over all inputs, with its interval (`goldassay.statistics.intervals`).

        Args:
            tallies: The tallies of the records, or plain numbers.
            zero: The tallies' zero; None for plain numbers.
            clusters: The document of each record.
            bounds: Between which values the value lies; None: 0 and 1, if every record's own value does.
            level: The share of such intervals that hold the value.

        Raises:
            GoldassayError: A part of the population has no label.
        """
        if not self.drafted:
            return interval(tallies, zero, clusters=clusters, bounds=bounds, level=level)
        groups = self.groups()
        if groups is None:
            raise GoldassayError(UNCOVERED)
        evidences = Evidences(tallies, zero)
        strata = self.population_of(evidences.matrix, groups, clusters)
        bounds = bounds or unit_bounds(evidences, evidences.value, evidences.matrix)
        finite = bounds if bool(np.isfinite(bounds).all()) else None
        return estimate(strata, evidences, level=level, bounds=finite)


SIMPLE = Design(Sampling(question="level", stratum="all", size=1, population=1, position=0), {}, ())
"""The design of gold that nobody drafted: each record stands for itself."""


def sampling_of(value: object, record: object = None, file: Path | str | None = None) -> Sampling:
    """The sampling of a record, validated.

    Args:
        value: What the record has, a mapping or a `Sampling`.
        record: Its id, for errors.
        file: Its file, for errors.

    Raises:
        DataError: It is broken.
    """
    try:
        return Sampling.model_validate(value)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_context=False)[0]
        field = ".".join([SAMPLING, *map(str, detail["loc"])])
        message = detail["msg"].removeprefix("Value error, ")
        raise DataError(f"{message[:1].lower()}{message[1:]}", file=file, record=record, field=field) from None


def _as_one_design(samplings: dict[str, Sampling], file: Path | str | None) -> dict[str, Sampling]:
    """Samplings of several waves as those of one design, whose strata are the waves' own; of one wave as they are.

    A comparison has one population, so its waves are left apart.

    Raises:
        DataError: The records of a wave are of two designs, or the waves are for different questions.
    """
    waves: dict[str | None, Sampling] = {}
    for name, sampling in samplings.items():
        wave = waves.setdefault(sampling.wave, sampling)
        _check_same(sampling, wave, OF_DESIGN, name, file)
    first = next(iter(waves.values()))
    if len(waves) < 2 or first.question == "compare":
        return samplings
    for name, sampling in samplings.items():
        _check_same(sampling, first, ["question"], name, file)
    shared = {
        "population": sum(wave.population for wave in waves.values()),
        "systems": tuple(dict.fromkeys(system for wave in waves.values() for system in wave.systems)),
        "seed": first.seed,
        "agreement": first.agreement,
        "measure": first.measure,
        "wave": None,
    }
    return {
        name: sampling.model_copy(update={**shared, "stratum": f"{sampling.stratum} ({sampling.wave or 'first'})"})
        for name, sampling in samplings.items()
    }


def _check_same(
    sampling: Sampling, other: Sampling, names: Iterable[str], record: str, file: Path | str | None
) -> None:
    """Raise if two records disagree on what they share."""
    for name in names:
        ours = getattr(sampling, name)
        theirs = getattr(other, name)
        if ours != theirs:
            message = f"{ours!r}, where others have {theirs!r}: two designs are mixed; score the drafts one by one"
            raise DataError(message, file=file, record=record, field=f"{SAMPLING}.{name}")
