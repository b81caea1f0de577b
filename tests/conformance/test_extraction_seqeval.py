"""Tag sequences held to seqeval 1.2.2, in both of its modes, on random sequences and on real files."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from seqeval.metrics import classification_report
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2
from tests.conformance import cases
from tests.nightly import by_day, drawn

from goldassay.ext.compat import compute_ner_metrics
from goldassay.measures.extraction import evaluate_tags
from goldassay.text.spans import spans

TAGS = ["O", *(f"{letter}-{kind}" for letter in "BI" for kind in ("LOC", "PER", "ORG"))]
sentences = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8), min_size=1, max_size=6
)


def report(gold: list[list[str]], pred: list[list[str]], **options: Any) -> dict[str, dict[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments: dict[str, Any] = {"output_dict": True, "zero_division": 0, **options}
        result: Any = classification_report(gold, pred, **arguments)
    return dict(result)


def same(ours: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]]) -> None:
    assert ours.keys() == theirs.keys()
    for kind, row in theirs.items():
        for name, value in row.items():
            assert ours[kind]["f1" if name == "f1-score" else name] == pytest.approx(value, abs=1e-9), (kind, name)


@drawn(80)
@given(sentences)
def test_conlleval_reading(data: list[list[tuple[str, str]]]) -> None:
    gold, pred = [[g for g, _ in s] for s in data], [[p for _, p in s] for s in data]
    assume(any(tag != "O" for s in (*gold, *pred) for tag in s))
    theirs = report(gold, pred)
    same(evaluate_tags(gold, pred, scheme="IOB2"), theirs)


@drawn(60)
@given(sentences)
def test_strict_reading(data: list[list[tuple[str, str]]]) -> None:
    gold, pred = [[g for g, _ in s] for s in data], [[p for _, p in s] for s in data]
    ours = evaluate_tags(gold, pred, scheme="IOB2", mode="strict")
    if len(ours) > 3:  # seqeval has no report without entities
        theirs = report(gold, pred, mode="strict", scheme=IOB2)
        same(ours, theirs)
        for average in ("micro", "macro"):
            founding = compute_ner_metrics(pred, gold, average)
            assert founding["f1"] == pytest.approx(theirs[f"{average} avg"]["f1-score"], abs=1e-9)


SCHEMES = {
    "IOB1": (IOB1, "IB"),
    "IOB2": (IOB2, "IB"),
    "IOE1": (IOE1, "IE"),
    "IOE2": (IOE2, "IE"),
    "IOBES": (IOBES, "BIES"),
    "BILOU": (BILOU, "BILU"),
}


def random_tags(letters: str, seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Tags at random, most of them malformed, and others that agree with them in seven places of ten."""
    rng = random.Random(seed)
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "AB")]
    gold = [[rng.choice(tags) for _ in range(rng.randint(1, 8))] for _ in range(400)]
    return gold, [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in sentence] for sentence in gold]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_scheme_read_strictly(scheme: str, seed: int) -> None:
    oracle, letters = SCHEMES[scheme]
    gold, pred = random_tags(letters, seed)
    same(evaluate_tags(gold, pred, scheme=scheme, mode="strict"), report(gold, pred, mode="strict", scheme=oracle))


@pytest.mark.parametrize(
    "scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "IOBES"]
)  # seqeval's lenient reading does not know L and U
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_scheme_read_as_conlleval_does(scheme: str, seed: int) -> None:
    gold, pred = random_tags(SCHEMES[scheme][1], seed)
    same(evaluate_tags(gold, pred, scheme=scheme), report(gold, pred))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mode", ["strict", "conlleval"])
def test_at_once_is_the_same_as_sequence_by_sequence(scheme: str, mode: str) -> None:
    gold, pred = random_tags(SCHEMES[scheme][1], 4)
    sides = [[{*spans(s, scheme, mode)} for s in side] for side in (gold, pred)]
    micro = evaluate_tags(gold, pred, scheme=scheme, mode=mode)["micro avg"]
    tp = sum(len(g & p) for g, p in zip(*sides, strict=True))
    annotated = sum(map(len, sides[0]))
    predicted = sum(map(len, sides[1]))
    f1 = 2 * tp / (predicted + annotated)
    rates = {"precision": tp / predicted, "recall": tp / annotated, "f1": f1, "support": annotated}
    assert micro == pytest.approx(rates)


def test_nothing_to_find_is_zero_as_in_seqeval() -> None:
    zero = {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    assert (
        evaluate_tags([["O"]], [["O"]])
        == evaluate_tags([], [])
        == dict.fromkeys(("micro avg", "macro avg", "weighted avg"), zero)
    )
    only_predicted = evaluate_tags([["O"]], [["B-A"]])
    assert only_predicted["A"] == only_predicted["weighted avg"] == zero


def damaged(tags: list[list[str]], seed: str) -> list[list[str]]:
    """One tag in ten is another one of the file."""
    rng, seen = random.Random(seed), [tag for sentence in tags for tag in sentence]
    return [[tag if rng.random() < 0.9 else rng.choice(seen) for tag in sentence] for sentence in tags]


def texts(language: str, real_data: Path) -> list[list[str]]:
    """The tags of the heritage gold in a language, so that a checkout alone has some, and of the real files in it."""
    records = [record for record in cases.heritage("extraction") if record["language"] == language]
    sentences = [cases.iob2(record["text"], record["entities"]) for record in records]
    assert sum(tag != "O" for sentence in sentences for tag in sentence) > 100
    for file in sorted((real_data / "hipe2022").glob(f"*-*-{language}.tsv")):
        lines = file.read_text(encoding="utf-8").splitlines()[1:]
        rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
        tags = [row[1] if row[1] != "_" else "O" for row in rows if len(row) > 4]
        assert len(tags) > 1000
        sentences += [tags[i : i + 40] for i in range(0, len(tags), 40)]
    return sentences


@pytest.mark.parametrize("language", by_day(("nl", "en", "de", "fr"), "nl"))
@pytest.mark.parametrize("mode", ["conlleval", "strict"])
def test_real_texts(real_data: Path, language: str, mode: str) -> None:
    gold = texts(language, real_data)
    options = {"mode": "strict", "scheme": IOB2} if mode == "strict" else {}
    pred = damaged(gold, language)
    same(evaluate_tags(gold, pred, scheme="IOB2", mode=mode), report(gold, pred, **options))
