"""The cost of each stage of a pipeline: its output is replaced by gold, and the rest runs again.

A program names its stages: ``stages`` maps the name of a method or predictor to a function of the gold example that
returns the right output of this stage, or, if that depends on the stage's inputs (which mentions to link), a function
of those. With S the replaced stages and v(S) the metric's corpus value, a stage's cost is its Shapley value

    φ_i = Σ_{S without i} |S|! (k − |S| − 1)! / k! · (v(S ∪ {i}) − v(S))

so the costs add up to v(all) − v(none), whichever stage is fixed first. What is missing to 1 after all stages are
replaced is the ``rest`` (what follows the last stage, and gold that no output reaches). The interval of a cost weights
the ends of the paired differences v(S ∪ {i}) − v(S) over examples or documents in the same way
(`goldassay.statistics.paired.difference_interval`), as if the differences moved together: rather too wide.

Shapley, "A value for n-person games", 1953.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import GoldassayError
from goldassay.statistics.evidence import Evidences
from goldassay.statistics.paired import difference_interval

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric
    from goldassay.running.guard import Program

Oracle = Callable[[Any], Any]
MOST = 5  # stages: 2^5 runs
PLACE = "goldassay_place"  # the input that says which example it is


@dataclass(frozen=True)
class StageCost:
    """The cost of a stage, with its 95 % interval."""

    stage: str
    cost: float
    low: float
    high: float


@dataclass(frozen=True)
class Waterfall:
    """The steps from the value of the program to that of one whose stages are all right."""

    value: float
    perfect: float
    """The value with all stages replaced by gold."""
    shares: tuple[StageCost, ...]
    values: Mapping[str, float]
    """The value with each set of stages replaced."""
    examples: int
    unit: str = ""

    @property
    def rest(self) -> float:
        """The gap to 1 that is left when every stage is right."""
        return 1.0 - self.perfect

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "rest": self.rest}


def waterfall(program: Program, gold: Sequence[dspy.Example], metric: AnyMetric, **options: Any) -> Waterfall:
    """The cost of each stage of ``program`` on ``gold``.

    Args:
        program: a DSPy program that names its ``stages``.
        gold: examples with what the stages should put out.
        metric: a `Metric`.
        options: as `evaluate` takes them (``lm``, ``adapter``, ``threads``, ``progress``).

    Raises:
        GoldassayError: The program names no stages, too many, or one that it does not have.

    >>> import dspy
    >>> from goldassay import Metric
    >>> from goldassay.measures import answering
    >>> class Pipe(dspy.Module):
    ...     stages = {"find": lambda gold: gold.answers[0], "read": lambda gold: gold.answers[0]}
    ...     def find(self, question): return "x"
    ...     def read(self, text): return text
    ...     def forward(self, question): return dspy.Prediction(answer=self.read(self.find(question)))
    >>> gold = [dspy.Example(id="1", question="q", answers=["y"]).with_inputs("question")]
    >>> result = waterfall(Pipe(), gold, Metric(answering.ExactMatch()), progress=False)
    >>> result.value, [(part.stage, part.cost) for part in result.shares], result.rest     # fixing either is enough
    (0.0, [('find', 0.5), ('read', 0.5)], 0.0)
    """
    from goldassay.running.evaluate import evaluate

    oracles: dict[str, Oracle] = getattr(program, "stages", None) or {}
    kind = type(program).__name__
    if not 0 < len(oracles) <= MOST:
        raise GoldassayError(
            f"{kind} names {len(oracles) or 'no'} stages; give it up to {MOST}, stages = {{'search': lambda gold: …}}, "
            "a function of the gold example for each method or predictor whose output gold has"
        )
    if missing := [name for name in oracles if not callable(getattr(program, name, None))]:
        raise GoldassayError(f"the stage {missing[0]!r} is no method or predictor of {kind}")
    examples = [
        example.copy(**{PLACE: place}).with_inputs(*example.inputs().keys(), PLACE)
        for place, example in enumerate(gold)
    ]
    runs = {}
    for names in (names for size in range(len(oracles) + 1) for names in combinations(oracles, size)):
        replaced = _replaced(program, {name: oracles[name] for name in names}, gold)
        runs[frozenset(names)] = evaluate(replaced, examples, metric, **{**options, "check_leaks": not names})
    first = runs[frozenset()]
    shares = []
    for name in oracles:
        cost = low = high = 0.0
        for without, weight in coalitions(name, oracles):
            after = runs[without | {name}]
            before = runs[without]
            sides = Evidences.paired(after.evidence, before.evidence, first.zero, first.clusters)
            ends, _ = difference_interval(*sides, 0.95, None)
            cost += weight * float(after.value - before.value)
            low += weight * ends.low
            high += weight * ends.high
        shares.append(StageCost(name, cost, low, high))
    perfect = float(runs[frozenset(oracles)].value)
    values = {" + ".join(filter(some.__contains__, oracles)) or "none": float(run.value) for some, run in runs.items()}
    return Waterfall(float(first.value), perfect, tuple(shares), values, len(first.rows), first.unit)


def _replaced(program: Program, stages: Mapping[str, Oracle], gold: Sequence[dspy.Example]) -> Callable[..., Any]:
    """The program with these stages from gold; an input names the example, since two may have equal inputs."""

    def run(**inputs: Any) -> Any:
        example = gold[inputs.pop(PLACE)]
        changed = copy.copy(program)
        for name, stage in stages.items():
            # set past dspy's own bookkeeping: only this copy is touched, and it lives for one example
            output = stage(example)
            vars(changed)[name] = output if callable(output) else lambda *_, own=output, **__: copy.deepcopy(own)
        return changed(**inputs)

    return run


def coalitions(player: str, players: Iterable[str]) -> Iterator[tuple[frozenset[str], float]]:
    """The sets of other players that one joins, each with its weight in the Shapley value.

    A set S of k players counts |S|! (k − |S| − 1)! / k!, the share of all orders in which exactly S comes before.

    >>> [(sorted(some), round(weight, 3)) for some, weight in coalitions("a", "abc")]
    [([], 0.333), (['b'], 0.167), (['c'], 0.167), (['b', 'c'], 0.333)]
    """
    others = [other for other in players if other != player]
    for size in range(len(others) + 1):
        weight = 1 / ((len(others) + 1) * math.comb(len(others), size))
        yield from ((frozenset(some), weight) for some in combinations(others, size))
