"""Labels that settle whether one program is better: what to label of inputs without gold, and the verdict from it.

Both programs run on the same inputs. Where their outputs are the same, a label says nothing of their difference; the
others are drafted in a random order (`goldassay.gold.drafts`). Once some are labelled, the draft alone holds all that
the verdict needs (`goldassay.running.labelled`).

A gain g over N inputs of which M differ is at worst (M + g N) / 2 wins among the M: one of both outputs is right in
each. So many labels are needed at most that a random draw of them passes the exact sign test four times in five
(hypergeometric). Where both are wrong in some, or only one of both ever wins, fewer do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from dspy import Module

from goldassay import jsonl
from goldassay.fields import Fields, Record
from goldassay.gold.anyfields import ABOUT
from goldassay.gold.drafts import AGREE, Draft, Pool, draft
from goldassay.metric import Metric
from goldassay.running.labelled import verdict
from goldassay.statistics.design import Design
from goldassay.tuning.acceptance import MARGIN, Verdict
from goldassay.tuning.options import TuneOptions
from goldassay.tuning.tuner import resumable
from goldassay.tuning.verdict import Audit, of_comparison
from goldassay.tuning.wrappers import Examples

LABELS = 40  # records of a draft
WINS = 6  # with fewer wins and no loss no two-sided test at .05 shows anything (2 · 2^-6 = .031)
GAINS = (MARGIN, 0.1, 0.2)
LEVEL = 0.95
POWER = 0.8


@dataclass(frozen=True)
class LabelPlan:
    """What to label: the drafted records, the gains that are to be shown, and the answers to all inputs."""

    draft: Draft
    gains: tuple[float, ...]
    disagreements: int
    population: int
    pool: Pool = field(default_factory=lambda: Pool("", {}))

    @property
    def changed(self) -> list[list[Fields]]:
        """The inputs that are answered otherwise, with the answer before and after, without what is about a record."""
        changed: list[list[Fields]] = []
        for name, record in self.pool.inputs.items():
            sides = [record, *(answer or {} for answer in self.pool.outputs(name))]
            shown = [{key: side[key] for key in side if key not in ABOUT} for side in sides]
            changed += [shown] if shown[1] != shown[2] else []
        return changed

    @property
    def needed(self) -> dict[float, int]:
        """How many labels of disagreements show each gain four times in five; one that all would not show is absent."""
        counts = {gain: self._needed(gain) for gain in self.gains}
        return {gain: count for gain, count in counts.items() if count}

    def _needed(self, gain: float) -> int:
        from scipy import stats

        wins = round((self.disagreements + gain * self.population) / 2)
        sizes = np.arange(WINS, self.disagreements + 1)
        least = stats.binom.isf((1 - LEVEL) / 2, sizes, 0.5) + 1  # wins that pass the test
        power = stats.hypergeom.sf(least - 1, self.disagreements, wins, sizes)
        return int(next(iter(sizes[power >= POWER]), 0))

    @property
    def sentence(self) -> str:
        """How many outputs differ, and how many labels of them are needed."""
        before, after = self.draft.systems
        differ = (
            f"{before} and {after} differ on {self.disagreements} of {self.population} inputs; where they agree, "
            "a label says nothing of the difference"
        )
        counts = [f"at most {count} for a gain of {gain:+.3f}" for gain, count in self.needed.items()]
        if not counts:
            return (
                f"{differ}; labels of all of these would not show a gain of {max(self.gains):+.3f} four times in five"
            )
        return f"{differ}; labels of these that show it four times in five: {', '.join(counts)}"

    def audit(self, before: str, after: str, place: object) -> Audit:
        """What is known before the first label.

        Args:
            before: The program as it was, in words.
            after: The other.
            place: Where the draft is.
        """
        then = f"{len(self.draft.records)} are drafted in {place}: label them from the top, and run the same command"
        gain, count = next(iter(self.needed.items()), (None, None))
        details: Fields = {"draft": self.draft.state(), "labels_needed": {f"{g:g}": n for g, n in self.needed.items()}}
        about: Fields = {"needed": count, "target": gain, "baseline": before, "chosen": after}
        about |= {"source": "inputs without gold", "findings": (self.sentence, then), "details": details}
        size = self.population
        return Audit(str(Verdict.UNKNOWN), None, None, None, 1, size, size, "none", **about)


def without_gold(gold: object, pred: object) -> float:
    """The metric of runs on inputs without gold."""
    return 1.0


def plan_labels(
    task: str,
    programs: Mapping[str, Module],
    inputs: Examples,
    options: TuneOptions,
    *,
    gains: tuple[float, ...] = GAINS,
    measure: str | None = None,
) -> LabelPlan:
    """Run two programs on inputs without gold, and draft those on which they differ.

    Args:
        task: The task.
        programs: The programs by name, the one that was there before first.
        inputs: The inputs, with ids.
        options: How the programs are run; with a folder, runs are stored there and can be resumed.
        gains: The gains that are to be shown.
        measure: The name of the measure that is asked about; by default the task's.

    Raises:
        GoldassayError: The programs agree on all inputs, or one fails on all.
        RunStopped: A model answers no more.
    """
    options = options.resolved()
    answers: dict[str, list[Fields]] = {}
    for name, program in programs.items():
        run = resumable(program, inputs, Metric.of(without_gold), f"inputs-{name}", options)
        rows = [{**row["prediction"], "id": row["id"]} for row in run.rows if "prediction" in row]
        answers[name] = [json.loads(jsonl.dumps(row)) for row in rows]
    pool = Pool.of(task, [example.toDict() for example in inputs], answers)
    chosen = draft(pool, "compare", n=LABELS, measure=measure, seed=options.seed)
    differ = sum(size for name, size in chosen.sizes.items() if name != AGREE)
    return LabelPlan(chosen, gains, differ, len(pool.inputs), pool)


def of_labels(
    task: str, records: Sequence[Record], before: str, after: str, metric: Metric | str | None = None
) -> Audit:
    """The verdict on two programs, from the labelled records of a draft.

    Args:
        task: The task.
        records: The records of the draft, labelled or not.
        before: The program as it was, in words.
        after: The other.
        metric: The metric, or the name of a measure; by default the task's.

    Raises:
        GoldassayError: The records have no sampling, or not two systems.
        DataError: The design is broken.
    """
    design = Design.of(records)
    systems = design.systems if design is not None else ()
    result = verdict(task, records, systems, metric)
    population = design.population if design is not None else len(records)
    details: Fields = {"labels": result.state()}
    about: Fields = {"baseline": before, "chosen": after, "source": f"{result.labels} labels"}
    about |= {"findings": (result.sentence, *result.warnings), "details": details}
    if result.interval is None:
        return Audit(str(Verdict.UNKNOWN), None, None, None, 1, population, population, "none", **about)
    audit = of_comparison(result.gain, examples=population, **about)
    return replace(audit, clusters=population, needed=result.needed, more=None, fresh=None, target=None)
