"""The protocols of HotpotQA, MuSiQue, TriviaQA, open NQ, DROP, Quoref and KILT on cases computed by hand.

The same code was compared with the official scripts on 4,000 random questions; these are the cases that differ most.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.exceptions import GoldassayError
from goldassay.measures import answering
from goldassay.measures.answering import F1, Drop, ExactMatch, Kilt, SupportingFacts
from goldassay.measures.answering.protocols import drop, rouge_l
from goldassay.metric import failed_with


def value(measure: Any, golds: list[Any], answer: Any, **fields: Any) -> float:
    return float(measure({"answers": golds, **fields.pop("gold", {})}, {"answer": answer, **fields}).tally.value)


def test_yes_and_no_share_words_with_nothing_else_in_hotpotqa() -> None:
    assert value(F1(), ["yes"], "yes it did") == 0.5  # P 1/3, R 1
    assert value(F1("hotpotqa"), ["yes"], "yes it did") == 0.0
    assert value(F1("hotpotqa"), ["yes"], "Yes.") == 1.0
    assert value(F1("hotpotqa"), ["no way out"], "no") == 0.0
    assert value(F1("hotpotqa"), ["noon"], "no") == 0.0


@pytest.mark.parametrize(
    ("normalisation", "gold", "answer", "exact"),
    [
        ("squad", "Bell-Bottoms", "bell bottoms", 0.0),
        ("triviaqa", "Bell-Bottoms", "bell bottoms", 1.0),
        ("triviaqa", "under_score ‘x’", "under score x", 1.0),
        ("nq_open", "Cafe\u0301", "Café", 1.0),
        ("squad", "Cafe\u0301", "Café", 0.0),
    ],
)
def test_normalisations(normalisation: str, gold: str, answer: str, exact: float) -> None:
    assert value(ExactMatch(normalisation), [gold], answer) == exact


def test_golds_without_a_word_count_as_each_script_says() -> None:
    # SQuAD 2.0 leaves "the" out beside another answer; the older scripts keep it, and give no words an F1 of 0
    assert (value(ExactMatch(), ["the", "red"], ""), value(F1(), ["the"], "")) == (0.0, 1.0)
    assert (value(ExactMatch("triviaqa"), ["the", "red"], ""), value(F1("triviaqa"), ["the"], "")) == (1.0, 0.0)
    assert "empty golds=kept, F1 0" in F1("triviaqa").conventions


def test_supporting_facts_and_the_joint_value() -> None:
    facts = {"gold": {"supporting_facts": [["A", 0], ["B", 1]]}, "supporting_facts": [("A", 0), ("A", 1), ("B", 1)]}
    # P 2/3, R 1; the answer has P 1, R 1/2: joint P 2/3, R 1/2, F1 = 2 (1/3) / (7/6)
    assert value(SupportingFacts(), ["in Delft"], "Delft", **facts) == pytest.approx(0.8)
    assert value(SupportingFacts("exact"), ["in Delft"], "Delft", **facts) == 0.0
    assert value(SupportingFacts(of="joint"), ["in Delft"], "Delft", **facts) == pytest.approx((2 / 3) / (7 / 6))
    assert SupportingFacts()({"answers": ["x"], "supporting_facts": ["A"]}, failed_with("broke")).tally.value == 0.0


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "f1"),
    [
        ("4 yards", "5 yards", 0.0, 0.0),  # the number differs
        ("$4,000", "4000", 1.0, 1.0),
        ("4.0", "4", 1.0, 1.0),
        (["Ann", "the Bob"], ["Bob", "Ann"], 1.0, 1.0),
        (["Ann"], ["Ann", "Bob"], 0.0, 0.5),
        (["Ann Lee", "Bob"], ["Ann", "Bob"], 0.0, 0.83),  # (2/3 + 1) / 2, rounded to two places
        ("well-known man", "well known man", 1.0, 1.0),
    ],
)
def test_drop_and_quoref(predicted: Any, gold: Any, exact: float, f1: float) -> None:
    assert drop(predicted, gold) == (exact, f1)
    assert value(Drop("exact"), [gold], predicted) == exact
    assert value(Drop(), ["other", gold], predicted) == f1


def test_kilt_counts_an_answer_whose_documents_stand_on_top() -> None:
    documents = {"gold": {"documents": ["a", "b"]}, "results": [{"doc_id": "b"}, {"doc_id": "a"}, {"doc_id": "c"}]}
    assert [value(Kilt(of), ["in 1800"], "1800", **documents) for of in ("r_precision", "exact", "f1")] == [
        1.0,
        0.0,
        pytest.approx(2 / 3),
    ]
    documents["results"] = ["b", "c", "a"]
    assert [value(Kilt(of), ["1800"], "1800", **documents) for of in ("r_precision", "exact", "f1")] == [0.5, 0, 0]


@pytest.mark.parametrize(
    ("predicted", "gold", "precision", "recall"),
    [
        ("the cat sat", "The cat", 1 / 3, 1 / 2),  # cat: words are compared as they are written
        ("a a a b", "a c", 1 / 2, 1 / 2),  # distinct words
        ("x y. z w", "z w x y", 1.0, 1.0),  # the union over the sentences
        ("a b", "b a", 1 / 2, 1 / 2),  # one word of the two is a common subsequence
        ("a.b a", "b a. a", 1.0, 1.0),
        ("b a. c", "a b", 1 / 3, 1 / 2),  # the prediction's last word is dropped where two are as long: b is left
        ("...", "a", 0.0, 0.0),
    ],
)
def test_kilts_rouge_l(predicted: str, gold: str, precision: float, recall: float) -> None:
    expected = 2 * precision * recall / (precision + recall + 1e-8)
    assert rouge_l(predicted, gold) == pytest.approx(expected, rel=1e-12)
    fields = {"gold": {"documents": ["a"]}, "results": ["b"]}
    assert value(Kilt("rouge_l", provenance=False), ["zz", " ", gold], predicted, **fields) == rouge_l(predicted, gold)
    assert value(Kilt("rouge_l"), [gold], predicted, **fields) == 0.0


def slow_rouge_l(predicted: str, gold: str) -> float:
    """By the recursion of the definition, without a table."""

    def longest(x: tuple[str, ...], y: tuple[str, ...]) -> tuple[str, ...]:
        if not x or not y:
            return ()
        if x[-1] == y[-1]:
            return (*longest(x[:-1], y[:-1]), x[-1])
        without_gold, without_mine = longest(x[:-1], y), longest(x, y[:-1])
        return without_gold if len(without_gold) > len(without_mine) else without_mine

    mine, theirs = ([tuple(part.split()) for part in text.split(".") if part.split()] for text in (predicted, gold))
    union = {word for x in theirs for y in mine for word in longest(x, y)}
    precision = len(union) / len({word for part in mine for word in part})
    recall = len(union) / len({word for part in theirs for word in part})
    return 2 * precision * recall / (precision + recall + 1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_kilts_rouge_l_beside_its_recursion(seed: int) -> None:
    rng = random.Random(seed)
    texts = [". ".join(" ".join(rng.choices("abcd", k=rng.randint(1, 5))) for _ in range(2)) for _ in range(2)]
    assert rouge_l(*texts) == pytest.approx(slow_rouge_l(*texts), rel=1e-12)


def test_a_protocol_by_name(tmp_path: Path) -> None:
    gold, pred = tmp_path / "gold.jsonl", tmp_path / "pred.jsonl"
    record = {"id": "1", "question": "Where?", "answers": ["in Delft"], "supporting_facts": [["A", 0]]}
    gold.write_text(json.dumps(record) + "\n", encoding="utf-8")
    pred.write_text('{"id": "1", "answer": "Delft", "supporting_facts": [["A", 0]]}\n', encoding="utf-8")
    words = ["score", "answering", "--gold", str(gold), "--pred", str(pred), "--protocol", "hotpotqa", "--json"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["protocol"] == "hotpotqa"
    want = {"em": 0.0, "f1": 2 / 3, "sp_em": 1.0, "sp_f1": 1.0, "joint_em": 0.0, "joint_f1": 2 / 3}
    assert found["values"] == pytest.approx(want)
    with pytest.raises(GoldassayError, match="protocol is hotpotqa, musique"):
        answering.scorecard([record], [{"answer": "x"}], measures="squad")
