"""A panel: several judges, or several samples of one, that answer as one judge.

A panel is a judge: every measure takes one. Each question goes to all members; verdicts are counted as
`goldassay.judges.votes` says, the quote and the reason are those of a member with that verdict. What is no verdict
(claims, names) cannot be voted on and is the first member's that answers. Every vote is kept in ``votes``;
``disagreement`` is the mean dissent of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from goldassay.exceptions import GoldassayError
from goldassay.judges.asking import Accept, Fields
from goldassay.judges.judge import RELEVANCE, Judge
from goldassay.judges.votes import HOW, Vote, count
from goldassay.tally import Mean

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
    def samples(cls, lm: Any, n: int = 5, *, how: str = "majority", **options: Any) -> Panel:
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
            total = total + Mean.of(vote.dissent, float(bool(vote.known)))
        return total

    def _count(self, signature: Any, ballots: Sequence[str | None]) -> Vote:
        named = [str(label) for label in get_args(signature.output_fields["verdict"].annotation)]
        worth = self.worth or {label: WORTH[label] for label in named if label in WORTH} or None
        return count(ballots, how=self.how, worth=worth, quorum=self.quorum)

    @staticmethod
    def _fields(signature: Any, vote: Vote, found: Sequence[Fields | None]) -> Fields | None:
        if vote.label is None:
            return None
        for fields in found:
            if fields is not None and _folded(fields["verdict"]) == vote.label:
                return fields
        empty = dict.fromkeys(signature.output_fields, "")
        return empty | {"verdict": vote.label} | ({"reason": "between the ballots"} if "reason" in empty else {})


def _folded(label: str) -> str:
    return str(label).strip(" .\"'").casefold()
