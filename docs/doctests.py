"""For the reference: the examples in docstrings become blocks of code, and the roles of names become code too."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Puts a fence around every example of a docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Each object with a docstring, once it is read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with its examples as blocks of code; a block that ``::`` announces as well."""
    parts = re.split(r"\n\s*\n", text)
    out = []
    for number, part in enumerate(parts):
        announced = number > 0 and parts[number - 1].rstrip().endswith("::")
        if ">>>" in part:
            head, mark, rest = part.partition(">>>")
            out.append(f"{head.rstrip()}\n\n```pycon\n{mark}{rest}\n```".lstrip())
        elif announced:
            out.append(f"```text\n{part}\n```")
        else:
            out.append(part)
    return "\n\n".join(out)
