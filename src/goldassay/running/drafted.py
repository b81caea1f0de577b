"""Runs on gold that a design chose: what their predictions of all inputs say, and the verdict on two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import identity
from goldassay.gold import Pairs
from goldassay.gold.outputs import Comparison as Outputs
from goldassay.gold.outputs import output_of, predicted
from goldassay.gold.reading import select
from goldassay.gold.shapes import Record
from goldassay.measure import TASKS, Measure
from goldassay.running.labelled import Labels, LabelVerdict, agreeing, decide, decided, predicted_by_design
from goldassay.secrets import scrub
from goldassay.statistics.design import Design
from goldassay.statistics.evidence import Evidences
from goldassay.statistics.intervals import unit_bounds
from goldassay.statistics.paired import Comparison
from goldassay.tally import Tally

if TYPE_CHECKING:
    from goldassay.running.run import Run


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
    measures: Mapping[str, Measure[Any]]
    file: Path
    records: Sequence[Record]

    @cached_property
    def answers(self) -> dict[str, Record]:
        """The predictions by id, as drafts compare them: of a task of your own the fields that were suggested."""
        several = [answer for record in self.records for answer in (record.get("suggestions") or {}).values()]
        suggested = {name for answer in several for name in answer}
        answers: dict[str, Record] = {}
        for place, record in enumerate(self.pairs.population):
            output = output_of(record, self.task)
            own = {key: output[key] for key in output.keys() & suggested}
            answers[identity(record, place)] = output if self.task in TASKS else own
        return answers

    def outputs(self, measure: Measure[Any] | None = None) -> Outputs:
        """How the draft compared outputs, which must not be looser than what a measure reads.

        Args:
            measure: The measure; without one, any comparison will do.

        Raises:
            GoldassayError: It is looser.
        """
        design = self.pairs.design
        drafted = Outputs(self.task, (design.first.measure or None) if design else None)
        if measure is None or self.task not in TASKS:
            return drafted
        agreement = design.agreement if design else ""
        strict = Outputs(self.task)
        own = Outputs(self.task, measure.key)
        covers = drafted.words == own.words or not drafted.reads_output_alone
        if not covers and not (drafted.words == strict.words and own.reads_output_alone):
            what = f"{own.measure} may tell apart what the draft takes as agreement ({agreement})"
            raise GoldassayError(f"{what}: draft records for the measure {own.measure}")
        return drafted

    def systems(self, outputs: Outputs) -> list[str]:
        """The systems of the draft whose suggestions the predictions are.

        Args:
            outputs: How the draft compared outputs.

        Raises:
            DataError: There is none: the labels tell nothing of other predictions.
        """
        systems = list(self.pairs.design.systems) if self.pairs.design else []
        place = ""
        for number, record in enumerate(self.records):
            name = identity(record, number)
            own = outputs.canonical(scrub(self.answers.get(name)))
            suggestions = record.get("suggestions") or {}
            same = [system for system in systems if outputs.canonical(suggestions.get(system)) == own]
            place = place or ("" if same else name)
            systems = [system for system in systems if system in same]
        if not systems:
            message = "these predictions are not those that the draft was made from, so its labels say little of them"
            raise DataError(f"{message}; draft again", file=self.file, record=place or None)
        return systems


def decided_pairs(task: str, both: Pairs) -> tuple[Pairs, bool]:
    """The records of a draft that people decided, and whether systems are compared by whose answers are right.

    Args:
        task: The task.
        both: All records of the draft, with predictions.

    Raises:
        DataError: Nothing is decided.
    """
    places, by_choice = decided(both.gold, task)
    left = len(both.gold) - len(places)
    if not places or both.design is None:
        raise DataError(f"none of the {left} records is labelled yet")
    design = both.design.only(places)
    undecided: list[str] = []
    if left:
        message = f"{left} of the {len(both.gold)} gold records are not labelled yet and are left out"
        undecided = [message, *design.skipped]
    return replace(
        both,
        gold=select(both.gold, places),
        pred=select(both.pred, places),
        warnings=[*both.warnings, *undecided],
        design=design,
        unlabelled=left,
    ), by_choice


def verdict_of(first: Run, other: Run, name: str) -> LabelVerdict:
    """The verdict on two runs on the same drafted gold, by one measure.

    Args:
        first: A.
        other: B, which is held against A.
        name: The name of the value.

    Raises:
        GoldassayError: The design tells nothing of these runs, or not by this measure.
        DataError: The predictions are not those that the draft was made from.
    """
    design = first.drafted.pairs.design if first.drafted else first.design
    if design is None or design.question in ("errors", "tuning"):
        raise GoldassayError(
            "these examples were not chosen to compare systems; draft records for the question compare"
        )
    both, a, b = Evidences.paired(first.tallies(name), other.tallies(name), first.zero[name])
    about: dict[str, Any] = {
        "documents": first.clusters,
        "limits": first.bounds(name),
        "lower_is_better": name in first.zero.worst,
    }
    if design.question == "compare":
        labels = Labels(design, both, a, b, **_differing(first, other, design, name), **about)
    else:
        labels = Labels(design, both, a, b, (a != b).any(axis=1).tolist(), **about)
    verdict = decide(labels, (first.name, other.name), name)
    if verdict.interval is None:
        what = f"{name} counts what gold has where the systems agree too, and nothing is labelled there"
        raise GoldassayError(f"{what}: draft records for the question compare and the measure {name}")
    return verdict


def weighed(
    before: Sequence[Any], after: Sequence[Any], zero: Tally, design: Design, documents: Sequence[Any] | None = None
) -> Comparison:
    """The difference of two systems on all examples of a level, each weighed by what it stands for.

    Args:
        before: A's evidence of each example.
        after: B's, which is held against A's.
        zero: No evidence.
        design: How the examples were chosen.
        documents: The document of each, if any two share one.

    Raises:
        GoldassayError: The examples were chosen for another question.
    """
    if design.no_level:
        raise GoldassayError(design.no_level)
    both, a, b = Evidences.paired(before, after, zero)
    limits = min(unit_bounds(both, both.of(rows), rows) for rows in (a, b))  # the wider of both
    labels = Labels(design, both, a, b, (a != b).any(axis=1).tolist(), documents=documents, limits=limits)
    return decide(labels, ("before", "after"), "metric").comparison(complete=True)


def _differing(first: Run, other: Run, design: Design, name: str) -> dict[str, Any]:
    """Where the predictions of two runs differ, as `Labels` take it, checked against the draft.

    Raises:
        GoldassayError: The runs have no predictions of all inputs.
        DataError: The predictions are not those that the draft was made from.
    """
    sides = first.drafted, other.drafted
    if sides[0] is None or sides[1] is None:
        what = "these runs have answers to the drafted examples only"
        raise GoldassayError(f"{what}; compare their predictions of all inputs with the labelled file as the gold")
    measure = sides[0].measures.get(name)
    outputs = sides[0].outputs(measure)
    answers = sides[0].answers, sides[1].answers
    ids = sorted({*answers[0], *answers[1]})
    if len(ids) != design.population and (len(ids) > design.population or len(design.systems) == 2):
        what = f"{len(ids)} inputs have predictions, where the draft was made from {design.population}"
        raise DataError(f"{what}; compare the predictions of all of them")
    ours = sides[0].systems(outputs)[0]
    theirs = sides[1].systems(outputs)
    names = (ours, next((name for name in theirs if name != ours), ours))
    differ = {key: not outputs.agree(answers[0].get(key), answers[1].get(key)) for key in ids}
    _check_sizes(design, differ)
    labelled = [identity(record, place) for place, record in enumerate(sides[0].pairs.gold)]
    inputs = [{"id": key, "text": "", "question": "", "query": ""} for key in ids]
    counts = [predicted(measure, inputs, [own.get(key) for key in ids]) for own in answers]
    totals: dict[str, tuple[float, float]] = {}
    if all(counts):
        totals = _totals(design, names, np.array(counts).T, np.array([differ[key] for key in ids]), name)
    return {
        "differ": [differ.get(key, False) for key in labelled],
        "agreeing": agreeing(design, names),
        "predicted": totals,
    }


def _totals(
    design: Design, names: tuple[str, str], counts: NDArray[np.int64], differ: NDArray[np.bool_], name: str
) -> dict[str, tuple[float, float]]:
    """By stratum, how much two systems predict in all of it; where others decide the strata too, as the draft says.

    Raises:
        GoldassayError: The draft counted predictions for another measure.
    """
    if len(design.systems) == 2:
        parts = {"agree": counts[~differ].sum(axis=0), "disagree": counts[differ].sum(axis=0)}
        return {stratum: (float(first), float(second)) for stratum, (first, second) in parts.items()}
    totals = predicted_by_design(design, names)
    covered = sum(design.sizes.values()) == design.population
    if covered and np.sum([*totals.values()], axis=0).tolist() != counts.sum(axis=0).tolist():
        what = f"{name} counts predictions in another way than the measure of this draft"
        raise GoldassayError(f"{what}: draft records for the question compare and the measure {name}")
    return totals


def _check_sizes(design: Design, differ: Mapping[str, bool]) -> None:
    """Check that two systems differ on as many inputs as the draft says.

    Raises:
        DataError: They do not.
    """
    sizes = {"disagree": sum(differ.values()), "agree": len(differ) - sum(differ.values())}
    wrong = next((name for name, size in design.sizes.items() if sizes.get(name) != size), None)
    if wrong is not None and len(design.systems) == 2:
        message = f"the draft has {design.sizes[wrong]} inputs in the stratum {wrong!r}, these predictions have"
        raise DataError(f"{message} {sizes.get(wrong, 0)}; compare the predictions that it was made from")
