"""Which measure notices which damage, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from goldassay.embedding import Embedder, available, register
from goldassay.exceptions import DataError, GoldassayError
from goldassay.measure import TASKS, Measure
from goldassay.proof.mutation import answers, others, spans
from goldassay.proof.mutation.damage import Damage
from goldassay.proof.mutation.examples import examples, right

NOTICED = 0.15
"""A measure that loses less than this on examples all of which are damaged does not notice the damage."""
DAMAGES: tuple[Damage, ...] = (
    *spans.EXTRACTION,
    *others.CLASSIFICATION,
    *spans.LINKING,
    *others.RETRIEVAL,
    *answers.DAMAGES,
    *others.TRIPLES,
)


@dataclass(frozen=True)
class Row:
    """One measure under one damage: its value before and after. ``None`` after: it refuses the damaged prediction, or,
    where it does not apply any more, has no evidence left (``applies`` is then false)."""

    task: str
    damage: str
    about: str
    harmless: bool
    measure: str
    examples: int
    before: float
    after: float | None
    applies: bool = True
    lower_is_better: bool = False

    @property
    def change(self) -> float | None:
        """How much the value rose."""
        return None if self.after is None else self.after - self.before

    @property
    def noticed(self) -> bool:
        """Whether the measure says that something is wrong: it falls (a rate of mistakes rises), or it refuses."""
        if self.after is None:
            return self.applies
        lost = self.after - self.before if self.lower_is_better else self.before - self.after
        return self.applies and lost >= NOTICED

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "task": self.task,
            "damage": self.damage,
            "about": self.about,
            "harmless": self.harmless,
            "measure": self.measure,
            "examples": self.examples,
            "before": self.before,
            "after": self.after,
            "change": self.change,
            "noticed": self.noticed,
            "applies": self.applies,
        }


def measures(task: str, embedder: Embedder | str | None = None) -> list[Measure[Any]]:
    """The measures of a task, one of each name; for answering with semantic similarity where an embedder is."""
    found = {measure.key: measure for measure in reversed(import_module(f"goldassay.measures.{task}").MEASURES)}
    made = list(reversed(found.values()))
    if task == "answering" and embedder is not None:
        from goldassay.measures.answering import SemanticSimilarity

        made.append(SemanticSimilarity(embedder if isinstance(embedder, str) else register(embedder)))
    return made


def table(tasks: Iterable[str] = TASKS, *, embedder: Embedder | str | None = "auto") -> list[Row]:
    """Every measure under every damage of its task, over the examples that can be damaged so.

    >>> rows = table(["answering"], embedder=None)
    >>> found = {(row.measure, row.damage): row for row in rows}
    >>> found["exact_match", "negation"].noticed, found["rouge1", "negation"].noticed
    (True, False)
    """
    chosen = available() if embedder == "auto" else embedder
    gold = examples()
    rows = []
    for task in tasks:
        if task not in TASKS:
            raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
        perfect = import_module(f"goldassay.measures.{task}").perfect
        preds = [right(task, one, perfect(one)) for one in gold[task]]
        for damage in (damage for damage in DAMAGES if damage.task == task):
            pairs = _damaged(damage, gold[task], preds)
            rows += [_row(damage, measure, pairs) for measure in measures(task, chosen)]
    return rows


def _damaged(damage: Damage, gold: Sequence[Any], preds: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
    """Gold, the right prediction, the damaged one; of the examples that can be damaged so."""
    out = []
    for place, (one, pred) in enumerate(zip(gold, preds, strict=True)):
        made = damage.apply(one, pred, gold[(place + 1) % len(gold)])
        if made is None and len(gold) > 2:
            made = damage.apply(one, pred, gold[(place + 2) % len(gold)])
        if made is not None:
            out.append((one, pred, made))
    if not out:
        raise GoldassayError(f"no example of {damage.task} can be damaged by {damage.name!r}")
    return out


def _row(damage: Damage, measure: Measure[Any], pairs: Sequence[tuple[Any, Any, Any]]) -> Row:
    before, weight = _value(measure, [(gold, pred) for gold, pred, _ in pairs])
    try:
        after, left = _value(measure, [(gold, made) for gold, _, made in pairs])
    except DataError:
        return Row(damage.task, damage.name, damage.about, damage.harmless, measure.key, len(pairs), before, None)
    applies = bool(weight or left)
    value = after if left or not weight else None
    return Row(
        damage.task,
        damage.name,
        damage.about,
        damage.harmless,
        measure.key,
        len(pairs),
        before,
        value,
        applies and value is not None,
        measure.lower_is_better,
    )


def _value(measure: Measure[Any], pairs: Iterable[tuple[Any, Any]]) -> tuple[float, float]:
    total = measure.zero
    for gold, pred in pairs:
        total = total + measure(gold, pred).tally
    return float(total.value), float(total.weight)
