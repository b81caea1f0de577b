"""Cross-base consistency: all three bases, a resolver that is given, no evidence is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.measures import linking as ln

TABLE: Any = {
    "Q1": {"viaf": ["11", "12"], "isil": ["NL-AsdRM"]},
    "Q2": {"viaf": "21"},
    "31": {"isil": ["DE-1"]},
}


@pytest.mark.parametrize(
    ("entity", "verdict"),
    [
        ({"wikidata_id": "Q1", "viaf_id": "12"}, "consistent"),  # several values: one of them agrees
        ({"wikidata_id": "Q1", "viaf_id": "99"}, "inconsistent"),
        ({"wikidata_id": "Q1", "isil_code": "nl-asdrm"}, "consistent"),  # founding: partial, ISIL was never compared
        ({"wikidata_id": "Q1", "viaf_id": "11", "isil_code": "DE-9"}, "inconsistent"),  # founding: consistent
        (
            {"viaf_id": "31", "isil_code": "DE-1"},
            "consistent",
        ),  # founding: partial, without Wikidata nothing was compared
        ({"wikidata_id": "Q2", "isil_code": "DE-1"}, "partial"),  # the resolver knows no ISIL of Q2: no evidence
        ({"wikidata_id": "Q9", "viaf_id": "9"}, "partial"),
        ({"wikidata_id": "http://www.wikidata.org/entity/Q1", "viaf_id": ["https://viaf.org/viaf/11"]}, "consistent"),
        ({"isil_code": "DE-1"}, "partial"),
    ],
)
def test_one_entity(entity: dict[str, Any], verdict: str) -> None:
    for resolver in (TABLE, TABLE.get):
        result = ln.cross_kb_consistency([entity], resolver)
        assert result[verdict] == result["total"] == 1
        assert result["coverage_rate"] == 1.0


def test_no_evidence_is_nothing_and_not_one() -> None:
    result = ln.cross_kb_consistency([{"wikidata_id": "Q1", "viaf_id": "11"}])  # no resolver; founding: 1.0
    assert (result["consistency_rate"], result["partial"]) == (None, 1)
    assert ln.cross_kb_consistency([], TABLE)["coverage_rate"] is None


def test_coverage_is_over_all_entities() -> None:
    entities: list[dict[str, Any]] = [
        {"wikidata_id": "Q1", "viaf_id": "11"},
        {"wikidata_id": "Q1", "viaf_id": "9"},
        {},
        {"viaf_id": "5"},
    ]
    result = ln.cross_kb_consistency(entities, TABLE)
    # founding: (1 consistent + 1 partial) / 3 that have an id; right: 3 of 4 have one
    assert (result["coverage_rate"], result["consistency_rate"]) == (0.75, 0.5)


def test_a_resolver_may_give_the_viaf_alone_or_properties_of_wikidata() -> None:
    entity = [{"wikidata_id": "Q2", "viaf_id": "21"}]
    assert ln.cross_kb_consistency(entity, lambda id_: "21")["consistent"] == 1
    assert ln.cross_kb_consistency(entity, {"Q2": {"P214": ["21"]}})["consistent"] == 1
    assert ln.cross_kb_consistency(entity, lambda id_: None)["partial"] == 1


def test_the_scorecard_compares_what_was_predicted_with_what_gold_says() -> None:
    gold = [{"text": "", "links": [{"start": 0, "end": 1, "ids": {"wikidata": ["Q1"], "viaf": ["11"]}}]}]
    link: dict[str, Any] = {
        "start": 0,
        "end": 1,
        "candidates": [{"id": "Q1"}],
        "ids": {"wikidata": ["Q1"], "viaf": ["12"]},
    }
    card = ln.scorecard(gold, [{"links": [link]}])
    assert (card.values["consistency_rate"], card.values["coverage_rate"]) == (0.0, 1.0)
    assert "resolver=gold's own links" in card.conventions["consistency_rate"]
    assert ln.ConsistencyRate()(gold[0], {"links": [link]}).tally.value == 0.0
    bare = ln.scorecard(gold, [{"links": [{"start": 0, "end": 1, "candidates": ["Q1"]}]}])
    assert bare.values["consistency_rate"] is None
