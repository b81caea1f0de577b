"""Official protocols by name: the tasks that have them, and the files that their scorers read.

What a protocol counts is in the scorecard of its task (``goldassay.measures.TASK.scorecard(…, protocol=NAME)``); which
files it reads, and under which options, is here. `goldassay.score` and the command line look a protocol up by `named`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from goldassay.exceptions import GoldassayError
from goldassay.gold import formats


class Protocol(NamedTuple):
    """An official protocol.

    Args:
        name: Its name.
        tasks: The tasks that have it.
        format: The format of its files; empty if the file shows it.
        whole: Whether the reader of the format tells records of ours from its own, so that every file is read by it.
        aliases: Other names that it is known under.
        options: The options of the task's scorecard that it uses, beside ``measures``.
    """

    name: str
    tasks: Sequence[str]
    format: str = ""
    whole: bool = False
    aliases: Sequence[str] = ()
    options: Sequence[str] = ()

    def layout(self, file: str | Path, task: str) -> str | None:
        """The format of both files if nobody names it; ``None`` if the file shows it, as those of ours do."""
        if self.whole or (self.format and formats.guess(file, task, "table") != "jsonl"):
            return self.format
        return None


def _of_questions(name: str) -> Protocol:
    return Protocol(name, ("answering",), format=name, whole=True)


SPANS = ("bounds", "equivalent")
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("hipe", ("extraction", "linking"), aliases=("hipe2022",), options=SPANS),
        Protocol("hipe2020", ("extraction", "linking"), options=SPANS),
        Protocol("conll", ("linking",), format="coref", aliases=("coref", "lea"), options=SPANS),
        Protocol("tac", ("linking",), format="neleval", aliases=("neleval",), options=SPANS),
        Protocol("squad", ("answering",), aliases=("squad1.1",)),
        Protocol("squad2", ("answering",), aliases=("squad_v2", "squad2.0")),
        *map(_of_questions, formats.QUESTIONS),
        Protocol("text2kgbench", ("triples",), options=("ontology",)),
        Protocol("webnlg", ("triples",), format="webnlg"),
        Protocol("docred", ("triples",), format="docred"),
        Protocol("carb", ("triples",), format="carb"),
    )
}


def named(name: str, task: str) -> Protocol:
    """The protocol of this name or alias, in any case.

    Raises:
        GoldassayError: There is none of this name, or it is of another task.

    >>> named("NELEVAL", "linking").name
    'tac'
    """
    names = {alias: each for each in PROTOCOLS.values() for alias in (each.name, *each.aliases)}
    protocol = names.get(name.casefold())
    if protocol is None:
        listed = ", ".join(f"{each.name} ({' and '.join(each.tasks)})" for each in PROTOCOLS.values())
        raise GoldassayError(f"no protocol {name!r}; there are {listed}")
    if task not in protocol.tasks:
        own = ", ".join(each.name for each in PROTOCOLS.values() if task in each.tasks) or "no protocol"
        raise GoldassayError(f"the protocol {protocol.name} is for {' and '.join(protocol.tasks)}; {task} has {own}")
    return protocol
