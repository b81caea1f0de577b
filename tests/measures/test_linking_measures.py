"""Linking's measures: one denominator, keys and not words, NIL apart, alternatives, equivalences, ranks."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay._support.exceptions import FieldError, GoldassayError
from goldassay.ext.compat import linking_accuracy, mean_reciprocal_rank, nil_detection_metrics
from goldassay.measures import linking as ln
from goldassay.measures.linking.records import canonical

Link = dict[str, Any]


def mention(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "ids": {"wikidata": list(ids)} if ids else {}}


def answer(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "candidates": [{"id": id_} for id_ in ids]}


def value(measure: Any, gold: list[Link], pred: list[Link]) -> float:
    return float(measure({"text": "", "links": gold}, {"links": pred}).tally.value)


def test_two_mentions_of_the_same_words_stay_two() -> None:
    # the founding lookup by words kept the last gold id for both: 1/2 for the right answers, 2/2 for Q830149 twice
    gold = [{"mention": "Paris", "gold_kb_id": "Q90"}, {"mention": "Paris", "gold_kb_id": "Q830149"}]
    right = [{"mention": "Paris", "candidates": [{"kb_id": id_}]} for id_ in ("Q90", "Q830149")]
    assert linking_accuracy(right, gold) == {"hits@1": 1.0, "hits@5": 1.0, "hits@10": 1.0, "coverage": 1.0}
    assert linking_accuracy([right[1], right[1]], gold)["hits@1"] == 0.5
    placed = [{**row, "document": "d", "start": n, "end": n + 1} for n, row in enumerate(gold)]
    answers = [{**row, "document": "d", "start": n, "end": n + 1} for n, row in enumerate(right)]
    assert linking_accuracy(answers[::-1], placed, [1])["hits@1"] == 1.0


def test_hits_and_mrr_have_one_denominator() -> None:
    gold = [{"mention": name, "gold_kb_id": f"Q{n}"} for n, name in enumerate("abcd")]
    pred = [{"mention": "a", "candidates": [{"kb_id": "Q9"}, {"kb_id": "Q0"}]}]
    # founding: MRR over the predictions, 1/2; hits@5 over gold, 1/4. Right: MRR 1/2 over four mentions, 1/8
    assert mean_reciprocal_rank(pred, gold) == 0.125
    assert linking_accuracy(pred, gold, [5]) == {"hits@5": 0.25, "coverage": 0.25}


def test_a_prediction_that_is_repeated_counts_once() -> None:
    gold = [{"mention": "a", "gold_kb_id": "Q1"}, {"mention": "b", "gold_kb_id": "Q2"}]
    pred = [{"mention": "a", "candidates": [{"kb_id": "Q1"}]}] * 2
    assert linking_accuracy(pred, gold, [1])["hits@1"] == 0.5  # founding: 2 hits of 2
    left = [mention(0, 1, "Q1"), mention(2, 3, "Q2")]
    card = ln.scorecard([{"text": "a b", "links": left}], [{"links": [answer(0, 1, "Q1")] * 3}])
    assert card.values["hits@1"] == 0.5
    assert card.counts["link"] == {"tp": 1, "fp": 0, "fn": 1}
    assert card.warnings == ["2 predictions repeat a mention; their candidates were put together, each counts once"]


def test_nil_is_found_by_key_and_not_by_place() -> None:
    gold = [
        {"mention": "a", "is_nil_gold": True},
        {"mention": "b", "is_nil_gold": False},
        {"mention": "c", "is_nil_gold": True},
    ]
    pred = [{"mention": "b", "is_nil_pred": False}, {"mention": "a", "is_nil_pred": True}]
    # founding, by place: a–b and b–a give tp 0, fp 1, fn 1. Right: a found, c never answered
    metrics = nil_detection_metrics(pred, gold)
    assert (metrics["true_positives"], metrics["false_positives"], metrics["false_negatives"]) == (1, 0, 1)
    assert (metrics["nil_precision"], metrics["nil_recall"], metrics["true_negatives"]) == (1.0, 0.5, 1)
    assert metrics["nil_f1"] == pytest.approx(2 / 3)


def test_nil_and_inkb_and_all_are_separate() -> None:
    gold = [mention(0, 1, "Q1"), mention(2, 3, "Q2"), mention(4, 5), mention(6, 7)]
    pred = [answer(0, 1, "Q1"), answer(2, 3), answer(4, 5), answer(6, 7, "Q7")]
    assert [value(ln.HitsAt(1, over), gold, pred) for over in ("all", "inkb", "nil")] == [0.5, 0.5, 0.5]
    card = ln.scorecard([{"text": "", "links": gold}], [{"links": pred}])
    # answered NIL: 2–3 wrongly, 4–5 rightly; 6–7 was not
    assert card.counts["nil"] == {"tp": 1, "fp": 1, "fn": 1}
    assert card.counts["link"] == {"tp": 2, "fp": 2, "fn": 2}
    # in the knowledge base: gold 0–1 and 2–3, answered 0–1 and 6–7, of which 0–1 is right
    assert card.by["over"]["inkb"]["link_precision"] == card.by["over"]["inkb"]["link_recall"] == 0.5
    assert (card.by["over"]["nil"]["mentions"], card.by["over"]["all"]["mentions"]) == (2, 4)


def test_every_gold_mention_without_an_answer_counts_zero_and_coverage_says_so() -> None:
    gold = [mention(0, 1, "Q1"), mention(2, 3)]
    card = ln.scorecard([{"text": "", "links": gold}], [{"links": [answer(0, 1, "Q1")]}])
    assert (card.values["hits@1"], card.values["mrr"], card.values["coverage"]) == (0.5, 0.5, 0.5)
    assert card.values["nil_recall"] == 0.0  # silence is not the answer NIL


def test_alternatives_and_their_cut_offs() -> None:
    gold = [mention(0, 1, "Q3", "Q4")]
    pred = [answer(0, 1, "Q1", "Q2", "Q4", "Q3")]
    assert [value(ln.LinkF1(k), gold, pred) for k in (1, 3, 5)] == [0.0, 1.0, 1.0]
    assert [value(ln.HitsAt(k), gold, pred) for k in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert value(ln.MRR(), gold, pred) == pytest.approx(1 / 3)
    assert ln.LinkF1(3).key == "link_f1@3"
    assert ln.LinkF1(1, "inkb", match="span").key == "strong_link_inkb_f1"


def test_equivalent_ids_are_a_table_that_is_given() -> None:
    gold, pred = [mention(0, 1, "Q60")], [answer(0, 1, "Q11299")]
    table = {"Q11299": "Q60", "Q7": "Q11299"}
    assert value(ln.HitsAt(1), gold, pred) == 0.0
    assert value(ln.HitsAt(1, equivalent=tuple(table.items())), gold, pred) == 1.0
    assert (
        value(ln.LinkF1(equivalent=tuple(table.items())), gold, [answer(0, 1, "Q7")]) == 1.0
    )  # redirects of redirects
    card = ln.scorecard([{"text": "", "links": gold}], [{"links": pred}], equivalent=table)
    assert (card.values["hits@1"], card.values["link_f1"], card.values["strong_link_f1"]) == (1.0, 1.0, 1.0)
    assert (
        card.conventions["link_f1"]
        != ln.scorecard([{"text": "", "links": gold}], [{"links": pred}]).conventions["link_f1"]
    )
    assert canonical((("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"))) == dict.fromkeys("abcd", "a")


def test_nil_may_be_a_candidate_among_others() -> None:
    assert value(ln.MRR(), [mention(0, 1)], [answer(0, 1, "Q1", "NIL")]) == 0.5
    assert value(ln.NILF1(), [mention(0, 1)], [answer(0, 1, "NIL", "Q1")]) == 1.0
    assert value(ln.HitsAt(1), [mention(0, 1, "Q1")], [answer(0, 1, "NIL", "Q1")]) == 0.0


def test_overlap_and_the_same_span() -> None:
    gold, pred = [mention(0, 5, "Q1")], [answer(0, 4, "Q1")]
    assert (value(ln.LinkF1(), gold, pred), value(ln.LinkF1(match="span"), gold, pred)) == (1.0, 0.0)
    assert value(ln.HitsAt(1), gold, pred) == 0.0  # a rank belongs to a key


def test_bounds_are_widened_to_words_where_asked() -> None:
    text = "Albert's birthplace is Ulm."
    gold, pred = [mention(0, 8, "Q937")], [answer(0, 6, "Q937")]
    pair = {"text": text, "links": gold}, {"links": pred}
    assert ln.LinkF1(match="span")(*pair).tally.value == 0.0
    assert ln.LinkF1(match="span", bounds="word")(*pair).tally.value == 1.0
    card = ln.scorecard([pair[0]], [pair[1]], bounds="word")
    assert (card.values["strong_link_f1"], card.values["hits@1"]) == (1.0, 1.0)
    assert "bounds=word" in card.conventions["strong_link_f1"]
    with pytest.raises(GoldassayError, match="bounds is given or word, not 'token'"):
        ln.LinkF1(match="span", bounds="token")


def test_an_optional_mention_may_be_left_out() -> None:
    gold = {"text": "", "links": [mention(0, 1, "Q1"), {**mention(2, 3, "Q2"), "optional": True}]}
    for pred, counts in (
        ([answer(0, 1, "Q1")], (1, 0, 0)),
        ([answer(0, 1, "Q1"), answer(2, 3, "Q2")], (1, 0, 0)),  # right, and counted on no side
        ([answer(0, 1, "Q1"), answer(2, 3, "Q9")], (1, 1, 0)),  # wrong is wrong
        ([], (0, 0, 1)),
    ):
        tally = ln.LinkF1(match="span")(gold, {"links": pred}).tally
        assert (tally.tp, tally.fp, tally.fn) == counts
    assert ln.HitsAt(1)(gold, {"links": []}).tally.weight == 1


def test_all_parts_of_a_mention_stand_for_the_whole() -> None:
    # "Hollywood, Los Angeles": one label, or a label each
    whole, first, second = mention(0, 22, "Q34006"), mention(0, 9, "Q34006"), mention(11, 22, "Q65")
    parts = [{**part, "parent": [0, 22]} for part in (first, second)]
    gold = {"text": "Hollywood, Los Angeles", "links": [whole, *parts]}
    for pred, counts in (
        ([answer(0, 22, "Q34006")], (1, 0, 0)),
        ([answer(0, 9, "Q34006"), answer(11, 22, "Q65")], (1, 0, 0)),
        ([answer(0, 9, "Q34006")], (0, 0, 1)),  # half of it is not it, and not wrong
        ([answer(0, 9, "Q34006"), answer(11, 22, "Q9")], (0, 1, 1)),
    ):
        tally = ln.LinkF1(match="span")(gold, {"links": pred}).tally
        assert (tally.tp, tally.fp, tally.fn) == counts


def test_wrong_calls() -> None:
    with pytest.raises(GoldassayError, match="over is all, inkb or nil"):
        ln.HitsAt(1, "some")
    with pytest.raises(GoldassayError, match="k is a whole number from 1"):
        ln.LinkF1(0)
    with pytest.raises(GoldassayError, match="match is overlap, span, entity or mention"):
        ln.MacroDocLink(match="near")
    with pytest.raises(GoldassayError, match="no protocol 'x'; there are hipe .extraction and linking.*tac .linking"):
        ln.scorecard([], [], protocol="x")
    with pytest.raises(GoldassayError, match="1 gold records against 0 predictions"):
        ln.scorecard([{"text": "", "links": []}], [])
    with pytest.raises(GoldassayError, match="a row has no 'gold_kb_id'; it has mention"):
        linking_accuracy([{"mention": "a", "candidates": []}], [{"mention": "a"}])
    with pytest.raises(FieldError, match="the prediction has no field 'links'"):
        ln.MRR()({"text": "", "links": []}, {"entities": []})
    assert ln.scorecard([], []).values["hits@1"] is None
