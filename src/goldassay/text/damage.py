"""How a right text goes wrong: a verb negated, a digit changed, a name swapped.

The mutation tests of the measures and the audit of judges plant the same faults, so they are made here, once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

VERB = re.compile(r"\b(is|was|are|were|has|had|did|does|will|can)\b")


def negated(text: str) -> str | None:
    """The text with its first verb that can be negated in English negated; ``None`` without one.

    >>> negated("It was built."), negated("Het werd gebouwd.")
    ('It was not built.', None)
    """
    return VERB.sub(r"\1 not", text, count=1) if VERB.search(text) else None


def changed_digit(text: str) -> str | None:
    """The text with its last digit raised by one (9 becomes 8); ``None`` without one.

    >>> changed_digit("in 1809."), changed_digit("in May")
    ('in 1808.', None)
    """
    place = next((at for at in range(len(text) - 1, -1, -1) if text[at].isdigit()), None)
    if place is None:
        return None
    digit = "8" if text[place] == "9" else str(int(text[place]) + 1)
    return text[:place] + digit + text[place + 1 :]


def swapped_name(text: str, names: Sequence[str], others: Sequence[str]) -> str | None:
    """The text with the last of its names replaced by the last of another text's; ``None`` where nothing changes.

    Names with a digit in them are left alone: a changed number is another fault.

    >>> swapped_name("Seen in Delft.", ["Delft"], ["Gouda", "1784"])
    'Seen in Gouda.'
    """
    mine, theirs = ([name for name in some if not any(c.isdigit() for c in name)] for some in (names, others))
    return text.replace(mine[-1], theirs[-1]) if mine and theirs and mine[-1] != theirs[-1] else None
