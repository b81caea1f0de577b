"""Metrics that are themselves tested: right predictions are damaged, and the table says which measure notices.

A measure that falls by less than 0.15 although every example is damaged is *blind* to the damage: ROUGE to a negation,
cosine to an echo of the question. Every damage that concerns a task is noticed by one of its measures; a harmless one
(another order of a list) is noticed by none. Both are tests. The gold is small and written for this table: every damage
of a task finds something to damage in it.

Source: the idea is mutation testing (DeMillo, Lipton and Sayward, IEEE Computer 1978), turned on metrics; compare
Sai et al., Perturbation CheckLists for evaluating NLG evaluation metrics, EMNLP 2021.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.mutation import damages, spans
from tests.mutation.damages import Damage
from tests.perfect import perfect_for

from goldassay._support.exceptions import DataError, FieldError, GoldassayError
from goldassay.core.fields import Record
from goldassay.core.measure import TASKS, Measure, registered
from goldassay.models.embedding import Embedder, available, register

FACTS = (
    ("Which year was the Hill Museum opened in Delft?", "The Hill Museum was opened in Delft in 1887.", "Hill Museum"),
    (
        "Which is the largest archive of Ghent?",
        "The River Archive is the largest archive of Ghent since 1904.",
        "River Archive",
    ),
    (
        "Who was the first keeper of the Old Library?",
        "The first keeper of the Old Library was Anna Vos in 1755.",
        "Old Library",
    ),
    (
        "Which town is north of the Stone Gallery?",
        "The Stone Gallery is north of Breda and has 1320 works.",
        "Stone Gallery",
    ),
)
TAILS = (
    "It is free on Sundays.",
    "Its reading room seats forty people.",
    "The building stands beside a canal.",
    "A garden belongs to it.",
)
NAMES = ("Delft", "Ghent", "Anna Vos", "Breda")
YEARS = ("1887", "1904", "1755", "1320")
TYPES = ("GRP.HER.MUS", "GRP.HER.ARC", "GRP.HER.LIB", "GRP.HER.MUS")
LABELS = (("M", "L"), ("A", "G"), ("L", "M"), ("G", "A"), ("E", "S"), ("D", "R"))
TEXTS = tuple(f"{fact} {tail}" for (_, fact, _), tail in zip(FACTS, TAILS, strict=True))


def _span(text: str, name: str, kind: str) -> dict[str, Any]:
    start = text.index(name)
    return {"start": start, "end": start + len(name), "type": kind, "text": name}


def examples() -> dict[str, list[Record]]:
    """Gold examples by task."""
    rows = list(zip(TEXTS, FACTS, NAMES, YEARS, TYPES, strict=True))
    return {
        "extraction": [
            {
                "id": f"e{n}",
                "text": text,
                "entities": [_span(text, s, kind), _span(text, name, "TOP"), _span(text, year, "TMP")],
            }
            for n, (text, (_, _, s), name, year, kind) in enumerate(rows)
        ],
        "classification": [
            {"id": f"c{n}", "text": f"text {n}", "label": label, "secondary_labels": [second]}
            for n, (label, second) in enumerate(LABELS)
        ],
        "linking": [
            {
                "id": f"l{n}",
                "text": text,
                "links": [
                    {**_span(text, s, kind), "ids": {"wikidata": [f"Q{100 + n}"]}},
                    {**_span(text, name, "TOP"), "ids": {}},
                ],
            }
            for n, (text, (_, _, s), name, _, kind) in enumerate(rows)
        ],
        "retrieval": [
            {"id": f"q{n}", "query": question, "relevant": {f"d{n}": 3, f"d{n}b": 1, f"d{n}c": 0}}
            for n, (question, _, _) in enumerate(FACTS)
        ],
        "answering": [
            *(
                {"id": f"a{n}", "question": question, "answers": [fact], "reference": fact, "context": text}
                | {"supporting_facts": [fact], "documents": [f"d{n}"]}
                for n, (text, (question, fact, _), *_) in enumerate(rows)
            ),
            {
                "id": "a9",
                "question": "Who owns the Moon Museum?",
                "answers": [],
                "context": TEXTS[0],
                "supporting_facts": [],
            },
        ],
        "triples": [
            {
                "id": f"t{n}",
                "text": text,
                "triples": [
                    {"subject": s, "predicate": "P571", "object": year, "object_type": "time"},
                    {"subject": s, "predicate": "P131", "object": name, "object_type": "item"},
                ],
            }
            for n, (text, (_, _, s), name, year, _) in enumerate(rows)
        ],
        "records": [
            {
                "id": f"r{n}",
                "text": text,
                "record": {
                    "name": s,
                    "opened": int(year),
                    "town": {"name": name, "known": True},
                    "works": [
                        {"title": f"View of {name}", "year": int(year)},
                        {"title": f"{s} at dusk", "year": 1700 + n},
                    ],
                },
            }
            for n, (text, (_, _, s), name, year, _) in enumerate(rows)
        ],
        "trajectories": [
            {
                "id": f"w{n}",
                "question": question,
                "calls": [
                    {"name": "search", "args": {"query": s}},
                    {"name": "read", "args": {"id": n, "part": name}},
                    {"name": "date", "args": {"year": int(year)}},
                ],
                "answers": [year],
            }
            for n, (_, (question, _, s), name, year, _) in enumerate(rows)
        ],
    }


def right(task: str, gold: Record, perfect: Record) -> Record:
    """The right prediction: the task's own perfect one, with what the damages work on."""
    if task == "answering":
        answers = gold["answers"]
        return {
            "answer": answers[0] if answers else "",
            "confidence": 0.9 if answers else 0.1,
            "retrieved_contexts": [gold["context"]],
            "claims": list(answers),
            "results": [{"doc_id": name, "score": 1.0} for name in gold.get("documents", [])],
        }
    if task == "retrieval":
        number = gold["id"][1:]
        names = [f"d{number}", f"d{number}b", f"d{number}c", f"x{number}"]
        return {"results": [{"doc_id": name, "score": 9.0 - place} for place, name in enumerate(names)]}
    return dict(perfect)


NOTICED = 0.15
"""A measure that loses less than this on examples all of which are damaged does not notice the damage."""
DAMAGES: tuple[Damage, ...] = (
    *spans.EXTRACTION,
    *damages.CLASSIFICATION,
    *spans.LINKING,
    *damages.RETRIEVAL,
    *damages.ANSWERING,
    *damages.TRIPLES,
    *damages.RECORDS,
    *damages.TRAJECTORIES,
)


@dataclass(frozen=True)
class Reaction:
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

    def state(self) -> dict[str, object]:
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


ABSENT: defaultdict[str, tuple[str, ...]] = defaultdict(
    tuple,
    classification=("top", "auroc", "average_precision", "brier", "multiclass_brier", "ece"),
    linking=("conll",),
    answering=("facts_", "joint_", "kilt_", "lost_by_retrieval"),
)
"""The beginnings of the names of measures that the heritage gold has nothing for, though it has the field."""


def measures(task: str, embedder: Embedder | str | None = None) -> list[Measure[Any]]:
    """The measures of a task, one of each name; for answering with semantic similarity where an embedder is.

    Measures of what the gold or its right predictions do not have are left out: sets of labels, grades, probabilities,
    supporting facts, documents of evidence, and mentions that form chains.
    """
    chosen = (measure for measure in reversed(registered(task)) if not measure.key.startswith(ABSENT[task]))
    by_name = {measure.key: measure for measure in chosen if _applies(measure, perfect_for(task))}
    ordered = list(reversed(by_name.values()))
    if task == "answering" and embedder is not None:
        from goldassay.measures.answering import SemanticSimilarity

        ordered.append(SemanticSimilarity(embedder if isinstance(embedder, str) else register(embedder)))
    return ordered


def _applies(measure: Measure[Any], perfect: Any) -> bool:
    """Whether the heritage gold has the fields that a measure reads."""
    example = next(iter(examples()[measure.task]))
    try:
        measure(example, perfect(example))
    except FieldError:
        return False
    return True


def table(tasks: Iterable[str] = TASKS, *, embedder: Embedder | str | None = "auto") -> list[Reaction]:
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
        perfect = perfect_for(task)
        preds = [right(task, example, perfect(example)) for example in gold[task]]
        of_task = measures(task, chosen)
        for damage in (damage for damage in DAMAGES if damage.task == task):
            pairs = _damaged(damage, gold[task], preds)
            rows += [_row(damage, measure, pairs) for measure in of_task]
    return rows


def _damaged(damage: Damage, gold: Sequence[Any], preds: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
    """Gold, the right prediction, the damaged one; of the examples that can be damaged so."""
    out = []
    for place, (example, pred) in enumerate(zip(gold, preds, strict=True)):
        damaged = damage.apply(example, pred, gold[(place + 1) % len(gold)])
        if damaged is None and len(gold) > 2:
            damaged = damage.apply(example, pred, gold[(place + 2) % len(gold)])
        if damaged is not None:
            out.append((example, pred, damaged))
    if not out:
        raise GoldassayError(f"no example of {damage.task} can be damaged by {damage.name!r}")
    return out


def _row(damage: Damage, measure: Measure[Any], pairs: Sequence[tuple[Any, Any, Any]]) -> Reaction:
    before, weight = _value(measure, [(gold, pred) for gold, pred, _ in pairs])
    try:
        after, left = _value(measure, [(gold, damaged) for gold, _, damaged in pairs])
    except DataError:
        return Reaction(damage.task, damage.name, damage.about, damage.harmless, measure.key, len(pairs), before, None)
    applies = bool(weight or left)
    value = after if left or not weight else None
    return Reaction(
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
