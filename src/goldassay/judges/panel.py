"""Panels: several judges, or several samples of one, that answer as one judge; and votes on many items.

A panel is a judge: every measure takes one. Each question goes to all members, and the label of most known ballots
wins; a draw between two labels is unknown, and so is a vote of which fewer than half of the ballots are known. The
quote and the reason are those of a member with the panel's verdict. Claims and names are no verdicts: they are those of
the first member that answers. `poll` asks a panel, or one judge, about many items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.judge import Check, Fields, Judge, folded
from goldassay.judges.questions import Question
from goldassay.running.loop import work_through

if TYPE_CHECKING:
    from goldassay.judges.labels import JudgedItem

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Vote:
    """The result of ballots: ``label`` (None is unknown), and ``mean``, the mean worth of the known ballots."""

    label: str | None
    ballots: tuple[str | None, ...]
    mean: float | None = None

    @property
    def known(self) -> list[str]:
        """The ballots with a verdict."""
        return [ballot for ballot in self.ballots if ballot is not None]

    @property
    def disagreement(self) -> float:
        """The share of known ballots outside the largest group; 0 is unanimous, and 0 without a ballot."""
        return 1 - max(Counter(self.known).values()) / len(self.known) if self.known else 0.0

    def share(self, label: str) -> float | None:
        """The share of known ballots for a label; None without a ballot."""
        return self.known.count(label) / len(self.known) if self.known else None


def count(ballots: Sequence[str | None], worth: Mapping[str, float] | None = None) -> Vote:
    """The vote of ballots, by majority; ``worth`` turns labels into numbers.

    >>> vote = count(["yes", "no", "yes", None])
    >>> vote.label, round(vote.disagreement, 3), vote.known
    ('yes', 0.333, ['yes', 'no', 'yes'])
    >>> count(["yes", "no"]).label, count(["yes", None, None]).label
    (None, None)
    """
    known = [ballot for ballot in ballots if ballot is not None]
    mean = sum(worth[ballot] for ballot in known) / len(known) if worth and known else None
    (label, votes), *others = [*Counter(known).most_common(2), (None, 0)]
    decided = votes > others[0][1] and 2 * len(known) >= len(ballots) if known else False
    return Vote(label if decided else None, tuple(ballots), mean)


class Panel(Judge):
    """Judges that vote."""

    def __init__(self, members: Sequence[Judge]) -> None:
        if not members:
            raise GoldassayError("a panel needs members: Panel([Judge(lm=…), Judge(lm=…), Judge(lm=…)])")
        super().__init__(members[0].lm, adapter=members[0].adapter, version=members[0].version)
        self.members = tuple(members)

    def __str__(self) -> str:
        samples = [f"{member}#{member.sample}" if member.sample else str(member) for member in self.members]
        return f"panel({', '.join(samples)}; majority)"

    def ask(self, signature: Any, check: Check | None = None, /, **inputs: str) -> Fields | None:
        """The fields of the first member whose verdict is the panel's; None if the vote is unknown."""
        answers = [member.ask(signature, check, **inputs) for member in self.members]
        known = [answer for answer in answers if answer is not None]
        if "verdict" in signature.output_fields:
            label = count([None if answer is None else folded(answer["verdict"]) for answer in answers]).label
            known = [answer for answer in known if folded(answer["verdict"]) == label]
        self.sum_members()
        with self._lock:
            self.asked += 1
            if not known:
                self._unknown.add(self._key(signature, inputs))
                self.last_failure = next((m.last_failure for m in self.members if m.last_failure), "no majority")
        return known[0] if known else None

    def sum_members(self) -> None:
        """Add up what the members, which may have been asked one by one, have cost."""
        with self._lock:
            for name in ("calls", "cached", "tokens"):
                setattr(self, name, sum(getattr(member, name) for member in self.members))

    @property
    def warning(self) -> str:
        """What a report says about votes, or members' verdicts, that did not come back."""
        return super().warning or "; ".join(member.warning for member in self.members if member.warning)


def poll(
    judge: Judge,
    question: Question,
    items: Iterable[JudgedItem],
    *,
    threads: int = 1,
    on_vote: Callable[[int, Vote], None] | None = None,
) -> list[Vote]:
    """The votes of a judge on items, in their order.

    Args:
        judge: one judge, or a panel.
        question: what it is asked.
        items: what about.
        threads: how many items at once.
        on_vote: called after each item with how many are done, and its vote.

    Raises:
        DataError: an item lacks an input of the question.
        ModelError: the judge's model gives no answer.
    """
    items = list(items)
    for item in items:
        missing = [name for name in question.inputs if name not in item.inputs]
        if missing:
            raise DataError(f"no input {missing[0]!r}; the judge cannot be asked without it", record=item.id)
    return in_threads(partial(_vote, judge, question), items, threads, on_vote)


def in_threads(
    function: Callable[[T], V], items: Sequence[T], threads: int, on_result: Callable[[int, V], None] | None = None
) -> list[V]:
    """What a function returns for each item, in their order; ``on_result`` gets how many are done, and a result."""
    results: dict[int, V] = {}

    def keep(result: tuple[int, V]) -> str:
        results[result[0]] = result[1]
        if on_result:
            on_result(len(results), result[1])
        return ""

    work_through(range(len(items)), lambda place: (place, function(items[place])), keep, threads=threads)
    return [results[place] for place in range(len(items))]


def _vote(judge: Judge, question: Question, item: JudgedItem) -> Vote:
    """The vote on one item; a single judge is a panel of one."""
    members = getattr(judge, "members", (judge,))
    vote = count([question.ask(member, item.inputs).label for member in members], question.worth)
    if isinstance(judge, Panel):
        judge.sum_members()
    return vote
