"""A number that somebody claims: the convention that makes it is found, the nearest first, and said in a sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import cases
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.ext.protocols import claimed
from goldassay.ext.protocols.claimed import Claim, ClaimedValue
from goldassay.gold import pairs
from goldassay.measures import answering, classification, extraction, retrieval


def explain(card: Any, gold: Sequence[Any], pred: Sequence[Any], claim: str) -> ClaimedValue:
    """The explanation of a claim; bare spans become mappings."""

    def plain(record: Any) -> Any:
        record = {"entities": record} if isinstance(record, list) else record
        spans = record.get("entities") or []
        named = [
            dict(zip(("start", "end", "type"), entity, strict=True)) if isinstance(entity, tuple) else entity
            for entity in spans
        ]
        return {**record, "entities": named} if spans else record

    return claimed.explain(card, [plain(entity) for entity in gold], [plain(entity) for entity in pred], claim)


TAGS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O", "O"]


def conll(folder: Path) -> tuple[Path, Path, list[list[str]], list[list[str]]]:
    """60 sentences; in one of four tokens the system says something else, well-formed or not."""
    rng = random.Random(4)
    gold = [[rng.choice(["B-LOC", "B-PER", "O"]) for _ in range(8)] for _ in range(60)]
    pred = [[tag if rng.random() < 0.75 else rng.choice(TAGS) for tag in row] for row in gold]
    for name, side in (("gold", gold), ("pred", pred)):
        rows = ["\n".join(f"w{at} {tag}" for at, tag in enumerate(row)) for row in side]
        (folder / f"{name}.conll").write_text("\n\n".join(rows) + "\n", encoding="utf-8")
    return folder / "gold.conll", folder / "pred.conll", gold, pred


@pytest.mark.parametrize(
    ("options", "name", "says"),
    [
        ({"average": "macro"}, "strict_macro_f1_seen", "average=macro by type"),
        ({"average": "weighted"}, "strict_weighted_f1", "weighted by gold support"),
        ({"mode": "strict"}, "strict_f1", "tags read as their scheme is written"),
    ],
)
def test_what_seqeval_printed_is_found(tmp_path: Path, options: dict[str, Any], name: str, says: str) -> None:
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    *files, gold, pred = conll(tmp_path)
    claimed = f1_score(gold, pred, **options, **({"scheme": IOB2} if "mode" in options else {}))
    words = ["score", "extraction", "--gold", str(files[0]), "--pred", str(files[1]), "--format", "iob2", "--json"]
    done = CliRunner().invoke(app, [*words, "--claimed", f"strict_f1={claimed:.6f}"], catch_exceptions=False)
    assert done.exit_code == 0
    (explanation,) = json.loads(done.stdout)["claimed"]
    assert explanation["value"] != pytest.approx(claimed, abs=1e-6)
    assert any(way["name"] == name and says in way["sentence"] for way in explanation["ways"][:2])


def test_the_same_number_needs_no_explanation(tmp_path: Path) -> None:
    gold, pred, *_ = conll(tmp_path)
    both = pairs("extraction", gold, pred, format="iob2")
    card = extraction.scorecard(both.gold, both.pred)
    value = card.values["strict_f1"]
    explanation = explain(card, both.gold, both.pred, f"strict_f1={value:.4f}")
    assert explanation.lines()[0].endswith("the same number.")
    far = explain(card, both.gold, both.pred, "strict_f1=.012345678")
    assert not far.alternatives
    assert far.lines()[0].endswith("the data differ, or the other tool computes something else.")


def test_left_out_types_flattened_grades_skipped_queries_and_cases_are_found() -> None:
    gold: list[Any] = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 7, "B"), (8, 9, "C")]}]
    pred: list[Any] = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 8, "B"), (8, 9, "C"), (10, 12, "C")]}]
    # without B: 3 of 3 found, 4 predicted: F1 = 6/7
    explanation = explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.857143")
    assert explanation.alternatives[0].changes == ("without the type B",)
    ranked = [{"relevant": {"a": 3, "b": 1}}, {"relevant": {"a": 1}}]
    results: list[Any] = [{"results": ["b", "a"]}, {"results": []}]
    card = retrieval.scorecard(ranked, results, measures=["nDCG@10"])
    # (1 + 3/log2 3) / (3 + 1/log2 3) = 0.796708 for the first query, the second is left out
    assert explain(card, ranked, results, "nDCG@10=.796708").alternatives[0].changes[0].startswith("missing=skip")
    assert explain(card, ranked, results, "nDCG@10=50").alternatives[0].changes == ("grades flattened to 0 and 1",)
    labels, answers = [{"label": "A"}, {"label": "B"}], [{"label": "a"}, {"label": "B"}]
    card = classification.scorecard(labels, answers, labels=["A", "B"])
    assert explain(card, labels, answers, "accuracy=1.00").alternatives[0].changes == ("labels compared without case",)
    # F1 of A is 0, of B 1, of a 0: one third over what is seen, one half over the list
    assert any("labels=seen" in str(c) for c in explain(card, labels, answers, "macro_f1=.333333").alternatives[:2])


def test_a_claim_is_read_with_its_rounding() -> None:
    assert Claim.read("f1=.7435").fits(0.74349)
    assert Claim.read("f1=.7435").fits(0.74358)  # cut off
    assert not Claim.read("f1=.7435").fits(0.7436)
    assert Claim.read("f1=74.4%").fits(0.7436)
    for wrong in ("f1", "f1=high"):
        with pytest.raises(GoldassayError, match="a claim is NAME=VALUE"):
            Claim.read(wrong)


def test_an_unknown_name_is_an_error() -> None:
    card = extraction.scorecard([[(0, 3, "A")]], [[(0, 3, "A")]])
    with pytest.raises(GoldassayError, match="no value 'strict_f' to explain; there are strict_"):
        explain(card, [[(0, 3, "A")]], [[(0, 3, "A")]], "strict_f=1")


def heritage() -> tuple[list[Any], list[Any]]:
    """A hundred documents, and a system that loses one entity in seven and calls one in ten a place."""
    rng = random.Random(1)
    gold = cases.heritage("extraction")[:100]
    pred = []
    for record in gold:
        entities = [dict(entity) for entity in record["entities"] if rng.random() < 0.85]
        pred.append(
            {"entities": [{**entity, "type": entity["type"] if rng.random() < 0.9 else "TOP"} for entity in entities]}
        )
    return gold, pred


def test_what_agrees_by_chance_is_not_named_and_what_speaks_for_itself_is() -> None:
    gold, pred = heritage()
    card = extraction.scorecard(gold, pred)
    macro, strict = card.values["strict_macro_f1"], card.values["strict_f1"]
    assert macro is not None
    assert strict is not None
    sharp = explain(card, gold, pred, f"strict_f1={macro:.5f}")
    assert sharp.alternatives[0].name.startswith("strict_macro_f1")
    assert any("average=macro by type" in line for line in sharp.lines())
    vague = explain(card, gold, pred, f"strict_f1={strict - 0.02:.2f}")
    assert len(vague.alternatives) > 10
    assert vague.lines()[1].startswith("No single one is likely: claim the number with more digits")
    assert len(vague.lines()) == 2


def test_a_way_that_does_more_for_the_same_value_is_left_out() -> None:
    gold: list[Any] = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 7, "B"), (8, 9, "C")]}]
    pred: list[Any] = [{"entities": [(0, 3, "A"), (4, 5, "A"), (6, 8, "B"), (8, 9, "C"), (10, 12, "C")]}]
    explanation = explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.857143")
    assert [way.changes for way in explanation.alternatives if "without the type B" in way.changes] == [
        ("without the type B",)
    ]
    assert explain(extraction.scorecard(gold, pred), gold, pred, "strict_f1=.6").lines() == [
        "strict_f1 is 0.666667 here; .6 is claimed: the same number."
    ]


def test_only_the_same_quantity_explains_a_number_and_otherwise_nothing_does() -> None:
    """An F1 of TriviaQA was "explained" by ROUGE, and any number of one digit by something."""
    gold: list[Any] = [{"answers": ["Sunset Boulevard", "Sunset Blvd"]}, {"answers": ["1885"]}]
    pred: list[Any] = [{"answer": "the Sunset-Boulevard"}, {"answer": "in 1884"}]
    card = answering.scorecard(gold, pred)
    for name in card.values:
        if card.values[name] is not None:
            tried = explain(card, gold, pred, f"{name}=.123456").tried
            assert not any("rouge" in entity.name and "rouge" not in name for entity in tried), name
            assert not any("exact" in entity.name and "exact" not in name for entity in tried), name
    rouge = card.values["rouge1"]
    assert explain(card, gold, pred, f"f1={rouge:.6f}").lines()[0].endswith("computes something else.")
    spans: list[Any] = [{"entities": [(0, 3, "A"), (4, 5, "A")]}]
    explanation: list[Any] = [{"entities": [(0, 3, "A")]}]
    precision = explain(
        extraction.scorecard(spans, explanation), spans, explanation, "strict_f1=1.0000"
    )  # P is 1, F1 is 2/3
    assert not precision.alternatives
