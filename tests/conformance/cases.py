"""What is compared live: the heritage gold with predictions that are damaged copies of it, and generated cases."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from goldassay import workspace
from goldassay.core.fields import Record
from goldassay.gold import read

SEED = 14
Tags = list[list[str]]


def heritage(task: str) -> list[Record]:
    """The workspace's heritage gold of a task, or that which comes with goldassay; nothing where neither is there."""
    for base in (workspace.root(), workspace.installed()):
        file = base / "gold" / "heritage" / f"{task}.jsonl"
        if file.is_file():
            return list(read(file, task=task))
    return []


def tagged() -> tuple[Tags, Tags]:
    """Heritage documents as IOB2 tags of their words, and the same with one tag in eight exchanged, rules or not."""
    rng = random.Random(SEED)
    gold = [iob2(record["text"], record["entities"]) for record in heritage("extraction")]
    letters = sorted(
        {tag for row in gold for tag in row} | {f"I{tag[1:]}" for row in gold for tag in row if tag != "O"}
    )
    return gold, [[tag if rng.random() < 7 / 8 else rng.choice(letters) for tag in row] for row in gold]


def iob2(text: str, entities: Sequence[Record]) -> list[str]:
    """The tags of a text's words; of entities that share a word the first stands.

    >>> iob2("Anne Frank House in Amsterdam", [{"start": 0, "end": 16, "type": "GRP"}, {"start": 0, "end": 10, \
"type": "AGT"}, {"start": 20, "end": 29, "type": "TOP"}])
    ['B-GRP', 'I-GRP', 'I-GRP', 'O', 'B-TOP']
    """
    words = [match.span() for match in re.finditer(r"\S+", text)]
    out = ["O"] * len(words)
    for entity in entities:
        within = [at for at, (start, end) in enumerate(words) if start < entity["end"] and entity["start"] < end]
        if within and all(out[at] == "O" for at in within):
            for at in within:
                out[at] = f"{'B' if at == within[0] else 'I'}-{entity['type']}"
    return out


def random_tags(letters: str, seed: int, sentences: int = 200) -> tuple[Tags, Tags]:
    """Tags of three types at random, well-formed or not, and others that agree with them in seven places of ten."""
    rng = random.Random(seed)
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in ("LOC", "PER", "ORG"))]
    gold = [[rng.choice(tags) for _ in range(rng.randint(1, 9))] for _ in range(sentences)]
    return gold, [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in row] for row in gold]


def spans() -> tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]]:
    """Spans of heritage documents, and of the same number of generated ones, with systems that move, retype, lose, add.

    Only documents in which no span overlaps two of the other side: there the order of a greedy matching cannot matter.
    """
    rng = random.Random(SEED)
    gold = [[_span(entity) for entity in record["entities"]] for record in heritage("extraction")]
    for _ in range(200):
        places = range(0, rng.randint(8, 80), 8)
        gold.append([{"start": at, "end": at + rng.randint(1, 7), "type": rng.choice("ABC")} for at in places])
    kinds = sorted({entity["type"] for row in gold for entity in row})
    pred = []
    for row in gold:
        predicted = [dict(entity) for entity in row if rng.random() < 0.9]
        for entity in predicted:
            entity["start"] += rng.choice((0, 0, 0, 1)) if entity["end"] - entity["start"] > 1 else 0
            entity["end"] += rng.choice((0, 0, 0, 1))
            entity["type"] = entity["type"] if rng.random() < 0.9 else rng.choice(kinds)
        last = max((entity["end"] for entity in row), default=0) + 2
        pred.append(predicted + ([{"start": last, "end": last + 3, "type": kinds[0]}] if rng.random() < 0.2 else []))
    pairs = [both for both in zip(gold, pred, strict=True) if _apart(*both)]
    return [entity for entity, _ in pairs], [other for _, other in pairs]


def _span(one: Any) -> dict[str, Any]:
    return {"start": one["start"], "end": one["end"], "type": one["type"]}


def _apart(gold: Sequence[Any], pred: Sequence[Any]) -> bool:
    sides = [sorted((entity["start"], entity["end"]) for entity in side) for side in (gold, pred)]
    if any(first[1] > second[0] for side in sides for first, second in pairwise(side)):
        return False
    met = [(a, b) for a in sides[0] for b in sides[1] if a[0] < b[1] and b[0] < a[1]]
    return len({a for a, _ in met}) == len(met) == len({b for _, b in met})


def judged() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Heritage judgements with runs at random, and generated ones: ties, unjudged documents, queries without hits."""
    rng = random.Random(SEED)
    qrels: dict[str, dict[str, int]] = {
        record["id"]: {document: int(grade) for document, grade in record["relevant"].items()}
        for record in heritage("retrieval")
    }
    for number in range(100):
        names = rng.sample(range(40), rng.randint(1, 25))
        qrels[f"made-{number}"] = {f"d{name}": rng.choice((0, 0, 1, 2, 3)) for name in names}
    documents = sorted({document for row in qrels.values() for document in row})
    run = {}
    for query, row in qrels.items():
        names_ = rng.sample(sorted(row), rng.randint(1, len(row))) + rng.sample(documents, 8)
        digits = rng.choice((1, 6))  # one digit: many ties
        run[query] = {name: round(rng.random() + 0.2 * row.get(name, 0), digits) for name in names_}
    return qrels, run


def labels() -> tuple[list[str], list[str]]:
    """Heritage labels with three in ten exchanged, and 300 generated ones."""
    rng = random.Random(SEED)
    gold = [record["label"] for record in heritage("classification")]
    gold += [rng.choice("ABBCCCD") for _ in range(300)]
    names = sorted(set(gold))
    return gold, [label if rng.random() < 0.7 else rng.choice(names) for label in gold]


def answers() -> list[tuple[str, str]]:
    """Predictions and references: heritage answers with words lost or exchanged, and generated texts."""
    rng = random.Random(SEED)
    out = []
    references = [str(record.get("reference") or "") for record in heritage("answering")]
    pool = sorted({word for text in references for word in text.split()}) or ["museum", "opened"]
    for text in references:
        words = [rng.choice(pool) if rng.random() < 0.2 else word for word in text.split() if rng.random() < 0.8]
        out.append((" ".join(words), text))
    odd = ["the", "museums", "opening", "1800", "é", "Москва", "l'été", "a.b", "İstanbul", "", "_", "\x01"]
    for _ in range(200):
        first, other = (
            "".join(rng.choice(odd) + rng.choice((" ", "\n", ", ", ".\n", "-")) for _ in range(rng.randint(0, 12)))
            for _ in range(2)
        )
        out.append((first, other))
    return out
