"""Drafts of gold: which inputs to label, so that few labels answer a question, and estimates from them stay valid.

    pool = Pool.of("classification", inputs, {"a": answers_of_a, "b": answers_of_b})
    draft(pool, "compare", n=40).records

Where two systems give the same output, the label adds nothing to their difference, whatever it is; so for ``compare``
only disagreements are drafted, and a few agreements where the measure's denominators need them. What counts as
agreement is in `goldassay.ext.labelling.outputs`. For ``level`` records are drawn at random, or from strata in shares
that the first labels correct (Neyman); for ``errors`` mostly from likely failures; for ``tuning`` one of each cluster
of near-equal texts, which supports no estimate.

Each record says how it was chosen (`goldassay.statistics.design`). Inside a stratum the order is random, and the strata
take turns in proportion to their shares: whatever prefix is labelled is a smaller sample of the same design.

Cochran, *Sampling Techniques*, 1977 (strata, Neyman's shares); McNemar 1947 (disagreements alone).
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.options import shell_line
from goldassay._support.secrets import redact, scrub
from goldassay.core.fields import Fields, JsonObject, Record, identity
from goldassay.core.measure import TASKS, Measure, check_choice
from goldassay.core.shape import UNKNOWN_SHAPE, ProgramShape, input_text
from goldassay.ext.labelling import SUFFIX
from goldassay.ext.labelling.outputs import OutputComparison, of_corpus, predicted
from goldassay.gold.anyfields import ABOUT_RECORD
from goldassay.gold.outputs import output_of
from goldassay.gold.records import INPUT_FIELDS, LABEL_FIELDS, SPANS, empty_prediction, is_labelled
from goldassay.gold.shapes import SHAPES
from goldassay.gold.splits import TUNING_SPLITS, grouped, split, value_of
from goldassay.results.view import Note, Sentence, Table, TableRow, View
from goldassay.statistics.design import SAMPLING, Sampling, sampling_of
from goldassay.statistics.sampling import allocate_labels
from goldassay.workspace import has_metric

AGREE = "agree"
DISAGREE = "disagree"
ON_AGREEMENTS = 0.3  # of the labels, where the denominators of a measure need agreements
LIKELY = 2 / 3  # of the labels for errors that go to likely failures
GOLD_FIELDS = {
    **LABEL_FIELDS,
    "classification": (*LABEL_FIELDS["classification"], "secondary_labels", "rationale"),
    "answering": (
        *LABEL_FIELDS["answering"],
        "reference",
        "supporting_facts",
        "answer_type",
        "answer_starts",
        "answerable",
        "entities",
        "provenance",
    ),
    "trajectories": (*LABEL_FIELDS["trajectories"], "answers", "messages", "order", "state"),
}
"""The fields of gold that a label fills in."""


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
        shape: The fields of the program, of a task of your own.
    """

    task: str
    inputs: dict[str, Fields]
    answers: dict[str, dict[str, JsonObject]] = field(default_factory=dict)
    verdicts: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    shape: ProgramShape = UNKNOWN_SHAPE

    @classmethod
    def of(
        cls,
        task: str,
        inputs: Iterable[Mapping[str, object]],
        answers: Mapping[str, Iterable[Mapping[str, object]]] = {},
        shape: ProgramShape = UNKNOWN_SHAPE,
    ) -> Pool:
        """A pool of records and predictions, which have the same ids.

        Args:
            task: The task.
            inputs: The records; gold that they have is left out.
            answers: The predictions of each system.
            shape: The fields of the program, of a task of your own.

        Raises:
            DataError: A prediction has no input, or an id is used twice.
        """
        pool = cls(task, {}, shape=shape)
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
        """Add an input; a field that is not an input of the task or its program goes to ``meta``.

        Raises:
            DataError: The id is used twice.
        """
        if name in self.inputs:
            raise DataError("duplicate document id; each record needs its own", record=name)
        gold: Iterable[str] = self.shape.answered
        inputs: Collection[str] = {*self.shape.asked, *ABOUT_RECORD} if self.shape.asked else record.keys()
        if self.task in TASKS:
            gold = (*GOLD_FIELDS[self.task], "errors")
            inputs = SHAPES["gold"][self.task].__annotations__.keys()
        values = {key: value for key, value in record.items() if key not in (*gold, "id", SAMPLING, "suggestions")}
        fields = {key: value for key, value in values.items() if key in inputs}
        extra = {key: value for key, value in values.items() if key not in inputs and value not in (None, "")}
        meta = {"meta": {**extra, **(fields.get("meta") or {})}} if extra else {}
        self.inputs[name] = {"id": name, **fields, **meta}

    def text(self, name: str) -> str:
        """The text of an input."""
        return text_of(self.inputs[name], self.task, self.shape)

    def outputs(self, name: str) -> list[JsonObject | None]:
        """The predictions for an input; None where a system failed."""
        return [predictions.get(name) for predictions in self.answers.values()]

    def confidences(self) -> dict[str, float]:
        """The least confidence that a system has in its answer to each input, of those that state one."""
        stated: dict[str, float] = {}
        for name in self.inputs:
            numbers: list[float] = []
            for answer in self.outputs(name):
                probabilities = (answer or {}).get("probabilities")
                if isinstance(probabilities, Mapping):
                    likely = [float(value) for value in probabilities.values() if isinstance(value, (int, float))]
                    numbers.append(max(likely, default=0.0))
                elif answer:
                    items = [item for value in answer.values() if isinstance(value, list) for item in value]
                    values = [item.get("confidence") for item in (answer, *items) if isinstance(item, dict)]
                    numbers += [float(value) for value in values if isinstance(value, (int, float))]
            if numbers:
                stated[name] = min(numbers)
        return stated


def text_of(record: JsonObject, task: str, shape: ProgramShape = UNKNOWN_SHAPE) -> str:
    """The key that identifies a record: its text, question or query; of a user's task all its inputs."""
    if task in INPUT_FIELDS:
        return str(record.get(INPUT_FIELDS[task]) or "")
    return input_text(
        record, shape.asked or [name for name in record if name not in ("id", "strata", "document", "meta")]
    )


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
        warnings: What a reader should know.
    """

    task: str
    question: str
    records: list[Fields]
    sizes: dict[str, int]
    systems: list[str]
    agreement: str
    warnings: list[str]

    @property
    def strata(self) -> dict[str, dict[str, int]]:
        """The inputs of each stratum (``size``), and how many of them are ``drafted``."""
        counts = Counter(record[SAMPLING]["stratum"] for record in self.records)
        return {name: {"size": size, "drafted": counts[name]} for name, size in self.sizes.items()}

    def view(self) -> View:
        """The strata with their sizes and records, what counts as agreement, and what the labels will answer."""
        inputs = self.records[0][SAMPLING]["population"]
        title = f"{inputs:,} inputs, {len(self.records)} drafted to answer: {self.question}"
        strata: list[TableRow] = [[name, *counts.values()] for name, counts in self.strata.items()]
        view: View = [*map(Note, self.warnings), Table(title, ["stratum", "inputs", "drafted"], strata)]
        if self.agreement:
            view.append(Sentence(f"agreement: {self.agreement}"))
        return [*view, Sentence(f"once they are labelled: {ESTIMATES[self.question]}")]

    def state(self) -> JsonObject:
        """As JSON."""
        return {
            "task": self.task,
            "question": self.question,
            "records": len(self.records),
            "population": self.records[0][SAMPLING]["population"],
            "strata": self.strata,
            "systems": self.systems,
            "agreement": self.agreement,
            "answer": ESTIMATES[self.question],
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
    fixed: bool = False,
    drafted: Sequence[Mapping[str, object]] = (),
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
        fixed: All drafted records will be labelled before anybody looks at a verdict: the number of labels is fixed,
            and a test of that number decides, which shows more than one that is valid whenever you stop.
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
    systems = list(pool.answers)
    aim = question or ("compare" if len(systems) > 1 else "level")
    if drafted:
        first = sampling_of(drafted[0].get(SAMPLING), drafted[0].get("id"))
        aim = question or first.question
        seed = first.seed
        if first.fixed:
            raise GoldassayError(f"the draft fixed its {first.fixed} labels beforehand; draft more into a new file")
    check_choice("question", aim, ESTIMATES)
    if fixed and aim != "compare":
        raise GoldassayError(f"a number of labels is fixed to compare systems, not for {aim}")
    if not pool.inputs:
        raise GoldassayError("these sources have no inputs")
    if aim == "compare" and len(systems) < 2:
        raise GoldassayError("to compare, name two sources with answers to the same inputs")
    if odd := next((name for name in systems if "=" in name or "|" in name), None):
        raise GoldassayError(f"a system is not named {odd!r}: = and | say who agrees with whom")
    if (strata and aim != "level") or (pool.kinds and aim not in ("level", "errors")):
        raise GoldassayError(f"no strata are chosen for {aim}; they are for a level, those of a rule for errors too")
    warnings = [*pool.warnings]
    if pool.task in SPANS:  # places would not be those of the text without a secret
        inputs = {name: record for name, record in pool.inputs.items() if redact(text := pool.text(name)) == text}
        if secret := len(pool.inputs) - len(inputs):
            warnings.append(f"{secret} inputs hold what looks like a key or password and are left out")
            pool = replace(pool, inputs=inputs)
    comparison = OutputComparison(pool.task, measure, pool.shape)
    headline = comparison.headline(answer for item in pool.answers.values() for answer in item.values())
    agreement = comparison.words if len(systems) > 1 else ""
    sides: Mapping[str, str] = {}
    if aim == "compare":
        stratum_of = _partitions(pool, comparison)
        if {*stratum_of.values()} == {AGREE}:
            raise GoldassayError(f"{' and '.join(systems)} agree on all {len(stratum_of)} inputs: {agreement}")
    elif aim == "level":
        stratum_of = _levels(pool, comparison, strata)
    elif aim == "errors":
        stratum_of = _likely_errors(pool, comparison)
        if {*stratum_of.values()} == {"rest"}:
            warnings.append(
                "nothing marks a likely failure (no rule, no answers that differ, no confidence): all at random"
            )
    else:
        stratum_of = _clusters(pool, seed)
        chosen = [pool.inputs[name] for name in stratum_of]
        sides = split(chosen, ratios=TUNING_SPLITS, factors=(), seed=seed).of  # each is for train or dev
    order: dict[str, list[str]] = {stratum: [] for stratum in sorted({*stratum_of.values()})}
    for name in sorted(stratum_of):
        order[stratum_of[name]].append(name)
    for stratum, names in order.items():
        random.Random(f"{seed} {stratum}").shuffle(names)
    sizes = {stratum: len(names) for stratum, names in order.items()}
    # Of each stratum, how many items each system predicted in it, and the mean of its verdicts.
    items: dict[str, dict[str, int]] = {}
    for system, answers in pool.answers.items():
        counts = predicted(headline, [*pool.inputs.values()], [answers.get(name) for name in pool.inputs])
        items |= {system: dict(zip(pool.inputs, counts, strict=True))} if counts else {}
    totals: dict[str, Fields] = {}
    for stratum, names in order.items():
        verdicts = [pool.verdicts[name] for name in names if name in pool.verdicts]
        totals[stratum] = {
            "predicted": {system: sum(counts[name] for name in names) for system, counts in items.items()},
            "verdict_mean": sum(verdicts) / len(verdicts) if verdicts else None,
        }

    def record_at(stratum: str, position: int) -> JsonObject:
        """The record at a place of a stratum's order, without secrets: with the answers and how it was chosen."""
        name = order[stratum][position]
        sampling = Sampling(
            question=aim,  # type: ignore[arg-type]
            stratum=stratum,
            size=sizes[stratum],
            population=len(pool.inputs),
            seed=seed,
            position=position,
            systems=tuple(systems),
            agreement=agreement,
            measure=measure or "",
            scored=tuple(pool.shape.scored(pool.shape.outputs)) or None,
            verdict=pool.verdicts.get(name, totals[stratum]["verdict_mean"]),
            **totals[stratum],
        )
        record: JsonObject = {"split": sides[name]} if name in sides else {}
        record |= pool.inputs[name]
        if systems:  # one that failed is absent
            answered = {system: answers[name] for system, answers in pool.answers.items() if name in answers}
            record["suggestions"] = {system: output_of(answer, pool.task) for system, answer in answered.items()}
        hidden = scrub(record)
        return {**hidden, SAMPLING: sampling.model_dump(mode="json", exclude_none=True)}

    taken: Counter[str] = Counter()
    for record in drafted:
        name = str(record.get("id"))
        sampling = sampling_of(record.get(SAMPLING), name).model_copy(update={"sources": None, "map": None})
        is_known = sampling.position < sizes.get(sampling.stratum, 0)
        expected = record_at(sampling.stratum, sampling.position) if is_known else {}
        same = all(expected.get(key) == record.get(key) for key in ("id", "suggestions"))
        if not same or sampling_of(expected[SAMPLING]) != sampling:
            message = "is not of this draft: the sources, the seed or another option changed; draft into a new file"
            raise DataError(message, record=name, field=SAMPLING)
        taken[sampling.stratum] += 1
    shares = {name: share for name, share in _shares(pool, aim, headline, sizes, drafted).items() if share > 0}
    records: list[Fields] = []
    for stratum in allocate_labels(shares, sizes, taken, n):  # the stratum that lacks most of its share is next
        records.append(record_at(stratum, taken[stratum]))
        taken[stratum] += 1
    if not records:
        raise GoldassayError("every input of the strata that the question needs is drafted already")
    if fixed:
        records = [{**record, SAMPLING: {**record[SAMPLING], "fixed": len(records)}} for record in records]
    return Draft(pool.task, aim, records, sizes, systems, agreement, warnings)


ESTIMATES = {
    "compare": "the difference of the systems, with its interval and test; not the level of one",
    "level": "the level of each system, and differences, weighted by stratum",
    "errors": "the share of each kind of error, weighted by stratum",
    "tuning": "nothing: these are examples for train and dev",
}
"""The estimates that labels allow, by question."""


def next_steps(
    question: str, task: str, gold: Path, files: Sequence[Path], columns: Mapping[str, str] = {}
) -> list[str]:
    """The commands that take the labels of a draft.

    Args:
        question: The question of the draft.
        task: The task, or the file of its program.
        gold: The draft, or the folder of its review.
        files: The files of answers that it was drafted from.
        columns: Their fields under other names.
    """
    names = ",".join(f"{name}={path}" for name, path in columns.items()) or None
    review = gold if gold.is_dir() else gold.with_suffix(SUFFIX)
    commands = {
        "compare": [shell_line("goldassay compare", task, gold=gold, pred=[*files], map=names)],
        "level": [shell_line("goldassay score", task, gold=gold, pred=file, map=names) for file in files],
        "errors": [
            shell_line("goldassay gold modes", review),
            shell_line("goldassay patch propose", task, review),
        ],
        "tuning": [shell_line("goldassay tune", task, gold=gold)],
        "": [shell_line("goldassay report", review, out=f"{gold.stem}.html")],
    }
    is_known = question in ("errors", "tuning") or (files and all(file.exists() for file in files))
    if question in ("level", "tuning"):  # which need a metric
        is_known = is_known and has_metric(task)
    return commands[question if is_known else ""]


def _levels(pool: Pool, comparison: OutputComparison, by: str | None) -> dict[str, str]:
    """The strata of a level, by what is named, the pool's kinds, or the verdicts of a judge."""
    if by == "agreement":
        if len(pool.answers) < 2:
            raise GoldassayError("strata by agreement need two sources with answers")
        return _partitions(pool, comparison)
    if by == "confidence":
        return _bands(pool, "confidence", pool.confidences())
    if pool.kinds:
        return {name: pool.kinds.get(name, "rest") for name in pool.inputs}
    if by is not None:
        rows = {name: {**(record.get("meta") or {}), **record} for name, record in pool.inputs.items()}
        values = {name: value_of(row, by) for name, row in rows.items()}
        if not any(value is not None for value in values.values()):
            raise GoldassayError(f"no input has {by!r}, neither in its strata nor as a field")
        return {name: f"{by} {value}" for name, value in values.items()}
    if pool.verdicts:
        return _bands(pool, "verdict", pool.verdicts)
    return dict.fromkeys(pool.inputs, "all")


def _likely_errors(pool: Pool, comparison: OutputComparison) -> dict[str, str]:
    """Likely failures by their strongest sign, and the rest."""
    low = 0.2  # the share of the least confident answers that are likely failures
    signs = dict.fromkeys(pool.inputs, "rest")
    confidences = pool.confidences()
    most = max(confidences.values(), default=0.0)
    least = np.quantile([*confidences.values()], low) if confidences else most
    signs |= {name: "low confidence" for name, value in confidences.items() if value <= least and value < most}
    signs |= {name: "judged wrong" for name, verdict in pool.verdicts.items() if verdict < 0.5}
    if len(pool.answers) > 1:
        signs |= {name: DISAGREE for name, stratum in _partitions(pool, comparison).items() if stratum != AGREE}
    signs |= {name: kind for name, kind in pool.kinds.items() if name in signs}
    return signs | {name: "no answer" for name in pool.inputs if None in pool.outputs(name)}


def _clusters(pool: Pool, seed: int) -> dict[str, str]:
    """One of each cluster of near-equal texts, by the strata of the inputs."""
    names = sorted(pool.inputs)
    clusters = grouped([{"id": str(index), "text": pool.text(name)} for index, name in enumerate(names)])
    rng = random.Random(f"{seed} clusters")
    strata: dict[str, str] = {}
    for members in clusters:
        name = names[rng.choice(members)]
        facts = (pool.inputs[name].get("strata") or {}).items()
        strata[name] = ", ".join(f"{key}={value}" for key, value in facts) or "all"
    return strata


def _partitions(pool: Pool, comparison: OutputComparison) -> dict[str, str]:
    """The inputs by who agrees with whom: ``agree``, ``disagree``, or of several systems ``a=b|c``."""
    rare = 0.05  # of the disagreements: partitions below it are one stratum, which gets labels enough to be weighed
    kinds: dict[str, str] = {}
    for name in pool.inputs:
        groups: dict[str, list[str]] = defaultdict(list)
        for system, answer in zip(pool.answers, pool.outputs(name), strict=True):
            groups[comparison.canonical(answer)].append(system)
        kinds[name] = AGREE if len(groups) == 1 else "|".join("=".join(group) for group in groups.values())
    disputed = Counter(kind for kind in kinds.values() if kind != AGREE)
    least = math.inf if len(pool.answers) == 2 else rare * disputed.total()
    merged: Counter[str] = Counter()
    for kind, count in sorted(disputed.items(), key=lambda item: (item[1], item[0])):
        if count < least or 0 < merged.total() < least:  # together they are not rare either
            merged[kind] = count
    return {name: DISAGREE if kind in merged else kind for name, kind in kinds.items()}


def _bands(pool: Pool, noun: str, values: Mapping[str, float]) -> dict[str, str]:
    """The inputs by a number: by its values if there are few, else in thirds."""
    if not values:
        raise GoldassayError(f"no answer has a {noun}")
    first, *cuts = sorted({*values.values()})
    if len(cuts) > 2:
        cuts = sorted({*np.quantile([*values.values()], [1 / 3, 2 / 3], method="nearest").tolist()} - {first})
    names = [f"{noun} below {edge:.4g}" for edge in cuts] + [f"{noun} from {cuts[-1]:.4g}" if cuts else noun]
    strata = {name: names[int(np.searchsorted(cuts, value, "right"))] for name, value in values.items()}
    return {name: strata.get(name, f"no {noun}") for name in pool.inputs}


def _shares(
    pool: Pool, question: str, measure: Measure | None, sizes: Mapping[str, int], drafted: Sequence[Record]
) -> dict[str, float]:
    """The share of the labels that each stratum gets."""
    weights = {name: float(size) for name, size in sizes.items()}
    fixed: dict[str, float] = {}
    if question == "compare":
        fixed = {AGREE: ON_AGREEMENTS if of_corpus(measure) else 0.0}
    elif question == "errors":
        fixed = {"rest": 1 - LIKELY}
    elif question == "tuning":
        weights = dict.fromkeys(weights, 1.0)
    else:
        # Neyman's weights: size times the spread of the labelled values, which is shrunk by `prior` labels of the
        # spread of all: a few right ones are not proof that all are.
        prior = 3
        values: dict[str, list[float]] = {name: [] for name in weights}
        for record in drafted:
            name = str(record["id"])
            for answer in pool.outputs(name) if measure and is_labelled(record, pool.task) else ():
                assessment = measure(record, answer or empty_prediction(name, pool.task))  # type: ignore[misc]
                values[record[SAMPLING]["stratum"]].append(float(assessment.tally.value))
        labelled = [value for numbers in values.values() for value in numbers]
        if len({*labelled}) > 1:
            for name, numbers in values.items():
                spread = np.var(numbers or [0.0]) * len(numbers) + prior * np.var(labelled)
                weights[name] *= float(np.sqrt(spread / (len(numbers) + prior)))
    fixed = {name: share for name, share in fixed.items() if name in weights and len(weights) > 1}
    free = {name: weight for name, weight in weights.items() if name not in fixed}
    scale = (1 - sum(fixed.values())) / sum(free.values())
    return {**{name: weight * scale for name, weight in free.items()}, **fixed}
