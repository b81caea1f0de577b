"""Panels: several judges, or several samples of one, that answer as one judge; and votes on many items.

A panel is a judge: every measure takes one. Each question goes to all members, and their verdicts are counted:

* ``majority``: the label of most known ballots; a draw between two labels is unknown.
* ``mean``: the label whose worth is nearest to the mean worth of the known ballots (of labels as near, the one that
  more ballots named; a draw is unknown).

Ballots without a verdict do not vote; if fewer than ``quorum`` of all ballots are known, the vote is unknown. The quote
and the reason are those of a member with the panel's verdict. Claims and names are no verdicts: they are those of the
first member that answers.

Every vote is kept in ``votes``. Its ``disagreement`` is the share of known ballots outside the largest group, its
``entropy`` that of the ballots in bits (Shannon 1948). `poll` asks a panel, or one judge, about many items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.judge import Check, Fields, Judge, folded
from goldassay.judges.questions import QUESTIONS, Question
from goldassay.running.loop import work_through
from goldassay.tally import Mean

if TYPE_CHECKING:
    import dspy

    from goldassay.judges.labels import JudgedItem

T = TypeVar("T")
V = TypeVar("V")
HOW = ("majority", "mean")
WORTH = {label: worth for question in QUESTIONS.values() for label, worth in question.worth.items()}


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

    @property
    def entropy(self) -> float:
        """The entropy of the known ballots, in bits."""
        shares = [count / len(self.known) for count in Counter(self.known).values()]
        return max(0.0, -sum(share * math.log2(share) for share in shares))

    def share(self, label: str) -> float | None:
        """The share of known ballots for a label; None without a ballot."""
        return self.known.count(label) / len(self.known) if self.known else None


def count(
    ballots: Sequence[str | None],
    *,
    how: str = "majority",
    worth: Mapping[str, float] | None = None,
    quorum: float = 0.5,
) -> Vote:
    """The vote of ballots.

    >>> vote = count(["yes", "no", "yes", None])
    >>> vote.label, round(vote.disagreement, 3), round(vote.entropy, 3), vote.known
    ('yes', 0.333, 0.918, ['yes', 'no', 'yes'])
    >>> count(["yes", "no"]).label, count(["yes", None, None]).label
    (None, None)
    >>> count(["full", "none"], how="mean", worth={"full": 1.0, "partial": 0.5, "none": 0.0}).label
    'partial'
    """
    if how not in HOW:
        raise GoldassayError(f"no way {how!r} to count a panel; there are {', '.join(HOW)}")
    ballots, worth = tuple(ballots), worth or {}
    known = [ballot for ballot in ballots if ballot is not None]
    unvalued = [ballot for ballot in known if ballot not in worth]
    mean = sum(worth[ballot] for ballot in known) / len(known) if known and not unvalued else None
    if not known or len(known) < quorum * len(ballots):
        return Vote(None, ballots, mean)
    ranks = Counter(known)
    if how == "mean":
        if mean is None:
            label = unvalued[0]
            raise GoldassayError(f"the mean of a panel needs the worth of {label!r}: Panel(…, worth={{{label!r}: …}})")
        gap = min(abs(value - mean) for value in worth.values())
        near = [label for label, value in worth.items() if math.isclose(abs(value - mean), gap, abs_tol=1e-12)]
        ranks = Counter({label: ranks[label] for label in near})
    most = max(ranks.values())
    first = [label for label, votes in ranks.items() if votes == most]
    return Vote(first[0] if len(first) == 1 else None, ballots, mean)


class Panel(Judge):
    """Judges that vote.

    Args:
        members: the judges.
        how: ``majority`` or ``mean``.
        worth: numbers for labels of your own (a rubric's levels), for the mean.
        quorum: the share of members whose verdict must be known.
    """

    def __init__(
        self,
        members: Sequence[Judge],
        *,
        how: str = "majority",
        worth: Mapping[str, float] | None = None,
        quorum: float = 0.5,
    ) -> None:
        if not members:
            raise GoldassayError("a panel needs members: Panel([Judge(lm=…), Judge(lm=…), Judge(lm=…)])")
        count([], how=how)  # raises on a way that there is not
        self.members, self.how, self.quorum = tuple(members), how, quorum
        super().__init__(members[0].lm, adapter=members[0].adapter, version=members[0].version)
        self.worth = {folded(label): value for label, value in (worth or {}).items()}
        self.votes: dict[str, Vote] = {}

    @classmethod
    def samples(cls, lm: dspy.BaseLM, n: int = 5, *, how: str = "majority", **options: Any) -> Panel:
        """One model asked ``n`` times: once at temperature 0, then with a temperature. ``options`` are the judge's."""
        return cls([Judge(lm, sample=sample, **options) for sample in range(n)], how=how)

    def __str__(self) -> str:
        samples = [f"{member}#{member.sample}" if member.sample else str(member) for member in self.members]
        return f"panel({', '.join(samples)}; {self.how})"

    def ask(self, signature: Any, check: Check | None = None, /, **inputs: str) -> Fields | None:
        """The fields of a member whose verdict is the panel's; None if the vote is unknown."""
        answers = [member.ask(signature, check, **inputs) for member in self.members]
        if "verdict" not in signature.output_fields:
            fields = next((answer for answer in answers if answer is not None), None)
        else:
            labels = [str(label) for label in get_args(signature.output_fields["verdict"].annotation)]
            worth = self.worth or {label: WORTH[label] for label in labels if label in WORTH}
            ballots = [None if answer is None else folded(answer["verdict"]) for answer in answers]
            vote = count(ballots, how=self.how, worth=worth, quorum=self.quorum)
            fields = self._fields(signature, vote, answers)
            with self._lock:
                self.votes[self._key(signature, inputs)] = vote
        self.sum_members()
        with self._lock:
            self.asked += 1
            if fields is None:
                self._unknown.add(self._key(signature, inputs))
                self.last_failure = next((m.last_failure for m in self.members if m.last_failure), "no majority")
        return fields

    @staticmethod
    def _fields(signature: Any, vote: Vote, answers: Sequence[Fields | None]) -> Fields | None:
        """Those of the first member with the panel's verdict; a mean may be a label that no member named."""
        if vote.label is None:
            return None
        for fields in answers:
            if fields is not None and folded(fields["verdict"]) == vote.label:
                return fields
        reason = {"reason": "between the ballots"} if "reason" in signature.output_fields else {}
        return dict.fromkeys(signature.output_fields, "") | {"verdict": vote.label} | reason

    def sum_members(self) -> None:
        """Add up what the members, which may have been asked one by one, have cost."""
        with self._lock:
            self.calls, self.cached, self.tokens = (
                sum(getattr(member, name) for member in self.members) for name in ("calls", "cached", "tokens")
            )

    @property
    def warning(self) -> str:
        """What a report says about votes, or members' verdicts, that did not come back."""
        return super().warning or "; ".join(member.warning for member in self.members if member.warning)

    @property
    def disagreement(self) -> Mean:
        """The mean over distinct questions of the share of known ballots outside the largest group."""
        return sum((Mean.of(vote.disagreement, float(bool(vote.known))) for vote in self.votes.values()), Mean())


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
    if not isinstance(judge, Panel):
        return count([question.ask(judge, item.inputs).label], worth=question.worth)
    ballots = [question.ask(member, item.inputs).label for member in judge.members]
    judge.sum_members()
    return count(ballots, how=judge.how, worth=question.worth, quorum=judge.quorum)
