"""The statements of an instruction: sentences, list items, code blocks, tables, and the headings over them.

The texts of all statements, joined, are the instruction. A heading goes when all that it heads is gone. Such are lines
with ``#``, lines in bold, and lines that end with a colon.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?\s*$")
LIST_ITEM = re.compile(r"\s*(?:[-*•+–]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\(?[A-Z]\))\s+\S")
SENTENCE_BREAK = re.compile(r"""[.!?…]["'”’)\]*_]*\s+(?=\S)|[。！？]\s*(?=\S)|:?[ \t]*\n\s*(?=\S)""")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|cf|vs|ca|approx|no|dr|mr|mrs|ms|prof|st|fig|incl|resp|z\.B|d\.h|bzw|nr|vgl|ggf|evtl|inkl|usw|ex)|\b\w)$",
    re.I,
)
WRAPPED = 60  # a line of so many characters without a full stop goes on in the next one


@dataclass(frozen=True)
class Statement:
    """A statement with the blanks after it.

    ``kind`` is ``sentence``, ``item``, ``block`` (code, a table) or ``heading``, which ``heads`` the statements of
    these indices.
    """

    text: str
    kind: str
    heads: range = range(0)


def statements(text: str) -> list[Statement]:
    """The statements of an instruction, in order.

    >>> [s.text for s in statements("# Task\\nLabel it, e.g. so. No more.\\nRules:\\n- one\\n  goes on\\n- two")]
    ['# Task\\n', 'Label it, e.g. so. ', 'No more.\\n', 'Rules:\\n', '- one\\n  goes on\\n', '- two']
    """
    lines = text.splitlines(keepends=True)
    cut: list[Statement] = []
    start = 0
    while start < len(lines):
        kind = _kind(lines[start])
        end = start + 1
        if kind == "code":
            fence = lines[start].lstrip()[:3]
            while end < len(lines) and not lines[end].lstrip().startswith(fence):
                end += 1
            end += 1
        elif kind in ("table", "sentence"):
            while end < len(lines) and _kind(lines[end]) == kind:
                end += 1
        elif kind == "item":
            while end < len(lines):  # it, or the next line with text, is indented more
                following = next((line for line in lines[end:] if line.strip()), "")
                if _indent(following) <= _indent(lines[start]):
                    break
                end += 1
        piece = "".join(lines[start:end])
        start = end
        if kind == "sentence":
            cut += [Statement(sentence, kind) for sentence in _sentences(piece)]
        elif kind == "blank" and cut:
            cut[-1] = replace(cut[-1], text=cut[-1].text + piece)
        else:
            cut.append(Statement(piece, "block" if kind in ("code", "table") else kind))
    levels = [len(statement.text) - len(statement.text.lstrip("#")) or 7 for statement in cut]  # of bold headings 7
    headed = []
    for index, statement in enumerate(cut):
        end = index + 1
        if statement.kind == "heading":
            while end < len(cut) and not (cut[end].kind == "heading" and levels[end] <= levels[index]):
                end += 1
        elif statement.kind == "sentence" and statement.text.rstrip().endswith(":"):
            listed = end < len(cut) and cut[end].kind in ("item", "block")
            while end < len(cut) and (
                cut[end].kind in ("item", "block")
                if listed
                else cut[end].kind == "sentence" and (end == index + 1 or "\n\n" not in cut[end - 1].text)
            ):
                end += 1
        if end > index + 1:
            statement = replace(statement, kind="heading", heads=range(index + 1, end))
        elif statement.kind == "heading":
            statement = replace(statement, kind="sentence")
        headed.append(statement)
    return headed


def _kind(line: str) -> str:
    """The kind of block that a line begins: code, a table, a heading, an item or a sentence; else it is blank."""
    text = line.lstrip()
    if text.startswith(("```", "~~~")):
        return "code"
    if text.startswith("|"):
        return "table"
    if HEADING.match(line):
        return "heading"
    if LIST_ITEM.match(line):
        return "item"
    return "sentence" if text else "blank"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def without(cut: Sequence[Statement], removed: Collection[int]) -> str:
    """The instruction without the statements of these indices.

    >>> without(statements("Be brief. Rules:\\n- one\\n- two"), {2, 3})
    'Be brief.'
    """
    left = []
    for index, statement in enumerate(cut):
        gone = all(under in removed for under in statement.heads if not cut[under].heads) if statement.heads else False
        if not gone and index not in removed:
            left.append(statement.text)
        elif left and statement.text.count("\n") and len(_blank(left[-1])) < len(_blank(statement.text)):
            left[-1] = left[-1].rstrip() + _blank(statement.text)
    return "".join(left) if len(left) == len(cut) else "".join(left).strip()


def _blank(text: str) -> str:
    """The blanks at the end of a text."""
    return text[len(text.rstrip()) :]


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for match in SENTENCE_BREAK.finditer(text):
        before = text[start : match.start()]
        following = text[match.end()]
        stop = match[0][0]
        if stop in "\n \t":  # the end of a line without a full stop
            wrapped = following.islower() or len(before.rpartition("\n")[2]) >= WRAPPED
        else:
            wrapped = stop == "." and (following.islower() or ABBREVIATION.search(before) is not None)
        in_brackets = before.count("(") > before.count(")") and ")" in text[match.end() :]
        if not wrapped and not in_brackets:
            yield text[start : match.end()]
            start = match.end()
    yield text[start:]
