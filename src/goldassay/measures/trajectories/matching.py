"""Two lists of calls compared: which are the same, in which order, and where the first one goes wrong.

A call is right if its name is gold's and its arguments match. Values are compared by the comparators of `records`: a
number is a number (3 is 3.0), an ISO date a date, anything else must be equal; objects and lists are compared item by
item. Calls are assigned to each other one to one, and as many as can be (`goldassay.measures.assignment`), so that the
order in which gold lists its calls changes nothing.

The first wrong step is the first call with which no acceptable trajectory goes on. Where order counts that is the
length of the longest common beginning; where it does not, the first call that cannot be assigned with those before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from goldassay._support.jsonl import JSON
from goldassay.core.steps import Step
from goldassay.measures.assignment import assign
from goldassay.measures.records.comparators import by_value, comparator
from goldassay.measures.trajectories.records import Calls, Reference, Trajectory

ARGUMENTS = ("exact", "ignore", "subset", "superset")
"""How arguments match: all equal, not looked at, none that gold lacks, all of gold's."""


@dataclass(frozen=True)
class CallComparison:
    """When two calls are the same: the ``arguments`` that count, and the comparators of some, as ``compare``.

    >>> same = CallComparison(compare={"find.since": "date(partial=True)"})
    >>> same.right(Step("find", {"since": "1885", "n": 3}), Step("find", {"since": "1885-07-13", "n": 3.0}))
    True
    """

    arguments: str = "exact"
    compare: Mapping[str, str] | None = None

    def right(self, gold: Step, pred: Step) -> bool:
        """Whether the predicted call is the one that gold has."""
        return gold.name == pred.name and self.match(gold.name, gold.args, pred.args)

    def match(self, tool: str, gold: Mapping[str, JSON], args: Mapping[str, JSON]) -> bool:
        """Whether the arguments of a call are gold's."""
        if not self.compare and len(gold) == len(args):
            for name, expected in gold.items():
                value = args.get(name)
                if value != expected or type(value) is not type(expected) or type(value) not in (str, int):
                    break
            else:
                return True  # as most
        return next(self.wrong_arguments(tool, gold, args), None) is None

    def wrong_arguments(self, tool: str, gold: Mapping[str, JSON], args: Mapping[str, JSON]) -> Iterator[str]:
        """The arguments of a call that are not gold's, those of gold first."""
        if self.arguments == "ignore":
            return
        compare = self.compare
        for name, expected in gold.items():
            if name in args:
                value = args[name]
                chosen = compare.get(f"{tool}.{name}") or compare.get(name) if compare else None
                acceptable = expected if isinstance(expected, list) else ()
                if not same(expected, value, chosen) and not any(same(item, value, chosen) for item in acceptable):
                    yield name
            elif self.arguments != "subset" and not may_be_absent(expected):
                yield name
        if self.arguments != "superset" and not args.keys() <= gold.keys():
            yield from (name for name in args if name not in gold)


def may_be_absent(expected: JSON) -> bool:
    """Whether an argument may be left out: null or an empty text is among its acceptable values."""
    return isinstance(expected, list) and any(item is None or item == "" for item in expected)


def same(expected: JSON, value: JSON, chosen: str | None = None) -> bool:
    """Whether two values are the same, objects and lists item by item.

    >>> same(3, 3.0), same("10:05", "10:05:00"), same({"a": [1]}, {"a": [1.0]}), same("3", 3)
    (True, True, True, False)
    """
    if chosen is None and type(expected) is type(value):  # most values end here; a date begins with a digit
        if type(expected) is int or (type(expected) is str and not expected[:1].isdigit()):
            return expected == value
        if type(expected) is str and expected == value:
            return True
    if isinstance(expected, Mapping):
        if not isinstance(value, Mapping) or expected.keys() != value.keys():
            return False
        return all(same(item, value[name], chosen) for name, item in expected.items())
    if isinstance(expected, list):
        if not isinstance(value, (list, tuple)) or len(expected) != len(value):
            return False
        return all(same(item, other, chosen) for item, other in zip(expected, value, strict=True))
    return comparator(chosen or by_value(expected))(expected, value) >= 1


@dataclass
class Alignment:
    """One acceptable list of calls against those of a prediction; ``beginning`` is the length of what is the same."""

    gold: Calls
    pred: Calls
    comparing: CallComparison
    ordered: bool
    beginning: int = field(default=0, init=False)
    _compared: dict[int, bool] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        shorter = min(len(self.gold), len(self.pred))
        self.beginning = next((i for i in range(shorter) if not self.is_right(i, i)), shorter)

    def is_right(self, i: int, j: int) -> bool:
        """Whether gold's call is the predicted one, by their numbers."""
        gold = self.gold
        pred = self.pred
        cell = i * len(pred.names) + j  # a number: the garbage collector would look at every tuple
        right = self._compared.get(cell)
        if right is None:
            name = gold.names[i]
            right = name == pred.names[j] and self.comparing.match(name, gold.args[i], pred.args[j])
            self._compared[cell] = right
        return right

    @cached_property
    def right(self) -> dict[int, int]:
        """The number of the predicted call of each gold call that is right."""
        # Most lists need no search: each gold call takes the first right call that is free, and that is what `assign`
        # does, too, unless a call that is taken already would be right as well.
        if len(self.gold) == self.beginning:
            return {i: i for i in range(self.beginning)}
        named: dict[str, list[int]] = {}
        for j, name in enumerate(self.pred.names):
            named.setdefault(name, []).append(j)
        namesakes = [named.get(name, ()) for name in self.gold.names]
        owner: dict[int, int] = {}
        for i, numbers in enumerate(namesakes):
            for j in numbers:
                if j not in owner and self.is_right(i, j):
                    owner[j] = i
                    break
            else:
                if any(self.is_right(i, j) for j in numbers if j in owner):
                    return assign(
                        {i: [j for j in numbers if self.is_right(i, j)] for i, numbers in enumerate(namesakes)}
                    )
        return {i: j for j, i in owner.items()}

    @cached_property
    def by_name(self) -> dict[int, int]:
        """The same by name alone: the right calls stay, and the others of a name pair up in their order."""
        if len(self.right) in (len(self.gold), len(self.pred)):
            return self.right
        taken = set(self.right.values())
        spare: dict[str, list[int]] = {}
        for j in reversed(range(len(self.pred))):
            if j not in taken:
                spare.setdefault(self.pred.names[j], []).append(j)
        pairs = dict(self.right)
        for i, name in enumerate(self.gold.names):
            if i not in pairs and spare.get(name):
                pairs[i] = spare[name].pop()
        return dict(sorted(pairs.items()))

    @property
    def exact(self) -> bool:
        """The same calls, in the same order where it counts."""
        if len(self.gold) != len(self.pred):
            return False
        return self.beginning == len(self.gold) or (not self.ordered and len(self.right) == len(self.gold))

    @property
    def in_order(self) -> bool:
        """All gold calls, in their order where it counts; others may be between them."""
        return self.beginning == len(self.gold) or (self.any_order and (not self.ordered or self.keeps_order))

    @property
    def keeps_order(self) -> bool:
        """Whether the right calls are in the order of gold."""
        left = iter(range(len(self.pred)))
        return all(any(self.is_right(i, j) for j in left) for i in self.right)

    @property
    def any_order(self) -> bool:
        """All gold calls, in any order, among others."""
        return len(self.right) == len(self.gold)

    @property
    def unordered(self) -> bool:
        """The same calls, in any order."""
        return len(self.right) == len(self.gold) == len(self.pred)

    @property
    def subset(self) -> bool:
        """No call that gold lacks."""
        return len(self.right) == len(self.pred)

    @cached_property
    def first_wrong(self) -> int | None:
        """The number of the first call that is wrong, len(pred) if a call is missing at the end; None if none is."""
        if self.exact:
            return None
        if self.ordered:
            return self.beginning
        # predicted calls are served in order here: the first without a call of gold finds none that is left
        assigned = assign({j: [i for i in range(len(self.gold)) if self.is_right(i, j)] for j in range(len(self.pred))})
        return next((j for j in range(len(self.pred)) if j not in assigned), len(self.pred))


@dataclass
class CallPair:
    """A prediction against all that gold accepts."""

    reference: Reference
    trajectory: Trajectory
    comparing: CallComparison
    alignments: list[Alignment] = field(init=False)

    def __post_init__(self) -> None:
        calls = self.trajectory.calls
        ordered = self.reference.ordered
        self.alignments = [Alignment(gold, calls, self.comparing, ordered) for gold in self.reference.alternatives]

    @cached_property
    def best(self) -> Alignment:
        """The acceptable list that the prediction is nearest to: by F1 of calls, then by its common beginning."""
        if len(self.alignments) == 1:
            return self.alignments[0]

        def nearness(alignment: Alignment) -> tuple[float, float]:
            size = len(alignment.gold) + len(alignment.pred)
            agreed = 2 * len(alignment.right) / size if size else 1.0
            first = alignment.first_wrong
            return agreed, float("inf") if first is None else first

        return max(self.alignments, key=nearness)

    @property
    def first_wrong(self) -> int | None:
        """The number of the first call with which no acceptable trajectory goes on; None if it is one of them."""
        if self.trajectory.failure:
            return 0
        steps = [alignment.first_wrong for alignment in self.alignments]
        wrong = [step for step in steps if step is not None]
        return max(wrong) if len(wrong) == len(steps) else None

    @cached_property
    def repeated(self) -> list[int]:
        """The numbers of calls that are the same as an earlier one, and not gold's."""
        calls = self.trajectory.calls
        right = set(self.best.right.values())
        if len(right) == len(calls):
            return []
        made = [*zip(calls.names, calls.args, strict=True)]
        return [number for number, call in enumerate(made) if number not in right and call in made[:number]]

    @property
    def unrecovered(self) -> list[int]:
        """The numbers of calls that failed and whose tool was never called again with success."""
        calls = self.trajectory.calls
        if not any(calls.errors):
            return []
        return [
            number
            for number, call in enumerate(calls)
            if call.error and not any(later.name == call.name and not later.error for later in calls[number + 1 :])
        ]
