"""The headroom of a program before any tuning: what an edit of a kind can gain, estimated from a pilot.

*Edits* are tried as they are (`goldassay.tuning.plan.PROBES`): demonstrations, the other form of the answer. *Form*: if
the answers that could not be read were as good as the others. *Spread*: the best of a few tries, as a judge that knows
gold would choose it (pass@k), over the first of them (pass@1): what better instructions or demonstrations may make
reliable, and no promise that they do. *Agreement*: the answer that most tries give, which takes neither labels nor
tuning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import dspy
import numpy as np
import scipy
from dspy import Module

from goldassay._support import jsonl
from goldassay.core.evidence import contributions
from goldassay.core.fields import clusters
from goldassay.core.metric import AnyMetric
from goldassay.core.shape import shape_of
from goldassay.core.tally import Evidence
from goldassay.running import Run
from goldassay.running.options import RunOptions
from goldassay.statistics import wilson
from goldassay.tuning.measuring import evaluated
from goldassay.tuning.wrappers import Examples

TRIES = 3


@dataclass(frozen=True)
class Probe:
    """What a kind of edit gains on the pilot's examples over the program as it is, with its interval and the t.

    ``spread`` is the standard deviation of one document's part in the gain. A ``ceiling`` is a maximum over noise,
    never below 0, which shows nothing by itself.
    """

    name: str
    value: float
    gain: float
    t: float
    low: float
    high: float
    spread: float = 0.0
    ceiling: bool = False

    @classmethod
    def of(
        cls, name: str, after: Sequence[Evidence], before: Sequence[Evidence], zero: Evidence, examples: Examples
    ) -> Probe:
        """The paired gain of the evidence ``after`` over that ``before``.

        Where only one document differs, the standard error of the mean is about its part divided by n, whatever the
        others are; of few documents that differ it is estimated too low by chance. So the error is never less than the
        largest part divided by n.

        Args:
            name: The kind of edit.
            after: The evidence of each example with it.
            before: The evidence as it is.
            zero: Empty evidence.
            examples: The examples, which may share documents.
        """
        shares = contributions(after, before, zero, clusters=clusters(examples))
        n = len(shares)
        shares = n * shares
        gain = float(shares.mean())
        spread = float(np.std(shares, ddof=1)) if n > 1 else 0.0
        error = max(spread / math.sqrt(n), float(np.abs(shares).max()) / n)
        margin = error * float(scipy.special.stdtrit(n - 1, 0.975)) if n > 1 else math.inf
        value = float(sum(after, zero).value)
        return cls(name, value, gain, gain / error if error else 0.0, gain - margin, gain + margin, spread)


def headroom(program: Module, examples: Examples, metric: AnyMetric, base: Run, options: RunOptions) -> list[Probe]:
    """The headroom of form, of spread and of agreement.

    Args:
        program: The program.
        examples: The pilot's examples.
        metric: What measures it.
        base: The program as it is on them.
        options: How it is run; its model is asked `TRIES` times more, at temperature 1.
    """
    failed = [bool(row.error) for row in base.rows]
    read = [evidence for evidence, wrong in zip(base.evidence, failed, strict=True) if not wrong]
    best = float(sum(read, base.zero).value)
    low, high = wilson(sum(failed), len(failed))
    share = sum(failed) / len(failed)
    probes = [Probe("all answers readable", best, best - base.value, 0.0, low * best, high * best)] if share else []
    lm = options.lm or dspy.settings.lm
    if not isinstance(lm, dspy.BaseLM):
        return probes
    tries = [
        evaluated(program, examples, metric, options.changed(lm=lm.copy(temperature=1.0, rollout_id=number)))
        for number in range(1, TRIES + 1)
    ]
    shape = shape_of(program)
    chosen: list[Evidence] = []
    agreed: list[Evidence] = []
    for index in range(len(examples)):
        scores = [run.rows[index].score for run in tries]
        chosen.append(tries[scores.index(max(scores))].evidence[index])
        answers = []
        for run in tries:
            answer = run.rows[index].prediction or {}
            answers.append(jsonl.dumps({name: answer[name] for name in shape.scored(answer)}))
        agreed.append(tries[answers.index(Counter(answers).most_common(1)[0][0])].evidence[index])
    first = list(tries[0].evidence)
    spread = Probe.of(f"the best of {TRIES} tries (pass@{TRIES})", chosen, first, base.zero, examples)
    agreement = Probe.of(f"the answer of most of {TRIES} tries", agreed, list(base.evidence), base.zero, examples)
    return [*probes, replace(spread, ceiling=True), agreement]
