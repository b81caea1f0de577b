"""A judge asked on many items: one vote an item, from a panel, from one judge, or from the file that has verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from goldassay.exceptions import DataError
from goldassay.judges.ask.judge import Judge
from goldassay.judges.ask.panel import Panel, Vote, count
from goldassay.judges.ask.questions import Question
from goldassay.judges.people.labels import JudgedItem, Labels

Tell = Callable[[int, Vote], None]
"""Hears after each item how many are done, and its vote."""


def poll(
    judge: Judge, question: Question, items: Iterable[JudgedItem], *, threads: int = 1, tell: Tell | None = None
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


def _each(judge: Judge, question: Question, items: Sequence[JudgedItem], threads: int) -> Iterator[Vote]:
    if threads == 1:
        yield from (ballot(judge, question, item) for item in items)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(lambda item: ballot(judge, question, item), items)
        finally:
            pool.shutdown(cancel_futures=True)


def ballot(judge: Judge, question: Question, item: JudgedItem) -> Vote:
    """The vote on one item; a single judge is a panel of one."""
    if not isinstance(judge, Panel):
        return count([question.ask(judge, item.inputs).label], worth=question.worth)
    cast = [question.ask(member, item.inputs).label for member in judge.members]
    judge.recount()
    return count(cast, how=judge.how, worth=question.worth, quorum=judge.quorum)


def recorded(labels: Labels) -> list[Vote]:
    """The verdicts that stand in a file of labels."""
    if not labels.judged:
        raise DataError("no verdicts in this file; name a model with --lm", file=labels.source or None)
    return [count([item.verdict], worth=labels.question.worth) for item in labels.items]
