"""The verdict on two systems from the labelled records of a draft.

    verdict("classification", records, ["before", "after"]).sentence

The draft alone holds what the verdict needs (`goldassay.statistics.labels`): the suggestions of both systems, the
labels in their order, and of each stratum its size and how much both predict in it. Files of predictions are joined to
a draft by their ids (`from_file`), for what they say of all inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldassay import workspace
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.secrets import scrub
from goldassay.core.evidence import Evidences
from goldassay.core.fields import JsonObject, Record, clusters, identity
from goldassay.core.measure import RAISED, TASKS, Measure, raised_notes
from goldassay.core.tally import Mean
from goldassay.ext.labelling.outputs import OutputComparison, drafted_shape, measure_named, predicted
from goldassay.gold import Pairs
from goldassay.gold.outputs import output_of
from goldassay.gold.records import empty_prediction, is_labelled
from goldassay.results.comparison import Comparison, adjusted_for_pairs
from goldassay.running.comparing import measured_by, of_pairs
from goldassay.running.scoring import read
from goldassay.statistics.design import Design
from goldassay.statistics.labels import PairedLabels, decide

if TYPE_CHECKING:
    from goldassay.core.metric import Metric
    from goldassay.running.run import Run

AGREE = "agree"
PREFERRED = "preferred"
"""The field of a record with the systems whose answers a person took to be right."""


def value_of_choices(task: str) -> str:
    """The value of systems whose answers people chose without making gold; trajectories need not be right for it."""
    return "share of better continuations" if task == "trajectories" else "share of right answers"


def verdict(
    task: str, records: Sequence[Record], systems: Sequence[str], measure: str | Measure | Metric | None = None
) -> Comparison:
    """The verdict on two systems, from the records of a draft alone.

    Args:
        task: The task; one of your own is measured by its metric.
        records: The records, in the order in which they were labelled; those without a label add only what they say
            of the strata.
        systems: The names of A and B, as in ``suggestions``; B is held against A.
        measure: The measure, its name, or a metric of your own; by default that of the draft, or the task's.

    Raises:
        GoldassayError: There are not two systems, the records have no such suggestions or no sampling, or the draft
            counted predictions in another way than the measure.
        DataError: The design is broken.

    >>> sampling = {"question": "compare", "stratum": "disagree", "size": 40, "population": 400, "systems": ["a", "b"]}
    >>> records = [{"id": str(i), "text": "x", "label": "M", "sampling": {**sampling, "position": i},
    ...     "suggestions": {"a": {"label": "L"}, "b": {"label": "M"}}} for i in range(10)]
    >>> print(verdict("classification", records, ["a", "b"]).sentence.split(",")[0])
    b is better than a: +0.100 [+0.061
    """
    if len(systems) != 2:
        raise GoldassayError(f"a verdict is on two systems, not on {', '.join(systems) or 'none'}")
    pair = (systems[0], systems[1])
    population = Design.of(records)
    if not population.drafted:
        raise GoldassayError("these records have no sampling: nothing says which inputs they stand for")
    if unknown := next((name for name in pair if name not in population.systems), None):
        raise GoldassayError(f"no system {unknown!r} in this draft; there are {', '.join(population.systems)}")
    measure = measure or population.first.measure or None
    by_name = measure is None or isinstance(measure, str)
    labelled, by_choice = decided(records, task, metric=not by_name)
    gold = [records[index] for index in labelled]
    answers = [[_suggested(record, name, task) for record in gold] for name in pair]
    twice = [*gold, *gold]  # each record with the answer of either system
    answered = [*answers[0], *answers[1]]
    outputs = OutputComparison(task, measure if isinstance(measure, str) else None, drafted_shape(population))
    suggested = (_suggested(record, name, task) for record in records for name in pair)
    chosen: Any = outputs.headline(suggested) if by_name else measure
    raised: list[str] = []
    zero: Any = Mean()
    if by_choice:
        chosen = None
        name = value_of_choices(task)
        tallies = [Mean.of(system in record[PREFERRED]) for system in pair for record in gold]
    elif isinstance(chosen, Measure):
        name = chosen.key
        zero = chosen.zero
        tallies = chosen.tallies(chosen.batch(twice, answered))
    else:
        metric = chosen or workspace.metric(task)
        name = next(iter(metric.measures))
        zero = metric.zero[name]
        assessed = [metric.assess_or_fail(record, answer) for record, answer in zip(twice, answered, strict=True)]
        tallies = [assessments[name].tally for assessments, _ in assessed]
        reasons = [(identity(record, ""), why) for record, (_, why) in zip(twice, assessed, strict=True)]
        raised = raised_notes(reasons, f"{len(reasons)} answers")
        if raised and all(why.startswith(RAISED) for _, why in reasons):
            raise GoldassayError(f"the labels cannot be measured: {raised[0]}")
        chosen = None
    design = population.only(labelled)
    predictions: dict[str, tuple[float, float]] = {}
    counts = [predicted(chosen, gold, system) for system in answers]
    if chosen and all(counts):
        drafted = OutputComparison(task, design.first.measure or None).headline(answers[0])
        if drafted != chosen and counts != [predicted(drafted, gold, system) for system in answers]:
            what = f"{chosen.key} counts predictions in another way than the measure of this draft"
            raise GoldassayError(f"{what}: draft records for the question compare and the measure {chosen.key}")
        predictions = predicted_by_design(design, pair)
    matrix = Evidences(tallies, zero) if gold else Evidences([zero], zero)
    half = len(gold)
    labels = PairedLabels(
        design,
        matrix,
        matrix.matrix[:half],
        matrix.matrix[half : 2 * half],
        [not outputs.agree(*outputs_of_pair) for outputs_of_pair in zip(*answers, strict=True)],
        agreeing(design, pair),
        predictions,
        clusters(gold),
        getattr(chosen, "known_limits", (0.0, 1.0)),
    )
    lower = bool(chosen and chosen.lower_is_better)
    warnings = [*raised, *(design.skipped if len(gold) < len(records) else [])]
    test = decide(labels)
    return Comparison(pair, name, test.paired(), lower, labels=test, warnings=tuple(warnings))


def ranked(verdicts: Sequence[Comparison]) -> list[Comparison]:
    """Verdicts on all pairs of systems, tested together, the best supported first."""

    def support(verdict: Comparison) -> tuple[bool, float, float]:
        labels = verdict.labels
        return (not labels.sign, labels.p, labels.test_p) if labels else (True, 1.0, 1.0)

    return sorted(adjusted_for_pairs(verdicts), key=support)


def decided(records: Sequence[Mapping[str, object]], task: str, *, metric: bool = False) -> tuple[list[int], bool]:
    """The places of the records that people decided, and whether systems are compared by whose answers are right.

    They are if people chose between answers without making gold, since gold alone would leave these records out, and
    in a task of your own, whose metric may ask a model.

    Args:
        records: The records of a draft.
        task: The task.
        metric: Whether a metric was named.
    """
    chosen = [index for index, record in enumerate(records) if record.get(PREFERRED) is not None]
    labelled = [index for index, record in enumerate(records) if is_labelled(record, task)]
    without_metric = task not in TASKS and not metric
    by_choice = bool(chosen) and (without_metric or not {*chosen} <= {*labelled})
    return (chosen if by_choice else labelled), by_choice


def _suggested(record: Record, system: str, task: str) -> JsonObject:
    """The answer of a system; an empty prediction if it failed."""
    answer = (record.get("suggestions") or {}).get(system)
    name = identity(record, "")
    return empty_prediction(name, task) if answer is None else {"id": name, **answer}


def predicted_by_design(design: Design, systems: tuple[str, str]) -> dict[str, tuple[float, float]]:
    """The number of items that two systems predict in all of a stratum, by stratum, where the design says so.

    Args:
        design: The design.
        systems: The names of the systems.
    """
    first, second = systems
    counted = {name: item.predicted for name, item in design.strata.items() if {*systems} <= item.predicted.keys()}
    return {name: (float(counts[first]), float(counts[second])) for name, counts in counted.items()}


def agreeing(design: Design, pair: tuple[str, str]) -> list[str]:
    """The strata in which two systems give the same output: ``agree``, and those with both in one part of ``a=b|c``.

    Args:
        design: The design.
        pair: The names of the systems.
    """
    same = []
    for stratum in design.sizes:
        groups = [group.split("=") for group in stratum.split("|")]
        named = sorted(name for group in groups for name in group) == sorted(design.systems)
        if stratum == AGREE or (named and any(set(pair) <= set(group) for group in groups)):
            same.append(stratum)
    return same


@dataclass(frozen=True)
class Drafted:
    """The predictions of one system for all inputs that a draft was made from.

    Args:
        task: The task.
        pairs: The labelled records with their predictions, the design, and the predictions of all inputs.
        measures: The measures by the names of their values; empty for a task of your own.
        file: The file of predictions.
        records: All records of the draft, labelled or not.
    """

    task: str
    pairs: Pairs
    measures: Mapping[str, Measure]
    file: Path
    records: Sequence[Record]

    @cached_property
    def answers(self) -> dict[str, Mapping[str, object]]:
        """The predictions by id, as drafts compare them: of a task of your own the fields that were suggested."""
        group = [answer for record in self.records for answer in (record.get("suggestions") or {}).values()]
        suggested = {name for answer in group for name in answer}
        answers: dict[str, Mapping[str, object]] = {}
        for index, record in enumerate(self.pairs.population):
            output = output_of(record, self.task)
            fields = {key: output[key] for key in output.keys() & suggested}
            answers[identity(record, index)] = output if self.task in TASKS else fields
        return answers

    def systems(self, outputs: OutputComparison) -> list[str]:
        """The systems of the draft whose suggestions the predictions are.

        Args:
            outputs: How the draft compared outputs.

        Raises:
            DataError: There is none: the labels say nothing about other predictions.
        """
        systems = list(self.pairs.design.systems)
        odd = ""
        for number, record in enumerate(self.records):
            name = identity(record, number)
            output = outputs.canonical(scrub(self.answers.get(name)))
            suggestions = record.get("suggestions") or {}
            same = [system for system in systems if outputs.canonical(suggestions.get(system)) == output]
            odd = odd or ("" if same else name)
            systems = [system for system in systems if system in same]
        if not systems:
            message = "these predictions are not those that the draft was made from, so its labels say little of them"
            raise DataError(f"{message}; draft again", file=self.file, record=odd or None)
        return systems

    @property
    def design(self) -> Design:
        """How the labelled records were chosen."""
        return self.pairs.design

    def paired(self, other: Drafted, measure: str, labels: PairedLabels) -> PairedLabels:
        """The evidence of this system and another one, with where their predictions of all inputs differ.

        Args:
            other: The predictions of the other system.
            measure: The name of the value.
            labels: The evidence of both on the labelled records.

        Raises:
            GoldassayError: The draft counted predictions for another measure.
            DataError: The predictions are not those that the draft was made from.
        """
        design = self.design
        chosen = self.measures.get(measure)
        outputs = OutputComparison(self.task, design.first.measure or None, drafted_shape(design))
        if chosen is not None:  # the draft must not have compared outputs more loosely than what the measure reads
            strict = OutputComparison(self.task)
            precise = OutputComparison(self.task, chosen.key)
            covers = outputs.words == precise.words or not outputs.reads_output_alone
            if not covers and not (outputs.words == strict.words and precise.reads_output_alone):
                what = f"{precise.measure} may distinguish what the draft counts as agreement ({design.agreement})"
                raise GoldassayError(f"{what}: draft records for the measure {precise.measure}")
        answers = self.answers, other.answers
        ids = sorted({*answers[0], *answers[1]})
        if len(ids) != design.population and (len(ids) > design.population or len(design.systems) == 2):
            what = f"{len(ids)} inputs have predictions, where the draft was made from {design.population}"
            raise DataError(f"{what}; compare the predictions of all of them")
        ours = self.systems(outputs)[0]
        theirs = other.systems(outputs)
        names = (ours, next((name for name in theirs if name != ours), ours))
        differ = {key: not outputs.agree(answers[0].get(key), answers[1].get(key)) for key in ids}
        sizes = {"disagree": sum(differ.values()), "agree": len(differ) - sum(differ.values())}
        wrong = next((name for name, size in design.sizes.items() if sizes.get(name) != size), None)
        if wrong is not None and len(design.systems) == 2:
            message = f"the draft has {design.sizes[wrong]} inputs in the stratum {wrong!r}, these predictions have"
            raise DataError(f"{message} {sizes.get(wrong, 0)}; compare the predictions that it was made from")
        inputs = [{"id": key, "text": "", "question": "", "query": ""} for key in ids]
        counts = [predicted(chosen, inputs, [by_id.get(key) for key in ids]) for by_id in answers]
        totals: dict[str, tuple[float, float]] = {}
        if all(counts):
            by_pair = np.array(counts).T
            if len(design.systems) == 2:
                unequal = np.array([differ[key] for key in ids])
                sums = {"agree": by_pair[~unequal].sum(axis=0), "disagree": by_pair[unequal].sum(axis=0)}
                totals = {stratum: (float(first), float(second)) for stratum, (first, second) in sums.items()}
            else:  # other systems decide the strata, too, so the draft says what they predict
                totals = predicted_by_design(design, names)
                covered = sum(design.sizes.values()) == design.population
                if covered and np.sum([*totals.values()], axis=0).tolist() != by_pair.sum(axis=0).tolist():
                    what = f"{measure} counts predictions in another way than the measure of this draft"
                    raise GoldassayError(f"{what}: draft records for the question compare and the measure {measure}")
        labelled = [identity(record, number) for number, record in enumerate(self.pairs.gold)]
        on_labelled = [differ.get(key, False) for key in labelled]
        return replace(labels, differ=on_labelled, agreeing=agreeing(design, names), predicted=totals)


def from_file(
    task: str, gold: Path, file: Path, *, measures: Sequence[str] = (), limit: int | None = None, **options: Any
) -> Run:
    """The run of a file of predictions, by the values asked for; on the records of a draft joined to it by their ids.

    Args:
        task: The task.
        gold: The file of gold.
        file: The file of predictions.
        measures: The names of values; by default the usual ones of the task, or those of a protocol.
        limit: Only so many examples.
        options: Those of `goldassay.score`.

    Raises:
        GoldassayError: A side cannot be read, or the task has no value of a name.
        DataError: Nothing of a draft is labelled.
    """
    aligned, chosen = read(task, gold, file, drafts=True, measures=measures, **options)
    del chosen["measures"]
    protocol = chosen.get("protocol")
    if not aligned.design.drafted:
        aligned = replace(aligned, gold=aligned.gold[:limit], pred=aligned.pred[:limit])
        return of_pairs(task, aligned, measured_by(task, aligned, chosen, measures), file, protocol)
    if limit is not None:
        raise GoldassayError("gold that a design chose is compared whole; leave the limit out")
    indices, by_choice = decided(aligned.gold, task, metric=bool(measures))
    left = len(aligned.gold) - len(indices)
    if not indices:
        raise DataError(f"none of the {left} records is labelled yet")
    design = aligned.design.only(indices)
    warnings = [*aligned.warnings]
    if left:
        message = f"{left} of the {len(aligned.gold)} gold records are not labelled yet and are left out"
        warnings += [message, *design.skipped]
    labelled = replace(
        aligned,
        gold=[aligned.gold[index] for index in indices],
        pred=[aligned.pred[index] for index in indices],
        warnings=warnings,
        design=design,
        unlabelled=left,
    )
    drafted = Drafted(task, labelled, {}, file, aligned.gold)
    measured = labelled
    values: Mapping[str, Measure] | Metric
    if by_choice:  # whether people took each answer to be right, as a classification
        outputs = OutputComparison(task, design.first.measure or None, drafted_shape(design))
        system = drafted.systems(outputs)[0]
        gold_labels = [{**record, "label": "right"} for record in labelled.gold]
        rights = [{"label": "right" if system in record[PREFERRED] else "wrong"} for record in labelled.gold]
        measured = replace(labelled, gold=gold_labels, pred=rights)
        values = {value_of_choices(task): measure_named("classification", "accuracy")}
    else:
        values = measured_by(task, replace(labelled, warnings=[]), chosen, measures)
        drafted = replace(drafted, measures=values if isinstance(values, Mapping) and task in TASKS else {})
    run = of_pairs(task, labelled, values, file, protocol, measured=measured)
    if by_choice:  # nobody said what is wrong with the others
        run = replace(run, rows=[replace(row, errors=()) for row in run.rows])
    run.drafted = drafted
    return run
