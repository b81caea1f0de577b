"""What a gold set holds, counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goldassay.gold import load
from goldassay.gold.sets import counted, stats


def test_the_counts_of_heritage_are_those_of_its_card(root: Path) -> None:
    gold = load(root / "gold" / "heritage")
    counted = stats(gold)
    for task, declared in gold.card["tasks"].items():
        counts = counted["tasks"][task]["counts"]
        for name in ("records", "entities", "links", "nil", "judgements", "triples", "checked"):
            if name in declared:
                assert counts[name] == declared[name], (task, name)
    assert counted["tasks"]["extraction"]["by"]["language"]["nl"][0] == 57
    json.dumps(counted)


def test_facets() -> None:
    def row(key: str, label: str, split: str | None, tier: object) -> dict[str, object]:
        return {"id": key, "text": "x", "label": label, "split": split, "strata": {"tier": tier}}

    rows = [row("a", "M", "train", 1), row("b", "A", "dev", 1.0), row("c", "M", None, None)]
    assert stats(load(rows, task="classification"))["tasks"]["classification"]["by"] == {
        "split": {"train": (1, 0), "dev": (1, 0), "–": (1, 0)},
        "tier": {"1": (2, 0), "–": (1, 0)},
        "label": {"M": (2, 0), "A": (1, 0)},
    }


def test_each_task_is_counted() -> None:
    links = [{"start": 0, "end": 1, "ids": {"wikidata": ["Q1", "Q2"], "viaf": []}}, {"start": 2, "end": 3, "ids": {}}]
    linking: list[dict[str, Any]] = [{"id": "d", "text": "x y", "links": links}]
    assert counted("linking", linking) == {
        "records": 1,
        "links": 2,
        "nil": 1,
        "identifiers": {"wikidata": 2},
        "checked": 0,
    }
    queries: list[dict[str, Any]] = [
        {"id": "q", "query": "x", "relevant": {"a": 3.0, "b": 0}},
        {"id": "r", "query": "y", "relevant": ["a"]},
    ]
    assert counted("retrieval", queries)["grades"] == {"0": 1, "1": 1, "3": 1}
    questions: list[dict[str, Any]] = [
        {"id": "q", "question": "x", "answers": []},
        {"id": "r", "question": "y", "answers": ["1"]},
    ]
    assert counted("answering", questions) == {"records": 2, "questions": 2, "unanswerable": 1}
    statements = [{"id": "t", "triples": [{"subject": "s", "predicate": "P31", "object": "o", "verdict": "correct"}]}]
    assert counted("triples", statements) == {
        "records": 1,
        "triples": 1,
        "predicates": {"P31": 1},
        "verdicts": {"correct": 1},
    }
