"""Panels: several judges, or several samples of one, that answer as one judge; and votes on many items.

A panel is a judge: every measure takes one. Each question goes to all members, and their verdicts are counted:

* ``majority``: the label of most known ballots;
* ``mean``: the label whose worth is nearest to the mean worth of the known ballots; of labels as near, the one that
  more ballots named.

A draw between two labels is unknown, and so is a vote of which fewer than half of the ballots are known. The quote and
the reason are those of a member with the panel's verdict. Claims and names are no verdicts: they are those of the first
member that answers. `poll` asks a panel, or one judge, about many items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.judge import Check, Fields, Judge
from goldassay.judges.questions import Question
from goldassay.measures.judged import Verdict
from goldassay.running.loop import work_through

if TYPE_CHECKING:
    import dspy

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


def count(ballots: Sequence[str | None], worth: Mapping[str, float] | None = None, how: str = "majority") -> Vote:
    """The vote of ballots; ``worth`` turns labels into numbers.

    >>> vote = count(["yes", "no", "yes", None])
    >>> vote.label, round(vote.disagreement, 3), vote.known
    ('yes', 0.333, ['yes', 'no', 'yes'])
    >>> count(["yes", "no"]).label, count(["yes", None, None]).label
    (None, None)
    >>> count(["full", "none"], {"full": 1.0, "partial": 0.5, "none": 0.0}, "mean").label
    'partial'
    """
    cast = [ballot for ballot in ballots if ballot is not None]
    mean, ranks = None, Counter(cast)
    if worth and cast:
        mean = sum(worth[ballot] for ballot in cast) / len(cast)
        if how == "mean":
            gaps = {label: round(abs(value - mean), 12) for label, value in worth.items()}
            ranks = Counter({label: ranks[label] for label, gap in gaps.items() if gap == min(gaps.values())})
    first = [label for label, votes in ranks.items() if votes == max(ranks.values())]
    decided = len(first) == 1 and 2 * len(cast) >= len(ballots)
    return Vote(first[0] if decided else None, tuple(ballots), mean)


class Panel(Judge):
    """Judges that vote; ``how`` their verdicts are counted is ``majority`` or ``mean``."""

    def __init__(self, members: Sequence[Judge], *, how: str = "majority") -> None:
        if not members or how not in ("majority", "mean"):
            raise GoldassayError("a panel has members, Panel([Judge(lm=…), Judge(lm=…)]), and how is majority or mean")
        super().__init__(members[0].lm, adapter=members[0].adapter, version=members[0].version)
        self.members, self.how = tuple(members), how

    @classmethod
    def samples(cls, lm: dspy.BaseLM, n: int = 5, *, how: str = "majority", **options: Any) -> Panel:
        """One model asked ``n`` times: once at temperature 0, then with a temperature. ``options`` are the judge's."""
        return cls([Judge(lm, sample=sample, **options) for sample in range(n)], how=how)

    def __str__(self) -> str:
        samples = [f"{member}#{member.sample}" if member.sample else str(member) for member in self.members]
        return f"panel({', '.join(samples)}; {self.how})"

    def _verdict(self, question: Question, inputs: Mapping[str, Any]) -> Verdict:
        """The first member's verdict that is the panel's; the mean may be a label that no member named."""
        verdicts = [member._verdict(question, inputs) for member in self.members]
        label = count([verdict.label for verdict in verdicts], question.worth, self.how).label
        self._settle(f"{question.name} {inputs}", label is not None)
        between = Verdict(label, reason="between the ballots" if label else "")
        return next((verdict for verdict in verdicts if label and verdict.label == label), between)

    def ask(self, signature: Any, check: Check | None = None, /, **inputs: str) -> Fields | None:
        """The fields of the first member that answers."""
        answers = (member.ask(signature, check, **inputs) for member in self.members)
        fields = next((answer for answer in answers if answer is not None), None)
        self._settle(f"{signature.__name__} {inputs}", fields is not None)
        return fields

    def _settle(self, asked: str, known: bool) -> None:
        """Count a question that the members were asked."""
        self.sum_members()
        with self._lock:
            self.asked += 1
            if not known:
                self._unknown.add(asked)
                self.last_failure = next((m.last_failure for m in self.members if m.last_failure), "no majority")

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
    members = judge.members if isinstance(judge, Panel) else (judge,)
    vote = count([question.ask(each, item.inputs).label for each in members], question.worth, getattr(judge, "how", ""))
    if isinstance(judge, Panel):
        judge.sum_members()
    return vote
