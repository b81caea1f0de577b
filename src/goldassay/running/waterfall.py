"""What each stage of a pipeline costs: its output is replaced by gold, and the rest runs again.

A program names its stages: ``stages`` maps the name of a method or predictor to a function of the gold example that
gives what this stage should have put out, or, where that hangs on what the stage is given (which mentions are to be
linked), a function of its inputs. With S the stages that are replaced and v(S) the metric's corpus value then,
a stage's cost is its Shapley share

    φ_i = Σ_{S without i} |S|! (k − |S| − 1)! / k! · (v(S ∪ {i}) − v(S))

so that the shares add up to v(all) − v(none), whichever stage is mended first. What is missing to 1 after all stages
were replaced is the ``rest`` (what follows the last stage, and gold that no output reaches). The ends of a share's
interval are those of its paired differences v(S ∪ {i}) − v(S) over examples or documents
(`goldassay.statistics.paired.difference_interval`), weighed likewise: as wide as if these differences moved together,
so rather too wide, and never of width zero. Nothing is guessed from outputs.

Shapley, "A value for n-person games", 1953.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import GoldassayError
from goldassay.fields import clusters
from goldassay.running.evaluate import evaluate
from goldassay.running.example import Program
from goldassay.statistics.evidence import Evidences, clustered
from goldassay.statistics.paired import difference_interval

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric
Oracle = Callable[[Any], Any]
MOST = 5  # stages: 2^5 runs
PLACE = "goldassay_place"  # the input that says which example it is


@dataclass(frozen=True)
class StageCost:
    """What a stage costs, with its 95 % interval."""

    stage: str
    cost: float
    low: float
    high: float


@dataclass(frozen=True)
class Waterfall:
    """From the value of the program as it is to that of one whose stages are all right."""

    value: float
    perfect: float
    """The value where all stages are replaced by gold."""
    shares: tuple[StageCost, ...]
    values: Mapping[tuple[str, ...], float]
    """The value of each set of replaced stages."""
    examples: int

    @property
    def rest(self) -> float:
        """What is missing to 1 when every stage is right."""
        return 1.0 - self.perfect

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "value": self.value,
            "perfect_stages": self.perfect,
            "rest": self.rest,
            "examples": self.examples,
            "shares": [{"stage": one.stage, "cost": one.cost, "interval": [one.low, one.high]} for one in self.shares],
            "values": {" + ".join(names) or "none": value for names, value in self.values.items()},
        }


class Replaced:
    """A program some of whose stages put out gold. It is told which example it works on, since inputs may be alike."""

    def __init__(
        self, program: Program, stages: Mapping[str, Oracle], replaced: Sequence[str], gold: Sequence[dspy.Example]
    ) -> None:
        self.program, self.stages, self.replaced, self.gold = program, stages, replaced, gold

    def __call__(self, **inputs: Any) -> Any:
        example = self.gold[inputs.pop(PLACE)]
        program = copy.copy(self.program)
        for name in self.replaced:
            # set past dspy's own bookkeeping: only this copy is touched, and it lives for one example
            vars(program)[name] = _Output(self.stages[name](example))
        return program(**inputs)


class _Output:
    """Says what gold says: the same whatever it is asked, or what gold's function makes of its inputs."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.output(*given, **named) if callable(self.output) else copy.deepcopy(self.output)


def waterfall(
    program: Program,
    gold: Sequence[dspy.Example],
    metric: AnyMetric,
    *,
    stages: Mapping[str, Oracle] | None = None,
    **options: Any,
) -> Waterfall:
    """What each stage of ``program`` costs on ``gold``.

    Args:
        program: a DSPy program, or anything that is called with an example's inputs.
        gold: examples with what the stages should put out.
        metric: a `Metric`.
        stages: by the name of a method or predictor, a function of the gold example that gives the stage's output, or
            a function of the stage's inputs; the program's own ``stages`` without.
        options: as `evaluate` takes them (``lm``, ``adapter``, ``threads``, ``progress``).

    >>> import dspy
    >>> from goldassay import Metric
    >>> from goldassay.measures import answering
    >>> class Pipe(dspy.Module):
    ...     stages = {"find": lambda gold: gold.answers[0], "read": lambda gold: gold.answers[0]}
    ...     def find(self, question): return "x"
    ...     def read(self, text): return text
    ...     def forward(self, question): return dspy.Prediction(answer=self.read(self.find(question)))
    >>> gold = [dspy.Example(id="1", question="q", answers=["y"]).with_inputs("question")]
    >>> found = waterfall(Pipe(), gold, Metric(answering.ExactMatch()), progress=False)
    >>> found.value, [(one.stage, one.cost) for one in found.shares], found.rest     # either one mends it
    (0.0, [('find', 0.5), ('read', 0.5)], 0.0)
    """
    known = dict(stages if stages is not None else getattr(program, "stages", None) or {})
    if not known:
        raise GoldassayError(
            f"{type(program).__name__} names no stages; give it stages = {{'search': lambda gold: …}}, a function of "
            "the gold example for each method or predictor whose output gold has (see programs/answering.py)"
        )
    missing = [name for name in known if not callable(getattr(program, name, None))]
    if missing:
        raise GoldassayError(f"the stage {missing[0]!r} is no method or predictor of {type(program).__name__}")
    if len(known) > MOST:
        raise GoldassayError(f"{len(known)} stages need {2 ** len(known)} runs; name {MOST} at most")
    names = list(known)
    sets = list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))
    asked = [one.copy(**{PLACE: place}).with_inputs(*one.inputs().keys(), PLACE) for place, one in enumerate(gold)]
    runs = {some: evaluate(Replaced(program, known, some, gold), asked, metric, **options) for some in sets}
    first = runs[()]
    n = len(first.rows)
    together = Evidences([one for run in runs.values() for one in run.evidence], first.zero)
    blocks = [together.matrix[place * n : (place + 1) * n] for place in range(len(sets))]
    documents = clusters(first.rows)
    if documents:
        blocks = [clustered(block, documents) for block in blocks]
    rows = dict(zip(sets, blocks, strict=True))
    by_set = {some: float(run.value) for some, run in runs.items()}
    shares = []
    for name in names:
        cost = low = high = 0.0
        for some in sets:
            if name in some:
                continue
            more = tuple(one for one in names if one in some or one == name)
            weight = _weight(len(some), len(names))
            found, _ = difference_interval(together, rows[more], rows[some], 0.95, None)
            cost += weight * (by_set[more] - by_set[some])
            low, high = low + weight * found.low, high + weight * found.high
        shares.append(StageCost(name, cost, low, high))
    return Waterfall(by_set[()], by_set[tuple(names)], tuple(shares), by_set, n)


def _weight(others: int, stages: int) -> float:
    """By how much mending a stage after ``others`` counts in its Shapley share."""
    return math.factorial(others) * math.factorial(stages - others - 1) / math.factorial(stages)
