"""Tag sequences held to seqeval 1.2.2, in both of its modes, on random sequences and on real files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2, IOBES, IOE2

from goldassay.measures.extraction import compute_ner_metrics, evaluate_tags

TAGS = ["O", *(f"{letter}-{kind}" for letter in "BI" for kind in ("LOC", "PER", "ORG"))]
sentences = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8), min_size=1, max_size=6
)


def report(gold: list[list[str]], pred: list[list[str]], **options: Any) -> dict[str, dict[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict[str, dict[str, float]] = classification_report(
            gold, pred, output_dict=True, zero_division=0, **options
        )
    return found


def same(ours: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]]) -> None:
    assert ours.keys() == theirs.keys()
    for kind, row in theirs.items():
        for name, value in row.items():
            assert ours[kind]["f1" if name == "f1-score" else name] == pytest.approx(value, abs=1e-9), (kind, name)


@settings(max_examples=150, deadline=None)
@given(sentences)
def test_conlleval_reading(data: list[list[tuple[str, str]]]) -> None:
    gold, pred = [[g for g, _ in s] for s in data], [[p for _, p in s] for s in data]
    if not any(tag != "O" for s in (*gold, *pred) for tag in s):
        return
    theirs = report(gold, pred)
    same(evaluate_tags(gold, pred, scheme="IOB2"), theirs)
    founding = compute_ner_metrics(pred, gold, scheme="IOB2", mode="conlleval")
    assert founding["f1"] == pytest.approx(theirs["micro avg"]["f1-score"], abs=1e-9)
    macro = compute_ner_metrics(pred, gold, average="macro", scheme="IOB2", mode="conlleval")
    assert macro["f1"] == pytest.approx(theirs["macro avg"]["f1-score"], abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(sentences)
def test_strict_reading(data: list[list[tuple[str, str]]]) -> None:
    gold, pred = [[g for g, _ in s] for s in data], [[p for _, p in s] for s in data]
    ours = evaluate_tags(gold, pred, scheme="IOB2", mode="strict")
    if len(ours) > 3:  # seqeval has no report without entities
        same(ours, report(gold, pred, mode="strict", scheme=IOB2))


@pytest.mark.parametrize(("scheme", "oracle", "letters"), [("IOBES", IOBES, "BIES"), ("IOE2", IOE2, "IE")])
def test_other_schemes_read_strictly(scheme: str, oracle: Any, letters: str) -> None:
    import random

    rng = random.Random(4)
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "AB")]
    gold = [[rng.choice(tags) for _ in range(6)] for _ in range(300)]
    pred = [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in s] for s in gold]
    same(evaluate_tags(gold, pred, scheme=scheme, mode="strict"), report(gold, pred, mode="strict", scheme=oracle))


def test_a_real_file(shared_data: Path) -> None:
    rows = [line.split("\t") for line in (shared_data / "hipe2022" / "ajmc-test-en.tsv").read_text().splitlines()[1:]]
    tags = [row[1] for row in rows if len(row) > 4 and not row[0].startswith("#")]
    gold = [tags[i : i + 40] for i in range(0, len(tags), 40)]
    pred = [[tag if (i + j) % 7 else "O" for j, tag in enumerate(s)] for i, s in enumerate(gold)]
    same(evaluate_tags(gold, pred, scheme="IOB2"), report(gold, pred))
