"""WebNLG's matchings by hand; the spans that the script lays are drawn beside each case."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.preprocessing import MultiLabelBinarizer

from goldassay.ext.protocols.text2kg import WebNLG, words
from goldassay.measures.triples import scorecard

MATCHINGS = ("ent_type", "partial", "strict", "exact")
PARTS = ("", "subject_", "predicate_", "object_")


def side(*triples: str) -> dict[str, Any]:
    names = ("subject", "predicate", "object")
    return {"triples": [dict(zip(names, triple.split(" | "), strict=True)) for triple in triples]}


@pytest.mark.parametrize(
    ("gold", "pred", "f1"),
    [
        # words apart at capitals and underscores, without a note in parentheses
        ("Andra_(singer) | birthPlace | Milonga_(music)", "andra (singer) | birth place | Milonga", (1,) * 4),
        # [jane austen] and [austen] share the last word: they do not overlap
        ("Jane_Austen | wrote | Emma", "Austen | wrote | Emma", (2 / 3, 2 / 3, 2 / 3, 2 / 3)),
        # [new york city]: the run [new york] ends where the city is missing, so it is a span; both ends overlap
        ("a | b | New_York_City", "a | b | New_York", (1, 2.5 / 3, 2 / 3, 2 / 3)),
        # two words are missing: the run is closed twice, [new] and [new york]: 4 spans for 3, of which [new] is empty
        # under open ends: ent_type P 3/4, R 3/3; partial P 2.5/4, R 2.5/3; strict P 2/4, R 2/3
        ("a | b | New_York_City", "a | b | New", (6 / 7, 5 / 7, 4 / 7, 4 / 7)),
        # words around the run that begins or ends gold's belong to it: [the emma jane novel] around [emma jane]
        ("a | b | Emma Jane", "a | b | the Emma Jane novel", (1, 2.5 / 3, 2 / 3, 2 / 3)),
        # subject and object in exchanged places: same words, other types; the predicate is right in any case
        ("Ann | knows | Bob", "Bob | likes | Ann", (1 / 3, 1, 1 / 3, 1)),
        # nothing in common: 3 spurious and 3 missed
        ("a | b | c", "x | y | z", (0, 0, 0, 0)),
    ],
)  # fmt: skip
def test_one_pair(gold: str, pred: str, f1: tuple[float, ...]) -> None:
    values = [WebNLG(matching)(side(gold), side(pred)).tally.value for matching in MATCHINGS]
    assert values == pytest.approx(f1)


def test_the_parts_of_a_triple() -> None:
    # [new york] is right, [city] is missing: the object overlaps (half); "likes" meets nothing, so it is spurious in
    # all three parts, and the predicate is missed
    card = scorecard([side("Ann | knows | New_York_City")], [side("Ann | likes | New_York")], protocol="webnlg")
    expected = {  # precision, recall
        "subject_strict": (1 / 2, 1 / 1),
        "predicate_strict": (0, 0),
        "object_strict": (0, 0),
        "object_partial": (0.5 / 2, 0.5 / 1),
        "object_ent_type": (1 / 2, 1 / 1),
        "ent_type": (2 / 3, 2 / 3),
    }
    for name, rates in expected.items():
        assert (card[f"{name}_precision"], card[f"{name}_recall"]) == pytest.approx(rates), name
    assert card["subject_strict_f1"] == pytest.approx(2 / 3)


def test_triples_are_paired_best_and_the_rest_is_beside_nothing() -> None:
    triples = [f"museum {n} | opened | 18{n}" for n in range(10, 19)]
    for size in (2, 9):  # every order is tried, or the best one is assigned
        assert WebNLG()(side(*triples[:size]), side(*reversed(triples[:size]))).tally.value == 1.0
    card = scorecard([side(*triples[:2]), side()], [side(triples[1]), side(*triples[:2])], protocol="webnlg")
    # one right pair; a gold triple beside nothing; two predictions beside nothing: 1 of 4 pairs
    rates = ("precision", "recall", "f1")
    names = [f"{part}{name}_{rate}" for part in PARTS for name in MATCHINGS for rate in rates]
    # full triples: the first is missed in one text and spurious in the other (0); the second is right, and spurious
    full = {"full_triple_precision": 1 / 4, "full_triple_recall": 1 / 2, "full_triple_f1": 2 / 3 / 2}
    assert card.values == {
        **dict.fromkeys(names, 1 / 4),
        **{name: pytest.approx(value) for name, value in full.items()},
    }
    assert WebNLG()(side(), side()).tally.weight == 0
    assert WebNLG()(side(triples[0]), None).tally.value == 0


def full_triple_scores(golds: list[list[str]], preds: list[list[str]]) -> list[float]:
    """The script's calculateExactTripleScore: triples as written are the classes of scikit-learn's macro averages."""
    golds = [[triple.lower() for triple in triples] for triples in golds]
    preds = [[triple.lower() for triple in triples] for triples in preds]
    binary = MultiLabelBinarizer(classes=sorted({triple for triples in (*golds, *preds) for triple in triples}))
    sides = (binary.fit_transform(golds), binary.fit_transform(preds))
    rates = (precision_score, recall_score, f1_score)
    return [float(rate(*sides, average="macro", zero_division=0)) for rate in rates]


@pytest.mark.parametrize("seed", range(5))
def test_full_triple_scores_are_those_of_the_script(seed: int) -> None:
    random = Random(seed)
    triples = [f"{subject} | {verb} | {thing}" for subject in "aBc" for verb in ("p", "Q") for thing in ("X_y", "z")]
    golds, preds = ([random.choices(triples, k=random.randrange(1, 5)) for _ in range(9)] for _ in range(2))
    preds[3] = []
    card = scorecard([side(*row) for row in golds], [side(*row) for row in preds], protocol="webnlg")
    values = [card[f"full_triple_{rate}"] for rate in ("precision", "recall", "f1")]
    assert values == pytest.approx(full_triple_scores(golds, preds))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("1914\u201318", ["1914\u201318"]),
        ("m*a*s*h", ["m*a*s*h"]),
        ("guns 'n' roses", ["guns", "'", "n", "'", "roses"]),
        ("'asilomar", ["'asilomar"]),
        ("a..b", ["a..b"]),
        ('12" mix.', ["12", "''", "mix", "."]),
    ],
)
def test_words_are_those_of_nltk_3_4_5(text: str, tokens: list[str]) -> None:
    # as its word tokenizer gives them; over 40,000 random texts both agree
    assert list(words(text, webnlg=True)) == tokens
    assert "words=as NLTK 3.4.5" in WebNLG().conventions
