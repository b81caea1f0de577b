"""Which inputs are drafted: strata, order, continuation, and records that say how they were chosen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.ext.labelling.drafts import ON_AGREEMENTS, Pool, draft
from goldassay.statistics.design import Design

N = 300
Row = dict[str, Any]


def texts(number: int = N) -> list[Row]:
    return [{"id": f"d{i}", "text": f"{i} {chr(97 + i % 26) * (i % 40)}"} for i in range(number)]


def labelled(every: int, label: str = "L", number: int = N) -> list[Row]:
    """Predictions of M, and of another label at every so many."""
    return [{"id": f"d{i}", "label": label if i % every == 0 else "M"} for i in range(number)]


def spans(every: int) -> list[Row]:
    span = {"start": 0, "end": 1, "type": "TOP"}
    return [{"id": f"d{i}", "entities": [] if i % every == 0 else [span]} for i in range(N)]


def pool(*every: int) -> Pool:
    return Pool.of("classification", texts(), {f"s{i}": labelled(n) for i, n in enumerate(every)})


def strata(records: list[Row]) -> Counter[str]:
    return Counter(record["sampling"]["stratum"] for record in records)


def test_to_compare_only_disagreements_are_drafted_and_a_random_part_of_them() -> None:
    result = draft(pool(3, 5), n=30)
    assert result.question == "compare"
    assert strata(result.records) == {"disagree": 30}
    disputed = {f"d{i}" for i in range(N) if (i % 3 == 0) != (i % 5 == 0)}
    assert result.sizes == {"agree": N - len(disputed), "disagree": len(disputed)}
    assert {record["id"] for record in result.records} < disputed
    assert [record["id"] for record in result.records] != sorted(record["id"] for record in result.records)
    other = draft(pool(3, 5), n=30, seed=1)
    assert {record["id"] for record in other.records} != {record["id"] for record in result.records}
    assert draft(pool(3, 5), n=30).records == result.records


def test_a_draft_is_a_design_with_inputs_suggestions_and_no_gold() -> None:
    (record, *others) = draft(pool(3, 5), n=30).records
    assert record.keys() == {"id", "text", "suggestions", "sampling"}
    assert record["suggestions"]["s0"].keys() == {"label"}
    design = Design.of([record, *others])
    assert design is not None
    assert (design.question, design.population, design.systems) == ("compare", N, ("s0", "s1"))
    assert [each["sampling"]["position"] for each in (record, *others)] == list(range(30))


def test_measures_of_counts_get_agreements_in_every_prefix() -> None:
    answers = {"a": spans(3), "b": spans(4)}
    result = draft(Pool.of("extraction", texts(), answers), n=60)
    for size in (10, 20, 40, 60):
        share = strata(result.records[:size])["agree"] / size
        assert abs(share - ON_AGREEMENTS) <= 1 / size
    sampling = {record["sampling"]["stratum"]: record["sampling"] for record in result.records}
    kinds = [((i % 3 == 0) == (i % 4 == 0), i % 3 != 0) for i in range(N)]
    assert sampling["agree"]["predicted"]["a"] == kinds.count((True, True))
    assert sampling["disagree"]["predicted"]["a"] == kinds.count((False, True))
    accuracy = draft(pool(3, 5), measure="accuracy", n=60)
    macro = draft(pool(3, 5), measure="macro_f1", n=60)
    assert (strata(accuracy.records)["agree"], strata(macro.records)["agree"]) == (0, 18)


def test_strata_of_several_systems_are_who_agrees_with_whom() -> None:
    result = draft(pool(2, 3, 5), n=60)
    assert set(result.sizes) == {"agree", "s0=s1|s2", "s0=s2|s1", "s0|s1=s2"}
    for size in (20, 40, 60):
        counts = strata(result.records[:size])
        disputed = sum(count for name, count in result.sizes.items() if name != "agree")
        for name, number in counts.items():
            assert abs(number - size * result.sizes[name] / disputed) <= 2
    rare = Pool.of("classification", texts(), {"a": labelled(2), "b": labelled(9**9), "c": labelled(100)})
    assert "disagree" in draft(rare).sizes  # d100 and d200 alone


def test_more_continues_the_same_order() -> None:
    whole = draft(pool(2, 3, 5), n=50).records
    first = draft(pool(2, 3, 5), n=20).records
    labels = [{**record, "label": "M"} for record in first]
    rest = draft(pool(2, 3, 5), n=30, drafted=labels).records
    assert [*first, *rest] == whole
    with pytest.raises(DataError, match=r"d\d+, sampling: is not of this draft"):
        draft(pool(2, 3, 7), n=30, drafted=labels)
    changed = Pool.of("classification", texts(), {"s0": labelled(2), "s1": labelled(3), "s2": labelled(5, "X")})
    with pytest.raises(DataError, match="not of this draft"):
        draft(changed, n=30, drafted=labels)
    with pytest.raises(GoldassayError, match="drafted already"):
        draft(pool(2, 3, 5), drafted=draft(pool(2, 3, 5), n=N).records)


def test_a_level_is_drawn_at_random_or_from_strata() -> None:
    result = draft(pool(3), n=40)
    assert (result.question, result.sizes) == ("level", {"all": N})
    assert result.records[0]["sampling"]["agreement"] == ""
    by_agreement = draft(pool(3, 5), "level", strata="agreement", n=100)
    assert strata(by_agreement.records)["agree"] == pytest.approx(100 * by_agreement.sizes["agree"] / N, abs=1)
    sure = [{**row, "confidence": i / N} for i, row in enumerate(labelled(3))]
    banded = draft(Pool.of("classification", texts(), {"a": sure}), strata="confidence", n=60)
    assert sum(banded.sizes.values()) == N
    assert len(banded.sizes) == 3
    assert max(banded.sizes.values()) <= N / 3 + 1


def test_after_a_pilot_the_strata_whose_labels_vary_get_more() -> None:
    inputs = [{**row, "strata": {"country": "NL" if i % 2 else "BE"}} for i, row in enumerate(texts())]
    wide = Pool.of("classification", inputs, {"a": labelled(9**9)})
    pilot = draft(wide, strata="country", n=20).records
    assert strata(pilot) == {"country NL": 10, "country BE": 10}
    right = [
        {**record, "label": "M" if record["strata"]["country"] == "NL" or place % 4 < 2 else "L"}
        for place, record in enumerate(pilot)
    ]
    more = draft(wide, strata="country", n=60, drafted=right).records
    assert strata(more)["country BE"] > 2 * strata(more)["country NL"]
    assert Counter(strata(pilot + more).values()).total() == 2
    Design.of(pilot + more)


def test_likely_failures_are_drafted_for_errors_beside_the_rest() -> None:
    sure = [{**row, "confidence": 0.1 if i % 10 == 0 else 0.9} for i, row in enumerate(labelled(3))]
    result = draft(Pool.of("classification", texts(), {"a": sure[:-30]}), "errors", n=60)
    assert result.sizes == {"low confidence": 27, "no answer": 30, "rest": N - 57}
    assert strata(result.records)["rest"] == 20
    two = draft(pool(3, 5), "errors", n=60)
    assert strata(two.records) == {"disagree": 40, "rest": 20}
    assert draft(pool(3), "errors").warnings == [
        "nothing marks a likely failure (no rule, no answers that differ, no confidence): all at random"
    ]


def test_to_tune_one_of_each_cluster_of_near_equal_texts_is_taken() -> None:
    inputs = [
        {"id": f"{i}", "text": f"{chr(97 + i % 20) * 30} letter", "strata": {"desk": "ab"[i % 2]}} for i in range(200)
    ]
    result = draft(Pool.of("classification", inputs), "tuning", n=100)
    assert len(result.records) == 20
    assert len({record["text"] for record in result.records}) == 20
    assert strata(result.records[:4]) == {"desk=a": 2, "desk=b": 2}


@pytest.mark.parametrize(
    ("question", "answers", "options", "message"),
    [
        ("compare", {"a": labelled(3)}, {}, "name two sources"),
        ("compare", {"a": labelled(3), "b": labelled(3)}, {}, "agree on all 300 inputs"),
        ("better", {}, {}, "question is compare, level, errors or tuning, not 'better'"),
        ("level", {}, {"strata": "confidence"}, "no answer has a confidence"),
        ("level", {}, {"strata": "country"}, "no input has 'country'"),
        ("level", {}, {"strata": "agreement"}, "need two sources"),
        ("level", {}, {"measure": "acuracy"}, "no measure 'acuracy'"),
    ],
)
def test_what_a_pool_does_not_allow_is_one_line(question: str, answers: Any, options: Any, message: str) -> None:
    with pytest.raises(GoldassayError, match=message) as error:
        draft(Pool.of("classification", texts(), answers), question, **options)
    assert "\n" not in str(error.value)


def test_a_pool_has_each_id_once_and_no_gold() -> None:
    with pytest.raises(DataError, match="duplicate"):
        Pool.of("classification", [*texts(2), *texts(1)])
    with pytest.raises(DataError, match="d2: a has a prediction without an input"):
        Pool.of("classification", texts(2), {"a": labelled(2, number=3)})
    with pytest.raises(GoldassayError, match="no inputs"):
        draft(Pool.of("classification", []))
    pooled = Pool.of("classification", [{"id": "a", "text": "x", "label": "M", "colour": "red"}])
    assert pooled.inputs == {"a": {"id": "a", "text": "x", "meta": {"colour": "red"}}}
    gold = {"calls": [], "answers": ["7"], "state": {"open": 1}, "order": "any", "messages": []}
    pooled = Pool.of("trajectories", [{"id": "a", "question": "x", **gold, "functions": []}])
    assert pooled.inputs["a"].keys() == {"id", "question", "functions"}
    pooled = Pool.of("answering", [{"id": "a", "question": "x", "answerable": [False], "entities": ["Ur"]}])
    assert pooled.inputs["a"].keys() == {"id", "question"}


def test_secrets_are_hidden() -> None:
    inputs = [{"id": "a", "text": "my key sk-abcdef123456 leaked"}]
    (record,) = draft(Pool.of("classification", inputs)).records
    assert record["text"] == "my key [hidden] leaked"
    span = {"start": 0, "end": 2, "type": "TOP"}
    several = Pool.of("extraction", [*inputs, *texts(5)], {"a": [{"id": "a", "entities": [span]}]})
    result = draft(several)
    assert {record["id"] for record in result.records} == {f"d{i}" for i in range(5)}
    assert result.warnings == ["1 inputs hold what looks like a key or password and are left out"]
    assert result.records[0]["sampling"]["population"] == 5


def test_a_confidence_that_is_a_text_is_none() -> None:
    answers = [{"id": str(i), "answer": "x", "confidence": value} for i, value in enumerate(("high", [1], 0.5))]
    pool = Pool.of("answering", [{"id": str(i), "question": f"q {i}"} for i in range(3)], {"ours": answers})
    assert pool.confidences() == {"2": 0.5}


def test_trajectories_differ_by_calls_answer_and_state_alone() -> None:
    def answer(args: dict[str, object], **more: object) -> dict[str, object]:
        steps = [{"kind": "model", "name": "plan", "tokens": 7}, {"name": "read", "args": args, "seconds": 0.1}]
        return {"trajectory": steps, "answer": "Gouda", **more}

    others = {
        "slower": answer({"id": 3.0, "n": [1]}) | {"trajectory": [{"name": "read", "args": {"n": [1], "id": 3}}]},
        "call": answer({"id": 4, "n": [1]}),
        "argument": answer({"id": 3, "n": [1.5]}),
        "answer": answer({"id": 3, "n": [1]}, answer="Delft"),
        "state": answer({"id": 3, "n": [1]}, state={"open": True}),
    }
    inputs = [{"id": name, "question": f"{name}?"} for name in others]
    first = [{"id": name, **answer({"id": 3, "n": [1]})} for name in others]
    second = [{"id": name, **other} for name, other in others.items()]
    result = draft(Pool.of("trajectories", inputs, {"a": first, "b": second}), "compare")
    assert result.sizes == {"agree": 1, "disagree": 4}
    assert {record["id"] for record in result.records} == {"call", "argument", "answer", "state"}
