"""Drafts of gold: which inputs to label, so that few labels answer a question, and estimates from them stay valid.

    pool = Pool.of("classification", inputs, {"a": answers_of_a, "b": answers_of_b})
    draft(pool, "compare", n=40).records

Where two systems give the same output, the label adds nothing to their difference, whatever it is; so for ``compare``
only disagreements are drafted, and a few agreements where the measure's denominators need them. What counts as
agreement is in `goldassay.gold.outputs`. For ``level`` records are drawn at random, or from strata in shares that the
first labels correct (Neyman); for ``errors`` mostly from likely failures; for ``tuning`` one of each cluster of
near-equal texts, which supports no estimate.

Each record says how it was chosen (`goldassay.statistics.design`). Inside a stratum the order is random, and the strata
take turns in proportion to their shares: whatever prefix is labelled is a smaller sample of the same design.

Cochran, *Sampling Techniques*, 1977 (strata, Neyman's shares); McNemar 1947 (disagreements alone).
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import identity
from goldassay.gold.outputs import Comparison, as_text, of_corpus, output_of, predicted
from goldassay.gold.records import INPUTS, LABELS, SPANS, empty_prediction, is_labelled
from goldassay.gold.shapes import SHAPES, Fields, Record
from goldassay.gold.splits import TUNING_SPLITS, grouped, split, value_of
from goldassay.measure import TASKS, check_choice
from goldassay.secrets import redact, scrub
from goldassay.statistics.design import SAMPLING, Sampling, sampling_of

QUESTIONS = ("compare", "level", "errors", "tuning")
AGREE = "agree"
DISAGREE = "disagree"
RARE = 0.05  # of the disagreements: partitions below it are one stratum, which gets labels enough to be weighed
ON_AGREEMENTS = 0.3  # of the labels, where the denominators of a measure need agreements
LIKELY = 2 / 3  # of the labels for errors that go to likely failures
LOW = 0.2  # the share of the least confident answers that are likely failures
BANDS = 3  # strata by a number
PRIOR = 3  # labels that a pilot's spread in a stratum is shrunk by: a few right ones are no proof that all are
GOLD_FIELDS = {
    **LABELS,
    "classification": (*LABELS["classification"], "secondary_labels", "rationale"),
    "answering": (*LABELS["answering"], "reference", "supporting_facts", "answer_type", "answer_starts", "provenance"),
}
"""The fields of gold that a label fills in."""
Strata = dict[str, list[str]]
"""The ids of each stratum."""


@dataclass
class Pool:
    """Inputs without gold, and what systems answered to them.

    Args:
        task: The task.
        inputs: The inputs by id: records without gold.
        answers: The predictions of each system by id; one that is absent failed.
        verdicts: A judge's verdict of each answer by id, where one was asked.
        kinds: The kind of answer or failure that a rule of your own names, by id, where it names one.
        warnings: What a reader of the draft should know.
        files: The files of predictions, with which labelled gold can be compared.
    """

    task: str
    inputs: dict[str, Fields]
    answers: dict[str, dict[str, Fields]] = field(default_factory=dict)
    verdicts: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    @classmethod
    def of(cls, task: str, inputs: Iterable[Record], answers: Mapping[str, Iterable[Record]] = {}) -> Pool:
        """A pool of records and predictions, which have the same ids.

        Args:
            task: The task.
            inputs: The records; gold that they have is left out.
            answers: The predictions of each system.

        Raises:
            DataError: A prediction has no input, or an id is used twice.
        """
        pool = cls(task, {})
        for index, record in enumerate(inputs):
            pool.add_input(identity(record, index), record)
        for system, predictions in answers.items():
            pool.answers[system] = {}
            for index, prediction in enumerate(predictions):
                name = identity(prediction, index)
                if name not in pool.inputs:
                    raise DataError(f"{system} has a prediction without an input", record=name)
                pool.answers[system][name] = dict(prediction)
        return pool

    def add_input(self, name: str, record: Record) -> None:
        """Add an input; what a record of the task has no field for goes to ``meta``.

        Raises:
            DataError: The id is used twice.
        """
        if name in self.inputs:
            raise DataError("duplicate document id; each record needs its own", record=name)
        gold = (*GOLD_FIELDS[self.task], "errors") if self.task in TASKS else ()
        own = {key: value for key, value in record.items() if key not in (*gold, "id", SAMPLING, "suggestions")}
        shape = SHAPES["gold"][self.task].__annotations__ if self.task in TASKS else own
        fields = {key: value for key, value in own.items() if key in shape}
        others = {key: value for key, value in own.items() if key not in shape and value not in (None, "")}
        meta = {"meta": {**others, **(fields.get("meta") or {})}} if others else {}
        self.inputs[name] = {"id": name, **fields, **meta}

    def text(self, name: str) -> str:
        """The text of an input."""
        return text_of(self.inputs[name], self.task)

    def outputs(self, name: str) -> list[Fields | None]:
        """The predictions for an input; None where a system failed."""
        return [predictions.get(name) for predictions in self.answers.values()]

    def confidences(self) -> dict[str, float]:
        """The least confidence that a system has in its answer to each input, of those that state one."""
        stated: dict[str, float] = {}
        for name in self.inputs:
            values = [value for answer in self.outputs(name) if answer for value in _confidences(answer)]
            if values:
                stated[name] = min(values)
        return stated


def text_of(record: Record, task: str) -> str:
    """What a record is recognised by: its text, question or query; of a task of one's own all its fields."""
    if task in INPUTS:
        return str(record.get(INPUTS[task]) or "")
    return as_text({name: value for name, value in record.items() if name not in ("id", "strata", "document", "meta")})


def _confidences(answer: Record) -> list[float]:
    """The confidences of an answer: its own, or those of its parts."""
    if isinstance(answer.get("probabilities"), Mapping):
        return [max(answer["probabilities"].values(), default=0.0)]
    parts = [part for value in answer.values() if isinstance(value, list) for part in value if isinstance(part, dict)]
    values = [part.get("confidence") for part in (answer, *parts)]
    return [float(value) for value in values if value is not None]


@dataclass(frozen=True)
class Draft:
    """Records to label, and how they were chosen.

    Args:
        task: The task.
        question: What the labels are for.
        records: The records, in the order in which they should be labelled.
        sizes: How many inputs each stratum has.
        systems: The names of the sources.
        agreement: What counts as agreement, in words.
        answer: What may be estimated once they are labelled.
        warnings: What a reader should know.
    """

    task: str
    question: str
    records: list[Fields]
    sizes: dict[str, int]
    systems: list[str]
    agreement: str
    answer: str
    warnings: list[str]

    @property
    def drafted(self) -> dict[str, int]:
        """How many records of each stratum there are."""
        counts = Counter(record[SAMPLING]["stratum"] for record in self.records)
        return {name: counts[name] for name in self.sizes}

    def state(self) -> Fields:
        """As JSON."""
        strata = {name: {"size": size, "drafted": self.drafted[name]} for name, size in self.sizes.items()}
        return {
            "task": self.task,
            "question": self.question,
            "records": len(self.records),
            "population": self.records[0][SAMPLING]["population"],
            "strata": strata,
            "systems": self.systems,
            "agreement": self.agreement,
            "answer": self.answer,
            "warnings": self.warnings,
        }


def draft(
    pool: Pool,
    question: str | None = None,
    *,
    n: int = 40,
    measure: str | None = None,
    strata: str | None = None,
    seed: int = 0,
    drafted: Sequence[Record] = (),
) -> Draft:
    """Choose the inputs to label.

    Args:
        pool: The inputs, and what systems answered.
        question: ``compare`` the systems (the default of two or more), the ``level`` of one (the default), its
            ``errors``, or ``tuning``.
        n: How many records, at most.
        measure: The name of the measure that is asked about; by default that of the task, and agreement is then the
            same output for all measures of the output.
        strata: What ``level`` is stratified by: ``confidence``, ``agreement`` or a stratum or field of the inputs; by
            default the pool's ``kinds``, a judge's verdicts, or nothing.
        seed: Seeds the order.
        drafted: The records of a draft to continue, labelled or not: the next ``n`` of the same order are chosen.

    Raises:
        GoldassayError: The pool does not allow this question.
        DataError: The draft to continue is of other sources, or of other options.

    >>> inputs = [{"id": str(i), "text": f"letter {i}"} for i in range(100)]
    >>> ours = [{"id": str(i), "label": "M"} for i in range(100)]
    >>> theirs = [{"id": str(i), "label": "L" if i < 20 else "M"} for i in range(100)]
    >>> result = draft(Pool.of("classification", inputs, {"ours": ours, "theirs": theirs}), n=2)
    >>> result.question, result.sizes, result.records[0]["suggestions"]
    ('compare', {'agree': 80, 'disagree': 20}, {'ours': {'label': 'M'}, 'theirs': {'label': 'L'}})
    """
    several = len(pool.answers) > 1
    asked = question or ("compare" if several else "level")
    if drafted:
        first = sampling_of(drafted[0].get(SAMPLING), drafted[0].get("id"))
        asked = question or first.question
        seed = first.seed
    check_choice("question", asked, QUESTIONS)
    if not pool.inputs:
        raise GoldassayError("these sources have no inputs")
    if asked == "compare" and not several:
        raise GoldassayError("to compare, name two sources with answers to the same inputs")
    if odd := next((name for name in pool.answers if "=" in name or "|" in name), None):
        raise GoldassayError(f"a system is not named {odd!r}: = and | say who agrees with whom")
    if (strata and asked != "level") or (pool.kinds and asked not in ("level", "errors")):
        raise GoldassayError(f"no strata are chosen for {asked}; they are for a level, those of a rule for errors too")
    comparison = Comparison(pool.task, measure)
    plan = _Plan(pool, asked, comparison, strata, seed)
    records = plan.records(n, drafted)
    if not records:
        raise GoldassayError("every input of the strata that the question needs is drafted already")
    sizes = {name: len(ids) for name, ids in plan.order.items()}
    systems = list(pool.answers)
    return Draft(
        pool.task, asked, records, sizes, systems, plan.agreement, ANSWERS[asked], [*pool.warnings, *plan.warnings]
    )


ANSWERS = {
    "compare": "the difference of the systems, with its interval and test; not the level of one",
    "level": "the level of each system, and differences, weighted by stratum",
    "errors": "the share of each kind of error, weighted by stratum",
    "tuning": "nothing: these are examples for train and dev",
}
"""What may be estimated from the labels, by question."""


def turns(shares: Mapping[str, float], sizes: Mapping[str, int], taken: Mapping[str, int], n: int) -> list[str]:
    """The strata of the next ``n`` labels: always the one that lacks most of its share, as long as it has inputs.

    Args:
        shares: The share of the labels that each stratum gets.
        sizes: How many inputs it has.
        taken: How many of them are drafted or labelled already.
        n: How many labels.

    >>> turns({"a": 0.75, "b": 0.25}, {"a": 3, "b": 9}, {"a": 1}, 4)
    ['a', 'b', 'a', 'b']
    """
    counts = Counter(taken)
    chosen: list[str] = []
    while len(chosen) < n and (left := [name for name in shares if counts[name] < sizes[name]]):
        total = counts.total() + 1
        stratum = max(left, key=lambda name: shares[name] * total - counts[name])
        chosen.append(stratum)
        counts[stratum] += 1
    return chosen


class _Plan:
    """The strata of a pool for a question, each in its random order, and how labels are shared among them."""

    def __init__(self, pool: Pool, question: str, comparison: Comparison, by: str | None, seed: int) -> None:
        self.pool = pool
        self.question = question
        self.comparison = comparison
        self.by = by
        self.seed = seed
        self.warnings: list[str] = []
        self._sides: Mapping[str, str] = {}
        self._hide()
        self.measure = comparison.headline(answer for each in pool.answers.values() for answer in each.values())
        self.agreement = comparison.words if len(pool.answers) > 1 else ""
        strata = getattr(self, f"_for_{question}")()
        self.order: Strata = {}
        for name in sorted(strata):
            ids = sorted(strata[name])
            random.Random(f"{seed} {name}").shuffle(ids)
            self.order[name] = ids

    def _hide(self) -> None:
        """Leave inputs with a secret out of tasks of spans, whose places would not be those of the text without it."""
        texts = {name: self.pool.text(name) for name in self.pool.inputs} if self.pool.task in SPANS else {}
        secret = {name for name, text in texts.items() if redact(text) != text}
        if secret:
            self.warnings.append(f"{len(secret)} inputs hold what looks like a key or password and are left out")
            inputs = {name: record for name, record in self.pool.inputs.items() if name not in secret}
            self.pool = replace(self.pool, inputs=inputs)

    def _for_compare(self) -> Strata:
        strata = self._partitions()
        if set(strata) == {AGREE}:
            names = " and ".join(self.pool.answers)
            raise GoldassayError(f"{names} agree on all {len(strata[AGREE])} inputs: {self.agreement}")
        return strata

    def _for_level(self) -> Strata:
        if self.by == "agreement":
            if len(self.pool.answers) < 2:
                raise GoldassayError("strata by agreement need two sources with answers")
            return self._partitions()
        if self.by == "confidence":
            return self._bands("confidence", self.pool.confidences())
        if self.pool.kinds:
            return _by({name: self.pool.kinds.get(name, "rest") for name in self.pool.inputs})
        if self.by is not None:
            rows = {name: {**(record.get("meta") or {}), **record} for name, record in self.pool.inputs.items()}
            values = {name: value_of(row, self.by) for name, row in rows.items()}
            if not any(value is not None for value in values.values()):
                raise GoldassayError(f"no input has {self.by!r}, neither in its strata nor as a field")
            return _by({name: f"{self.by} {value}" for name, value in values.items()})
        return self._bands("verdict", self.pool.verdicts) if self.pool.verdicts else {"all": [*self.pool.inputs]}

    def _for_errors(self) -> Strata:
        """Likely failures by their strongest sign, and the rest."""
        signs = dict.fromkeys(self.pool.inputs, "rest")
        confidences = self.pool.confidences()
        most = max(confidences.values(), default=0.0)
        low = np.quantile([*confidences.values()], LOW) if confidences else most
        signs |= {name: "low confidence" for name, value in confidences.items() if value <= low and value < most}
        signs |= {name: "judged wrong" for name, verdict in self.pool.verdicts.items() if verdict < 0.5}
        partitions = self._partitions() if len(self.pool.answers) > 1 else {}
        signs |= {name: DISAGREE for stratum, names in partitions.items() if stratum != AGREE for name in names}
        signs |= {name: kind for name, kind in self.pool.kinds.items() if name in signs}
        signs |= {name: "no answer" for name in self.pool.inputs if None in self.pool.outputs(name)}
        if {*signs.values()} == {"rest"}:
            self.warnings.append(
                "nothing tells a likely failure (no rule, no answers that differ, no confidence): all at random"
            )
        return _by(signs)

    def _for_tuning(self) -> Strata:
        """One of each cluster of near-equal texts, by the strata of the inputs; each is for train or dev."""
        names = sorted(self.pool.inputs)
        clusters = grouped([{"id": str(index), "text": self.pool.text(name)} for index, name in enumerate(names)])
        rng = random.Random(f"{self.seed} clusters")
        chosen = [names[rng.choice(members)] for members in clusters]
        facts = {name: self.pool.inputs[name].get("strata") or {} for name in chosen}
        division = split([self.pool.inputs[name] for name in chosen], ratios=TUNING_SPLITS, factors=(), seed=self.seed)
        self._sides = division.of
        return _by(
            {name: ", ".join(f"{key}={value}" for key, value in facts[name].items()) or "all" for name in chosen}
        )

    def _partitions(self) -> Strata:
        """The inputs by who agrees with whom: ``agree``, ``disagree``, or of several systems ``a=b|c``."""
        systems = list(self.pool.answers)
        canonical = self.comparison.canonical
        kinds: dict[str, str] = {}
        for name in self.pool.inputs:
            groups: dict[str, list[str]] = defaultdict(list)
            for system, answer in zip(systems, self.pool.outputs(name), strict=True):
                groups[canonical(answer)].append(system)
            parts = "|".join("=".join(group) for group in groups.values())
            kinds[name] = AGREE if len(groups) == 1 else parts
        disputed = Counter(kind for kind in kinds.values() if kind != AGREE)
        least = math.inf if len(systems) == 2 else RARE * disputed.total()
        merged: Counter[str] = Counter()
        for kind, count in sorted(disputed.items(), key=lambda item: (item[1], item[0])):
            if count < least or 0 < merged.total() < least:  # together they are not rare either
                merged[kind] = count
        return _by({name: DISAGREE if kind in merged else kind for name, kind in kinds.items()})

    def _bands(self, noun: str, values: Mapping[str, float]) -> Strata:
        """The inputs by a number: by its values if there are few, else in thirds."""
        if not values:
            raise GoldassayError(f"no answer has a {noun}")
        distinct = sorted({*values.values()})
        cuts = distinct[1:]
        if len(distinct) > BANDS:
            cuts = sorted({*np.quantile([*values.values()], [1 / 3, 2 / 3], method="nearest").tolist()} - {distinct[0]})
        edges = [*cuts, float("inf")]
        names = [f"{noun} below {edge:.4g}" for edge in cuts] + [f"{noun} from {cuts[-1]:.4g}" if cuts else noun]
        strata = {name: names[int(np.searchsorted(edges, value, "right"))] for name, value in values.items()}
        return _by({name: strata.get(name, f"no {noun}") for name in self.pool.inputs})

    def shares(self, drafted: Sequence[Record]) -> dict[str, float]:
        """The share of the labels that each stratum gets."""
        weights = {name: float(len(ids)) for name, ids in self.order.items()}
        fixed: dict[str, float] = {}
        if self.question == "compare":
            fixed = {AGREE: ON_AGREEMENTS if of_corpus(self.measure) else 0.0}
        elif self.question == "errors":
            fixed = {"rest": 1 - LIKELY}
        elif self.question == "tuning":
            weights = dict.fromkeys(weights, 1.0)
        else:
            weights = self._by_spread(weights, drafted)
        fixed = {name: share for name, share in fixed.items() if name in weights and len(weights) > 1}
        rest = {name: weight for name, weight in weights.items() if name not in fixed}
        scale = (1 - sum(fixed.values())) / sum(rest.values())
        return {**{name: weight * scale for name, weight in rest.items()}, **fixed}

    def _by_spread(self, sizes: dict[str, float], drafted: Sequence[Record]) -> dict[str, float]:
        """Neyman's weights: size times the spread of the labelled values, with `PRIOR` more of the spread of all."""
        values: dict[str, list[float]] = {name: [] for name in sizes}
        for record in drafted:
            name = str(record["id"])
            for answer in self.pool.outputs(name) if self.measure and is_labelled(record, self.pool.task) else ():
                assessment = self.measure(record, answer or empty_prediction(name, self.pool.task))  # type: ignore[misc]
                values[record[SAMPLING]["stratum"]].append(float(assessment.tally.value))
        every = [value for several in values.values() for value in several]
        if len({*every}) < 2:
            return sizes
        prior = PRIOR * np.var(every)
        sums = {name: np.var(several or [0.0]) * len(several) for name, several in values.items()}
        return {
            name: sizes[name] * float(np.sqrt((sums[name] + prior) / (len(values[name]) + PRIOR))) for name in sizes
        }

    def records(self, n: int, drafted: Sequence[Record]) -> list[Fields]:
        """The next ``n`` records after those that are drafted: the stratum that lacks most of its share is next."""
        taken = Counter(map(self._check, drafted))
        shares = {name: share for name, share in self.shares(drafted).items() if share > 0}
        sizes = {name: len(ids) for name, ids in self.order.items()}
        records: list[Fields] = []
        for stratum in turns(shares, sizes, taken, n):
            records.append(self._record(stratum, taken[stratum]))
            taken[stratum] += 1
        return records

    def _record(self, stratum: str, position: int) -> Fields:
        """The record at a place of a stratum's order, without secrets."""
        name = self.order[stratum][position]
        side = {"split": self._sides[name]} if name in self._sides else {}
        record = {**side, **self.pool.inputs[name], **self._suggestions(name)}
        sampling = self._sampling(stratum, position, name).model_dump(mode="json", exclude_none=True)
        hidden: Fields = scrub(record)
        return {**hidden, SAMPLING: sampling}

    def _suggestions(self, name: str) -> Fields:
        """What the systems answered, by their names; a system that failed is absent."""
        several = self.pool.answers.items()
        suggestions = {system: output_of(each[name], self.pool.task) for system, each in several if name in each}
        return {"suggestions": suggestions} if several else {}

    def _sampling(self, stratum: str, position: int, name: str) -> Sampling:
        """How the record was chosen."""
        predictions, mean = self._totals[stratum]
        return Sampling(
            question=self.question,  # type: ignore[arg-type]
            stratum=stratum,
            size=len(self.order[stratum]),
            population=len(self.pool.inputs),
            seed=self.seed,
            position=position,
            systems=tuple(self.pool.answers),
            agreement=self.agreement,
            measure=self.comparison.measure or "",
            predicted=predictions,
            verdict=None if mean is None else self.pool.verdicts.get(name, mean),
            verdict_mean=mean,
        )

    @cached_property
    def _totals(self) -> dict[str, tuple[dict[str, int], float | None]]:
        """Of each stratum, how many items each system predicted in it, and the mean of its verdicts."""
        names = list(self.pool.inputs)
        inputs = [self.pool.inputs[name] for name in names]
        items: dict[str, dict[str, int]] = {}
        for system, answers in self.pool.answers.items():
            counts = predicted(self.measure, inputs, [answers.get(name) for name in names])
            items[system] = dict(zip(names, counts, strict=True)) if counts else {}
        totals: dict[str, tuple[dict[str, int], float | None]] = {}
        for stratum, ids in self.order.items():
            counted = {system: sum(each[name] for name in ids) for system, each in items.items() if each}
            verdicts = [self.pool.verdicts[name] for name in ids if name in self.pool.verdicts]
            totals[stratum] = (counted, sum(verdicts) / len(verdicts) if verdicts else None)
        return totals

    def _check(self, record: Record) -> str:
        """The stratum of a record of the draft to continue, which must be as this plan has it.

        Raises:
            DataError: It is not.
        """
        name = str(record.get("id"))
        sampling = sampling_of(record.get(SAMPLING), name)
        ids = self.order.get(sampling.stratum, [])
        expected = self._record(sampling.stratum, sampling.position) if sampling.position < len(ids) else {}
        same = all(expected.get(key) == record.get(key) for key in ("id", "suggestions"))
        if not same or sampling_of(expected[SAMPLING]) != sampling:
            message = "is not of this draft: the sources, the seed or another option changed; draft into a new file"
            raise DataError(message, record=name, field=SAMPLING)
        return sampling.stratum


def _by(strata: Mapping[str, str]) -> Strata:
    """The ids of each stratum, from the stratum of each id."""
    groups: Strata = defaultdict(list)
    for name, stratum in strata.items():
        groups[stratum].append(name)
    return dict(groups)
