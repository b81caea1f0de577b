"""Official protocols by name: what an official scorer counts, and the files that it reads.

HIPE's and SQuAD's are here; extensions register more (`goldassay.ext.protocols`). `goldassay.score`, the command line
and the scorecards of the tasks look a protocol up by `named`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from goldassay._support import extensions
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Batches
from goldassay.results.result import Result


@dataclass(frozen=True)
class Protocol:
    """An official protocol.

    Args:
        name: Its name.
        tasks: The tasks that have it.
        scorecard: Computes its values: a function of the shared `Batches`, with the options; if there is none, the
            task's own scorecard counts under the protocol.
        format: The format of its files; empty if the file shows it.
        reads_records: Whether the reader of the format knows records of ours, too, so that it reads every file.
        aliases: Other names that it is known under.
        options: The options of the task's scorecard that it uses, besides ``measures``.
    """

    name: str
    tasks: Sequence[str]
    scorecard: Callable[..., Result] | None = None
    format: str = ""
    reads_records: bool = False
    aliases: Sequence[str] = ()
    options: Sequence[str] = ()


HIPE = Protocol("hipe", ("extraction", "linking"), aliases=("hipe2022",), options=("bounds", "equivalent"))
HIPE2020 = Protocol("hipe2020", ("extraction", "linking"), options=("bounds", "equivalent"))


def protocols() -> dict[str, Protocol]:
    """All protocols by name: the library's, then those of extensions."""
    built_in = {
        "hipe": "goldassay.measures.protocols:HIPE",
        "hipe2020": "goldassay.measures.protocols:HIPE2020",
        "squad": "goldassay.measures.answering.scorecard:SQUAD",
        "squad2": "goldassay.measures.answering.scorecard:SQUAD2",
    }
    return {name: extensions.load(reference) for name, reference in built_in.items()} | extensions.of_kind("protocols")


def named(name: str, task: str) -> Protocol:
    """The protocol of this name or alias, in any case.

    Raises:
        GoldassayError: There is none of this name, or it is of another task.

    >>> named("SQuAD2.0", "answering").name
    'squad2'
    """
    listed = protocols()
    by_alias = {alias: protocol for protocol in listed.values() for alias in (protocol.name, *protocol.aliases)}
    protocol = by_alias.get(name.casefold())
    if protocol is None:
        names = ", ".join(f"{protocol.name} ({' and '.join(protocol.tasks)})" for protocol in listed.values())
        raise GoldassayError(f"no protocol {name!r}; there are {names}")
    if task not in protocol.tasks:
        of_task = ", ".join(other.name for other in listed.values() if task in other.tasks) or "no protocol"
        raise GoldassayError(
            f"the protocol {protocol.name} is for {' and '.join(protocol.tasks)}; {task} has {of_task}"
        )
    return protocol


def official_result(task: str, shared: Batches, protocol: str | None = None, **options: object) -> Result | None:
    """The result of a protocol that counts in its own way; None if the task's own scorecard counts.

    Args:
        task: The task.
        shared: Gold and predictions.
        protocol: Its name, if one is asked for.
        options: Those of the task's scorecard, of which the protocol gets the ones that it uses.
    """
    official = named(protocol, task) if protocol else None
    if official is None or official.scorecard is None:
        return None
    return official.scorecard(shared, **{name: options[name] for name in official.options if name in options})
