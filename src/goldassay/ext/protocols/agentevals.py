"""Protocol ``agentevals``: whole trajectories matched as the package agentevals matches them, in its four modes.

``superset``: each reference call has a call of its own in the prediction; ``subset``: each predicted call has one in
the reference; ``unordered``: both. ``strict``: as many messages, of the same roles, and in each as many calls, in any
order. Where a side has no ``messages`` (in ``trajectory``, too), calls alone are compared, one after the other.

Arguments match by ``arguments``: ``exact``, ``ignore``, ``subset`` (none that the other call lacks) or ``superset``
(all of the other's). ``compare`` has another way for some tools: one of these four, or the names of the arguments that
must be equal (``{"read": ["page.id"]}``).

What nobody expects, and is done as the package does it: calls are assigned greedily in the order of the side that must
be covered, so ``[f(a), f(b)]`` may fail where a matching exists; ``subset`` looks from the reference, so its arguments
match the other way round; values are equal as in Python (``1`` is ``True``). It knows no acceptable values: of those of
our gold the first counts. `TrajectoryMatch` has the largest assignment and all of gold's acceptable values.

Source: agentevals 0.0.9, ``create_trajectory_match_evaluator``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, NamedTuple

from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import means
from goldassay.core.fields import read
from goldassay.core.measure import Batches, Conventions, Error, Measure, Names, Review, failed
from goldassay.core.steps import Step
from goldassay.core.tally import Mean
from goldassay.measures import Examples
from goldassay.measures.protocols import Protocol
from goldassay.measures.trajectories.matching import ARGUMENTS, may_be_absent
from goldassay.measures.trajectories.mistakes import in_words
from goldassay.measures.trajectories.records import call_of, list_of, reference, trajectory
from goldassay.results.result import Result, fold

MODES = ("strict", "unordered", "subset", "superset")
ROLES = {"ai": "assistant", "human": "user"}  # LangChain's names
Arguments = Mapping[str, Any]


class Turns(NamedTuple):
    """Messages in columns, which cost the garbage collector nothing: who wrote each, its number of calls, all calls."""

    roles: tuple[str, ...]
    sizes: tuple[int, ...]
    calls: tuple[Step, ...]

    @classmethod
    def of_calls(cls, calls: Sequence[Step]) -> Turns:
        """A turn for each call."""
        return cls(("assistant",) * len(calls), (1,) * len(calls), tuple(calls))


def turns(record: object) -> Turns | None:
    """The messages of gold or of a prediction; None without any."""
    messages = read(record, "messages", None)
    if messages is None:
        messages = read(record, "trajectory", None)
    if isinstance(messages, Mapping):
        messages = messages.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        return None
    roles = []
    sizes = []
    calls: list[Step] = []
    for message in messages:
        get = message.get if type(message) is dict else partial(read, message, default=None)
        role = get("role") or get("type")
        if role is None:
            return None  # steps
        listed = list(map(call_of, list_of(get("tool_calls"), "tool_calls")))
        roles.append(ROLES.get(str(role), str(role)))
        sizes.append(len(listed))
        calls += listed
    return Turns(tuple(roles), tuple(sizes), tuple(calls))


class TurnPair(NamedTuple):
    """The turns of each acceptable reference and of the prediction, and why there is no prediction."""

    references: list[Turns]
    prediction: Turns
    failure: str


@dataclass(frozen=True)
class AgentMatch(Measure[Mean, list[TurnPair]]):
    """The share of trajectories that match the reference as agentevals matches them.

    Formula: matching trajectories / all trajectories
    Source: agentevals 0.0.9, ``create_trajectory_match_evaluator``

    >>> gold = {"calls": [{"name": "search", "args": {"q": "Delft"}}]}
    >>> pred = {"calls": [{"name": "look"}, {"name": "search", "args": {"q": "Delft", "n": 3}}]}
    >>> [AgentMatch(mode, arguments="superset")(gold, pred).tally.value for mode in ("superset", "unordered")]
    [1.0, 0.0]
    """

    task = "trajectories"
    name = "{mode}_match"
    choices: ClassVar[Mapping[str, tuple[object, ...]]] = {"mode": MODES, "arguments": ARGUMENTS}
    zero: ClassVar[Mean] = Mean()  # type: ignore[misc]
    in_key: ClassVar[Names] = ("mode",)  # type: ignore[misc]
    fixed: ClassVar[Conventions] = {"assignment": "greedy", "acceptable values": "the first"}  # type: ignore[misc]

    mode: str = "strict"
    arguments: str = "exact"
    compare: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = self.compare.items() if isinstance(self.compare, Mapping) else self.compare
        chosen = [(str(tool), how if isinstance(how, str) else tuple(map(str, how))) for tool, how in pairs]
        for tool, how in chosen:
            if isinstance(how, str) and how not in ARGUMENTS:
                raise GoldassayError(f"compare {tool}: {', '.join(ARGUMENTS)} or a list of arguments, not {how!r}")
        object.__setattr__(self, "compare", tuple(chosen))

    def batch(self, gold: Examples, pred: Examples) -> list[TurnPair]:
        """Every pair by turns; where either side has no messages, a turn for each call."""
        pairs = []
        for example, prediction in zip(gold, pred, strict=True):
            expected = turns(example)
            taken = turns(prediction)
            if expected is None:
                alternatives = reference(example).alternatives
                references = [Turns.of_calls([*map(_with_first_values, calls)]) for calls in alternatives]
            else:
                references = [expected if taken else Turns.of_calls(expected.calls)]
            if expected is None or taken is None:
                taken = Turns.of_calls(trajectory(prediction).calls)
            pairs.append(TurnPair(references, taken, failed(prediction) or ""))
        return pairs

    def tallies(self, batch: list[TurnPair]) -> Mean:
        """1 for a trajectory that matches."""
        how = {tool: mode for tool, mode in self.compare if mode}

        def same(call: Step, expected: Step) -> bool:
            mode = how.get(call.name, self.arguments)
            return call.name == expected.name and _same_arguments(mode, call.args, expected.args)

        def flipped(call: Step, expected: Step) -> bool:
            return same(expected, call)

        def matches(pred: Turns, gold: Turns) -> bool:
            if self.mode == "strict":
                ends = [*accumulate(pred.sizes, initial=0)]
                return (pred.roles, pred.sizes) == (gold.roles, gold.sizes) and all(
                    _covered(pred.calls[start:end], gold.calls[start:end], same) for start, end in pairwise(ends)
                )
            if self.mode != "subset" and not _covered(gold.calls, pred.calls, flipped):
                return False
            return self.mode == "superset" or _covered(pred.calls, gold.calls, flipped)

        return means(
            float(not pair.failure and any(matches(pair.prediction, gold) for gold in pair.references))
            for pair in batch
        )

    def errors(self, gold: object, pred: object) -> Review:
        """The calls that were expected, of a trajectory that does not match."""
        batch = self.batch([gold], [pred])
        if self.tallies(batch).value == 1:
            return (), ()
        expected = "; ".join(map(in_words, batch[0].references[0].calls))
        calls = "; ".join(map(in_words, batch[0].prediction.calls))
        return (Error(f"no_{self.key}", f"expected {expected or 'no call'}.", expected, calls, field="calls"),), ()


def _with_first_values(call: Step) -> Step:
    """A call of our gold, each argument with its first acceptable value."""
    args = {name: value[0] if isinstance(value, list) and value else value for name, value in call.args.items()}
    optional = [name for name, value in args.items() if may_be_absent(call.args[name]) and value in ("", None)]
    return Step(call.name, {name: value for name, value in args.items() if name not in optional})


def _covered(calls: Sequence[Step], candidates: Sequence[Step], same: Callable[[Step, Step], bool]) -> bool:
    """Whether each call, in order, takes one of the others that no call before it took."""
    free = list(candidates)
    for call in calls:
        for index, other in enumerate(free):
            if same(call, other):
                del free[index]
                break
        else:
            return False
    return True


def _same_arguments(how: str | Sequence[str], args: Arguments, expected: Arguments) -> bool:
    """Whether arguments match those of another call: by one of the four ways, or by some arguments."""
    if how == "exact":
        return args == expected
    if how == "ignore":
        return True
    if how == "subset":
        return all(name in expected and expected[name] == value for name, value in args.items())
    if how == "superset":
        return _same_arguments("subset", expected, args)

    def at(value: object, path: str) -> object:
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    return all(at(args, name) == at(expected, name) for name in how)


def scorecard(shared: Batches, *, arguments: str = "exact", compare: object = ()) -> Result:
    """The share of matching trajectories in each mode."""
    return fold("trajectories", [AgentMatch(mode, arguments, compare) for mode in MODES], shared)


MEASURES = tuple(map(AgentMatch, MODES))
AGENTEVALS = Protocol(
    "agentevals",
    ("trajectories",),
    scorecard,
    options=("arguments", "compare"),
)
