"""A panel: several judges, or several samples of one, that answer as one judge; and a judge asked on many items.

A panel is a judge: every measure takes one. Each question goes to all members, and their verdicts are counted:

* ``majority``: the label of most known ballots; two labels with as many are no majority: unknown.
* ``mean``: the label whose worth is nearest to the mean worth of the known ballots (of labels as near, the one that
  more ballots named; still as many: unknown).

Ballots without a verdict do not vote; where fewer than ``quorum`` of all ballots are known, the vote is unknown. The
quote and the reason are those of a member with the panel's verdict. What is no verdict (claims, names) cannot be voted
on and is the first member's that answers.

Every vote is kept in ``votes``. Its ``disagreement`` is the share of known ballots that are not with the largest group,
its ``entropy`` that of the ballots in bits (Shannon 1948); the panel's ``disagreement`` is the mean over its votes.
`poll` asks a panel, or one judge, on many items: a vote an item.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, get_args

from goldassay.exceptions import DataError, GoldassayError
from goldassay.judges.ask.judge import Judge
from goldassay.judges.ask.model import Accept, Fields
from goldassay.judges.ask.questions import Question
from goldassay.measures.answering.claims import RELEVANCE
from goldassay.tally import Mean

if TYPE_CHECKING:
    import dspy

WORTH = {"supported": 1.0, "contradicted": 0.0, "not_stated": 0.0, "yes": 1.0, "no": 0.0}
WORTH |= {"first": 1.0, "tie": 0.5, "second": 0.0, **RELEVANCE}


class Panel(Judge):
    """Judges that vote.

    ``how`` is ``majority`` or ``mean``; ``worth`` gives labels of one's own (a rubric's levels) numbers for the mean;
    ``quorum`` is the share of members whose verdict must be known.
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
        if how not in HOW:
            raise GoldassayError(f"no way {how!r} to count a panel; there are {', '.join(HOW)}")
        super().__init__(members[0].lm, adapter=members[0].adapter, version=members[0].version)
        self.members, self.how, self.quorum = tuple(members), how, quorum
        self.worth = {_folded(label): value for label, value in (worth or {}).items()}
        self.votes: dict[str, Vote] = {}

    @classmethod
    def samples(cls, lm: dspy.BaseLM, n: int = 5, *, how: str = "majority", **options: Any) -> Panel:
        """One model asked ``n`` times: once at temperature 0, then with a temperature. ``options`` are the judge's."""
        return cls([Judge(lm, sample=sample, **options) for sample in range(n)], how=how)

    def __str__(self) -> str:
        samples = [f"{member}#{member.sample}" if member.sample else str(member) for member in self.members]
        return f"panel({', '.join(samples)}; {self.how})"

    def ask(self, signature: Any, accept: Accept | None = None, /, **inputs: str) -> Fields | None:
        """The fields of a member whose verdict is the panel's; ``None`` where the vote is unknown."""
        found = [member.ask(signature, accept, **inputs) for member in self.members]
        if "verdict" not in signature.output_fields:
            made = next((fields for fields in found if fields is not None), None)
        else:
            vote = self._count(signature, [None if one is None else _folded(one["verdict"]) for one in found])
            made = self._fields(signature, vote, found)
            with self._lock:
                self.votes[self._key(signature, inputs)] = vote
        self.recount()
        with self._lock:
            self.asked += 1
            if made is None:
                self._unknown.add(self._key(signature, inputs))
                self.last_failure = next((m.last_failure for m in self.members if m.last_failure), "no majority")
        return made

    def recount(self) -> None:
        """Take over what the members, which may have been asked one by one, have cost."""
        with self._lock:
            self.calls = sum(member.calls for member in self.members)
            self.cached = sum(member.cached for member in self.members)
            self.tokens = sum(member.tokens for member in self.members)

    @property
    def warning(self) -> str:
        """What a report says about votes, or members' verdicts, that did not come back."""
        return super().warning or "; ".join(member.warning for member in self.members if member.warning)

    @property
    def disagreement(self) -> Mean:
        """The mean over distinct questions of the share of known ballots outside the largest group."""
        total = Mean()
        for vote in self.votes.values():
            total = total + Mean.of(vote.disagreement, float(bool(vote.known)))
        return total

    def _count(self, signature: type[dspy.Signature], ballots: Sequence[str | None]) -> Vote:
        named = [str(label) for label in get_args(signature.output_fields["verdict"].annotation)]
        worth = self.worth or {label: WORTH[label] for label in named if label in WORTH} or None
        return count(ballots, how=self.how, worth=worth, quorum=self.quorum)

    @staticmethod
    def _fields(signature: type[dspy.Signature], vote: Vote, found: Sequence[Fields | None]) -> Fields | None:
        if vote.label is None:
            return None
        for fields in found:
            if fields is not None and _folded(fields["verdict"]) == vote.label:
                return fields
        empty = dict.fromkeys(signature.output_fields, "")
        return empty | {"verdict": vote.label} | ({"reason": "between the ballots"} if "reason" in empty else {})


def _folded(label: str) -> str:
    return str(label).strip(" .\"'").casefold()


HOW = ("majority", "mean")


@dataclass(frozen=True, slots=True)
class Vote:
    """What came of the ballots: ``label`` (``None`` is unknown), and ``mean``, the mean worth of the known ballots."""

    label: str | None
    ballots: tuple[str | None, ...]
    mean: float | None = None

    @property
    def known(self) -> list[str]:
        """The ballots with a verdict."""
        return [ballot for ballot in self.ballots if ballot is not None]

    @property
    def unknown(self) -> int:
        """How many ballots have no verdict."""
        return len(self.ballots) - len(self.known)

    @property
    def disagreement(self) -> float:
        """The share of known ballots outside the largest group; 0 is unanimous, and 0 without a ballot."""
        known = self.known
        return 1 - max(Counter(known).values()) / len(known) if known else 0.0

    @property
    def entropy(self) -> float:
        """The entropy of the known ballots, in bits."""
        known = self.known
        shares = [count / len(known) for count in Counter(known).values()]
        return max(0.0, -sum(share * math.log2(share) for share in shares))

    def share(self, label: str) -> float | None:
        """The share of known ballots for a label; ``None`` without a ballot."""
        known = self.known
        return known.count(label) / len(known) if known else None


def count(
    ballots: Sequence[str | None],
    *,
    how: str = "majority",
    worth: Mapping[str, float] | None = None,
    quorum: float = 0.5,
) -> Vote:
    """The vote of ballots.

    >>> found = count(["yes", "no", "yes", None])
    >>> found.label, round(found.disagreement, 3), round(found.entropy, 3), found.unknown
    ('yes', 0.333, 0.918, 1)
    >>> count(["yes", "no"]).label, count(["yes", None, None]).label
    (None, None)
    >>> count(["full", "none"], how="mean", worth={"full": 1.0, "partial": 0.5, "none": 0.0}).label
    'partial'
    """
    if how not in HOW:
        raise GoldassayError(f"no way {how!r} to count a panel; there are {', '.join(HOW)}")
    cast = tuple(ballots)
    known = [ballot for ballot in cast if ballot is not None]
    values = [worth.get(ballot) for ballot in known] if worth else []
    numbers = [value for value in values if value is not None]
    mean = sum(numbers) / len(numbers) if numbers and len(numbers) == len(known) else None
    if not known or len(known) < quorum * len(cast):
        return Vote(None, cast, mean)
    ranks = Counter(known)
    if how == "mean":
        if worth is None or mean is None:
            absent = next((ballot for ballot in known if ballot not in (worth or {})), "")
            raise GoldassayError(
                f"the mean of a panel needs the worth of {absent!r}: Panel(…, worth={{{absent!r}: …}})"
            )
        gap = min(abs(value - mean) for value in worth.values())
        near = [label for label, value in worth.items() if math.isclose(abs(value - mean), gap, abs_tol=1e-12)]
        ranks = Counter({label: ranks[label] for label in near})
    most = max(ranks.values())
    first = [label for label, found in ranks.items() if found == most]
    return Vote(first[0] if len(first) == 1 else None, cast, mean)


class AskedItem(Protocol):
    """An item that a judge is asked about: its id, and the inputs of the question."""

    @property
    def id(self) -> str:
        """By which errors name it."""
        ...

    @property
    def inputs(self) -> Mapping[str, str]:
        """What the question is about."""
        ...


Tell = Callable[[int, Vote], None]
"""Hears after each item how many are done, and its vote."""


def poll(
    judge: Judge, question: Question, items: Iterable[AskedItem], *, threads: int = 1, tell: Tell | None = None
) -> list[Vote]:
    """The votes of a judge on items, in their order.

    Args:
        judge: one judge, or a panel.
        question: what it is asked.
        items: what about.
        threads: how many items at once.
        tell: hears after each item how many are done, and its vote.

    Raises:
        DataError: an item lacks an input of the question.
        ModelError: the judge's model gives no answer.
    """
    asked = list(items)
    for item in asked:
        absent = [name for name in question.inputs if name not in item.inputs]
        if absent:
            raise DataError(f"no input {absent[0]!r}; the judge cannot be asked without it", record=item.id)
    votes = []
    for vote in _each(judge, question, asked, threads):
        votes.append(vote)
        if tell:
            tell(len(votes), vote)
    return votes


def _each(judge: Judge, question: Question, items: Sequence[AskedItem], threads: int) -> Iterator[Vote]:
    if threads == 1:
        yield from (ballot(judge, question, item) for item in items)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(lambda item: ballot(judge, question, item), items)
        finally:
            pool.shutdown(cancel_futures=True)


def ballot(judge: Judge, question: Question, item: AskedItem) -> Vote:
    """The vote on one item; a single judge is a panel of one."""
    if not isinstance(judge, Panel):
        return count([question.ask(judge, item.inputs).label], worth=question.worth)
    cast = [question.ask(member, item.inputs).label for member in judge.members]
    judge.recount()
    return count(cast, how=judge.how, worth=question.worth, quorum=judge.quorum)
