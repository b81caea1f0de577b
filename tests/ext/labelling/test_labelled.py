"""Verdicts from labels where two systems disagree: the difference, what proves it, and what is not known."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.nightly import by_day
from tests.simulations.labels import QUICK, TABLES, decided, drawn, labelled, mended

from goldassay._support.exceptions import GoldassayError
from goldassay.ext.labelling.drafts import Pool, draft
from goldassay.ext.labelling.labelled import verdict
from goldassay.ext.labelling.proof import Proof
from goldassay.measures import classification
from goldassay.results.comparison import Comparison, adjusted_for_pairs
from goldassay.statistics import Interval
from goldassay.statistics.labels import LabelTest

Records = list[dict[str, Any]]
LABELS = "MALGO"


def of_labels(comparison: Comparison) -> LabelTest:
    """What the labels tell."""
    assert comparison.labels is not None
    return comparison.labels


def ends(comparison: Comparison) -> Interval:
    """The interval of the difference, which is known."""
    interval = comparison.interval
    assert interval is not None
    return interval


def world(n: int, right: float, fixed: float, broken: float, seed: int = 1) -> tuple[Records, Records, Records]:
    """Gold, and the answers of A and of B, which breaks some right answers of A and fixes some wrong ones."""
    rng = random.Random(seed)
    gold, first, second = [], [], []
    for number in range(n):
        truth = rng.choice(LABELS)
        wrong = rng.choice(LABELS.replace(truth, ""))
        a = truth if rng.random() < right else wrong
        b = (wrong if rng.random() < broken else a) if a == truth else (truth if rng.random() < fixed else a)
        gold.append({"id": str(number), "text": f"letter {number}", "label": truth})
        first.append({"id": str(number), "label": a})
        second.append({"id": str(number), "label": b})
    return gold, first, second


def drafted(gold: Records, answers: dict[str, Records], n: int, **options: Any) -> Records:
    """A draft, labelled with the truth."""
    truth = {record["id"]: record["label"] for record in gold}
    inputs = [{name: record[name] for name in ("id", "text")} for record in gold]
    records = draft(Pool.of("classification", inputs, answers), n=n, **options).records
    return [{**record, "label": truth[record["id"]]} for record in records]


def accuracy(gold: Records, answers: Records) -> float:
    return float(np.mean([a["label"] == b["label"] for a, b in zip(gold, answers, strict=True)]))


def test_the_difference_is_that_of_the_population_and_not_of_the_disagreements() -> None:
    gold, first, second = world(600, 0.7, 0.4, 0.02)
    truth = accuracy(gold, second) - accuracy(gold, first)
    every = verdict("classification", drafted(gold, {"a": first, "b": second}, 600), ["a", "b"])
    assert every.difference == pytest.approx(truth, abs=1e-12)
    assert (of_labels(every).left, every.n) == (0, of_labels(every).disagreements)
    assert (every.proven, every.verdict) == (True, "better")
    some = verdict("classification", drafted(gold, {"a": first, "b": second}, 40), ["a", "b"])
    assert ends(some).low < truth < ends(some).high
    assert of_labels(some).left == every.n - 40
    assert "b is better than a" in every.sentence


def test_a_prefix_is_a_smaller_sample_and_what_has_no_label_adds_nothing() -> None:
    gold, first, second = world(600, 0.7, 0.25, 0.03)
    records = drafted(gold, {"a": first, "b": second}, 60)
    unlabelled = [{name: value for name, value in record.items() if name != "label"} for record in records[25:]]
    half = verdict("classification", [*records[:25], *unlabelled], ["a", "b"])
    assert half == verdict("classification", records[:25], ["a", "b"])
    assert half.n == 25
    none = verdict("classification", unlabelled, ["a", "b"])
    assert (none.n, none.interval, none.p, none.proven) == (0, None, 1.0, False)
    assert "not known yet, with 0 labels" in none.sentence


def test_systems_exchanged_are_the_same_verdict_with_the_other_sign() -> None:
    gold, first, second = world(500, 0.7, 0.25, 0.03)
    records = drafted(gold, {"a": first, "b": second}, 60)
    forward = verdict("classification", records, ["a", "b"])
    back = verdict("classification", records, ["b", "a"])
    assert forward.difference == pytest.approx(-(back.difference or 0))
    assert (forward.p, of_labels(forward).test_p) == (back.p, of_labels(back).test_p)
    assert {forward.verdict, back.verdict} in ({"better", "worse"}, {"open"})


def test_labels_that_prove_nothing_say_what_more_would_bring() -> None:
    gold, first, second = world(600, 0.7, 0.09, 0.02)
    result = verdict("classification", drafted(gold, {"a": first, "b": second}, 12), ["a", "b"])
    assert not result.proven
    assert of_labels(result).left > 0
    assert of_labels(result).limit is not None
    assert "is not proven" in result.sentence
    assert len(result.sentence.split()) <= 20
    assert any("remains possible" in text for text in result.details)
    assert result.label_state()["better"] is None


def test_an_unproven_difference_has_one_interval_and_one_p_in_its_sentence() -> None:
    interval = Interval(0.14, 0.077, 0.203)
    labels = LabelTest(interval, 0.077, 0.0004, "sign", 12, 12, 30, 1, (20, 0.05))
    comparison = Comparison(("a", "b"), "accuracy", labels.paired(), labels=labels)
    sentence = comparison.sentence
    assert sentence == "Whether b differs from a is not proven: +0.140 [+0.000, +0.203] accuracy, 12 labels (p 0.077)."
    details = comparison.details
    assert details[0].endswith("it is <0.001 if 12 labels were fixed beforehand")
    assert details[1] == "about 1 more label would prove it if they go on as these do"


def test_corpus_values_need_labels_on_agreements_too() -> None:
    gold, first, second = world(400, 0.6, 0.3, 0.05)
    answers = {"a": first, "b": second}
    alone = verdict("classification", drafted(gold, answers, 60), ["a", "b"], classification.LabelF1())
    assert alone.interval is None
    records = drafted(gold, answers, 80, measure="macro_f1")
    both = verdict("classification", records, ["a", "b"], "macro_f1")
    cards = [classification.scorecard(gold, side)["macro_f1"] for side in (first, second)]
    assert None not in cards
    truth = float(cards[1] or 0) - float(cards[0] or 0)
    assert ends(both).low < truth < ends(both).high
    assert of_labels(both).test == "swap"
    assert of_labels(both).disagreements < both.n


def test_three_systems_are_compared_in_pairs() -> None:
    gold, first, second = world(600, 0.6, 0.3, 0.02)
    rng = random.Random(5)
    third = [{**record, "label": rng.choice(LABELS)} if rng.random() < 0.2 else record for record in second]
    records = drafted(gold, {"a": first, "b": second, "c": third}, 400)
    for pair, sides in ((["a", "b"], (first, second)), (["b", "c"], (second, third)), (["a", "c"], (first, third))):
        result = verdict("classification", records, pair)
        truth = accuracy(gold, sides[1]) - accuracy(gold, sides[0])
        assert result.difference == pytest.approx(truth, abs=0.02), pair
        assert ends(result).low < truth


def judged(records: Records, right: dict[str, float], noise: float) -> Records:
    rng = random.Random(2)
    verdicts = {name: value + rng.gauss(0, noise) for name, value in right.items()}
    mean = sum(verdicts.values()) / len(verdicts)
    more = {record["id"]: {"verdict": verdicts[record["id"]], "verdict_mean": mean} for record in records}
    return [{**record, "sampling": {**record["sampling"], **more[record["id"]]}} for record in records]


def test_a_good_judge_narrows_the_interval_and_a_bad_one_changes_nothing_much() -> None:
    gold, first, second = world(600, 0.6, 0.35, 0.1)
    records = drafted(gold, {"a": first, "b": second}, 40)
    sides = zip(gold, first, second, strict=True)
    gains = {g["id"]: float((b == g["label"]) - (a == g["label"])) for g, a, b in answers_of(sides) if a != b}
    plain = verdict("classification", records, ["a", "b"])
    good = verdict("classification", judged(records, gains, 0.2), ["a", "b"])
    bad = verdict("classification", judged(records, dict.fromkeys(gains, 0.0), 1.0), ["a", "b"])
    assert (of_labels(good).effective or 0) > 1.5 * good.n
    assert 0.8 * bad.n < (of_labels(bad).effective or 0) < 1.5 * bad.n
    assert bad.difference == pytest.approx(plain.difference, abs=0.03)
    assert (bad.p, good.p) == (plain.p, plain.p)


def answers_of(sides: Any) -> list[Any]:
    return [(gold, a["label"], b["label"]) for gold, a, b in sides]


def test_records_of_one_document_widen_the_interval() -> None:
    gold, first, second = world(600, 0.6, 0.35, 0.1)
    records = drafted(gold, {"a": first, "b": second}, 60)
    ordered = sorted(records, key=lambda r: r["suggestions"]["b"]["label"] == r["label"])
    documents = {record["id"]: f"d{place // 6}" for place, record in enumerate(ordered)}
    grouped = [{**record, "document": documents[record["id"]]} for record in records]
    alone = verdict("classification", records, ["a", "b"])
    together = verdict("classification", grouped, ["a", "b"])
    assert together.difference == alone.difference
    assert ends(together).high - ends(together).low > ends(alone).high - ends(alone).low


def test_labels_of_one_document_are_one_piece_of_evidence() -> None:
    gold, first, second = world(600, 0.6, 0.35, 0.0)
    records = drafted(gold, {"a": first, "b": second}, 24)
    grouped = [{**record, "document": f"d{place // 8}"} for place, record in enumerate(records)]
    assert of_labels(verdict("classification", records, ["a", "b"])).test_p < 0.001
    assert (
        of_labels(verdict("classification", grouped, ["a", "b"])).test_p > 0.2
    )  # three documents: 2 of 2 ** 3 signs are as far


def test_labels_of_few_documents_are_never_proven_by_their_number() -> None:
    """All 60 are wins, but the inputs of a document go wrong together: three documents are three fair coins."""
    gold, first, second = world(600, 0.6, 0.35, 0.0)
    records = drafted(gold, {"a": first, "b": second}, 60)
    grouped = [{**record, "document": f"d{place % 3}"} for place, record in enumerate(records)]
    assert verdict("classification", records, ["a", "b"]).proven
    assert not verdict("classification", grouped, ["a", "b"]).proven
    assert verdict("classification", grouped, ["a", "b"]).p > 0.2
    many = [{**record, "document": f"d{place % 30}"} for place, record in enumerate(records)]
    assert verdict("classification", many, ["a", "b"]).proven


def test_the_verdicts_on_several_pairs_are_corrected_for_their_number() -> None:
    gold, first, second = world(600, 0.7, 0.3, 0.06, seed=3)
    third = world(600, 0.7, 0.3, 0.06, seed=4)[2]
    records = drafted(gold, {"a": first, "b": second, "c": third}, 150)
    alone = [verdict("classification", records, pair) for pair in (["a", "b"], ["a", "c"], ["b", "c"])]
    together = adjusted_for_pairs(alone)
    smallest = [min(of_labels(each).p for each in verdicts) for verdicts in (alone, together)]
    assert smallest[1] == pytest.approx(min(1.0, 3 * smallest[0]))
    assert all(of_labels(after).p >= of_labels(before).p for before, after in zip(alone, together, strict=True))
    for each in together:
        assert (ends(each).low <= 0 <= ends(each).high) == (not each.proven)
        assert each.proven == (of_labels(each).p <= 0.05)
    assert adjusted_for_pairs(alone[:1]) == alone[:1]


def test_labels_needed_by_several_pairs_are_those_of_the_corrected_test() -> None:
    gold, first, second = world(900, 0.7, 0.3, 0.02)
    few = drafted(gold, {"a": first, "b": second}, 12)
    design = {"systems": ["a", "b", "c"], "stratum": "a=c|b"}
    three = [
        {
            **each,
            "sampling": {**each["sampling"], **design},
            "suggestions": {**each["suggestions"], "c": each["suggestions"]["a"]},
        }
        for each in few
    ]
    two_needed = of_labels(verdict("classification", few, ["a", "b"])).needed
    three_needed = of_labels(verdict("classification", three, ["a", "b"])).needed
    assert two_needed is not None
    assert three_needed is not None
    assert three_needed > two_needed


def test_the_direction_of_the_measure_counts() -> None:
    rng = random.Random(4)
    inputs = [{"id": str(number), "text": "x"} for number in range(300)]
    truth = {record["id"]: rng.randrange(5) for record in inputs}
    close = [{"id": name, "score": float(value)} for name, value in truth.items()]
    far = [{**record, "score": truth[str(record["id"])] + 1.0} if rng.random() < 0.3 else record for record in close]
    records = draft(Pool.of("classification", inputs, {"close": close, "far": far}), n=60, measure="mae").records
    labelled = [{**record, "score": float(truth[record["id"]])} for record in records]
    result = verdict("classification", labelled, ["close", "far"], "mae")
    assert result.difference is not None
    assert result.difference > 0
    assert (result.verdict, result.lower_is_better) == ("worse", True)
    assert "far is worse than close" in result.sentence


def test_one_p_decides_the_word_the_interval_the_state_and_the_audit() -> None:
    """All that was drafted is labelled, or all disagreements: the p of a fixed number decides nothing."""
    between = 0
    for seed in range(30):
        gold, first, second = world(120, 0.7, 0.2, 0.05, seed)
        records = drafted(gold, {"a": first, "b": second}, 12 if seed % 2 else 60)
        result = verdict("classification", records, ["a", "b"])
        labels = of_labels(result)
        between += labels.test_p <= 0.05 < labels.p
        shown = labels.p <= 0.05
        interval = ends(result)
        state = result.label_state()
        audit = Proof(Path("draft.jsonl"), 120, result).audit("a", "b")
        assert result.p == labels.p
        assert (not interval.low <= 0 <= interval.high) == shown == result.proven == (result.change != "")
        assert ("is not proven" not in result.sentence) == shown == state["proven"] == (state["better"] is not None)
        assert (audit.verdict in ("better", "worse")) == shown
        assert audit.better == (state["better"] == "b")
        assert audit.interval == (interval.low, interval.high) == (state["low"], state["high"])
    assert between >= 1


def test_what_cannot_be_judged_is_one_line() -> None:
    gold, first, second = world(100, 0.7, 0.25, 0.05)
    records = drafted(gold, {"a": first, "b": second}, 10)
    with pytest.raises(GoldassayError, match="on two systems, not on a"):
        verdict("classification", records, ["a"])
    with pytest.raises(GoldassayError, match="no system 'c' in this draft; there are a, b"):
        verdict("classification", records, ["a", "c"])
    with pytest.raises(GoldassayError, match="no sampling"):
        verdict("classification", gold, ["a", "b"])


def test_counts_are_proven_by_the_test_and_the_interval_follows() -> None:
    """Simulated: with 40 labels a gain of .027 in F1 is proven .96 of the time; by the interval alone .70."""
    stream = mended(0.16, 0.01714, 0.05)
    assert drawn(stream, 1000, 40, 60, seed=3).proven >= 0.85
    rng = np.random.default_rng(0)
    for _ in range(20):
        each = stream(rng, 1000)
        result = decided(each, *labelled(rng, each, 40))
        assert result.interval is not None
        holds_zero = result.interval.low < 0 < result.interval.high
        assert holds_zero == (result.test_p > 0.05)


@pytest.mark.parametrize(
    "table", by_day(("grid", "power", "sequential", "documents", "several", "levels"), "sequential", "levels")
)
def test_the_benchmark_makes_its_tables(table: str) -> None:
    """With few draws; `python -m benchmarks labels` makes those of docs/labels.md."""
    head, line, *rows = TABLES[table](QUICK)
    assert line.count("|") == head.count("|")
    assert rows
    assert all(row.count("|") == head.count("|") for row in rows)


def test_what_later_labels_take_back_is_not_proven_and_its_p_says_so() -> None:
    inputs = [{"id": f"{number:03}", "text": f"letter {number}"} for number in range(100)]
    answers = {"a": [{**each, "label": "A"} for each in inputs], "b": [{**each, "label": "B"} for each in inputs]}
    records = draft(Pool.of("classification", inputs, answers), n=40).records
    labelled = [
        {**record, "label": "B" if place < 12 or place % 5 == 0 else "A"} for place, record in enumerate(records)
    ]
    early = verdict("classification", labelled[:12], ["a", "b"])
    late = verdict("classification", labelled, ["a", "b"])
    assert early.proven
    assert not late.proven
    assert late.p > 0.05
    assert ends(late).low <= 0 <= ends(late).high


def test_counts_are_scaled_by_what_the_measure_of_the_draft_counts() -> None:
    """A draft for F1 of mentions without an entity counts these alone; another F1 cannot be scaled by them."""
    rng = random.Random(8)
    inputs = [{"id": str(number), "text": "Ur Uruk Eridu"} for number in range(200)]
    places = ((0, 2), (3, 7), (8, 13))

    def links(name: str, right: float) -> Records:
        rows = []
        for record in inputs:
            kinds = [("Q1", True) if int(record["id"]) % 2 else (None, rng.random() < right) for _ in places]
            spans = [
                {"start": a, "end": b, "candidates": [{"id": "Q1", "score": 1.0}] if kind or not same else []}
                for (a, b), (kind, same) in zip(places, kinds, strict=True)
            ]
            rows.append({"id": record["id"], "links": spans})
        return rows

    answers = {"a": links("a", 0.4), "b": links("b", 0.9)}
    gold = {
        str(number): [
            {"start": a, "end": b, "text": "Ur Uruk Eridu"[a:b], "ids": {"wikidata": ["Q1"]} if number % 2 else {}}
            for a, b in places
        ]
        for number in range(200)
    }
    records = draft(Pool.of("linking", inputs, answers), n=60, measure="nil_f1").records
    labelled_records = [{**record, "links": gold[record["id"]]} for record in records]
    result = verdict("linking", labelled_records, ["a", "b"])
    assert (result.measure, result.verdict) == ("nil_f1", "better")
    with pytest.raises(GoldassayError, match="draft records for the question compare and the measure link_f1"):
        verdict("linking", labelled_records, ["a", "b"], "link_f1")


def test_a_number_of_labels_that_was_fixed_beforehand_decides_once() -> None:
    gold, first, second = world(600, right=0.7, fixed=0.25, broken=0.06, seed=5)
    answers = {"a": first, "b": second}
    free, declared = (drafted(gold, answers, 40, fixed=fixed) for fixed in (False, True))
    assert [record["id"] for record in free] == [record["id"] for record in declared]
    whenever, once = (verdict("classification", records, ["a", "b"]) for records in (free, declared))
    labels = of_labels(once)
    assert (labels.p, labels.proven) == (labels.test_p, labels.test_p <= 0.05)
    assert labels.p < of_labels(whenever).p
    assert once.p == labels.p
    assert once.details == ["the draft fixed 40 labels beforehand, and the test of that number decides"]
    early = verdict(
        "classification",
        [{**record, "label": None} if n > 30 else record for n, record in enumerate(declared)],
        ["a", "b"],
    )
    assert (of_labels(early).p, of_labels(early).proven, early.verdict) == (1.0, False, "open")
    with pytest.raises(GoldassayError, match="fixed its 40 labels"):
        drafted(gold, answers, 5, drafted=declared)
    with pytest.raises(GoldassayError, match="not for level"):
        drafted(gold, answers, 5, question="level", fixed=True)


def test_a_fixed_number_of_labels_keeps_its_level() -> None:
    said = 0
    for seed in range(20):
        gold, first, second = world(300, right=0.7, fixed=0.14, broken=0.06, seed=seed)  # .3 · .14 = .7 · .06
        records = drafted(gold, {"a": first, "b": second}, 20, fixed=True)
        said += of_labels(verdict("classification", records, ["a", "b"])).proven
    assert said <= 3  # of 20 at a level of .05, more has a chance of .02
