"""Splits: disjoint, complete, groups whole, seeded, near duplicates on one side, shares kept."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.gold import load
from goldassay.gold.audit import audit
from goldassay.gold.splits import DATASET_SPLITS, STRATIFICATION_FACTORS, grouped, iterative, split
from goldassay.running.leaks import check_examples

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def unlike(number: int) -> str:
    """Texts of which no two are nearly the same."""
    return LETTERS[number % 26] * 8 + LETTERS[number // 26] * 4


strata = st.fixed_dictionaries({"country": st.sampled_from(["NL", "BE", "DE"]), "tier": st.integers(1, 3)})
rows = st.lists(st.tuples(strata, st.integers(0, 8)), min_size=1, max_size=30).map(
    lambda found: [
        {"id": f"d{i}", "text": unlike(i), "strata": facts, "document": f"g{group}"}
        for i, (facts, group) in enumerate(found)
    ]
)


@drawn(60)
@given(rows, st.integers(0, 3))
def test_every_record_has_one_side_and_groups_stay_whole(records: list[dict[str, Any]], seed: int) -> None:
    division = split(records, factors=["country", "tier"], seed=seed)
    assert list(division.of) == [record["id"] for record in records]
    assert set(division.of.values()) <= set(DATASET_SPLITS)
    assert sum(division.sizes.values()) == len(records)
    sides: dict[str, set[str]] = {}
    for record in records:
        sides.setdefault(record["document"], set()).add(division.of[record["id"]])
    assert all(len(names) == 1 for names in sides.values())
    assert division == split(records, factors=["country", "tier"], seed=seed)
    for members in grouped(records):
        assert len({division.of[records[index]["id"]] for index in members}) == 1


@drawn(40)
@given(st.lists(st.sampled_from("ABC"), min_size=20, max_size=60), st.integers(0, 3))
def test_one_factor_is_split_as_well_as_scikit_learn_does(labels: list[str], seed: int) -> None:
    from sklearn.model_selection import StratifiedShuffleSplit

    sides = iterative([{("label", label): 1} for label in labels], [1] * len(labels), {"train": 0.7, "test": 0.3}, seed)
    ours = _off(labels, [side == "test" for side in sides])
    if min(Counter(labels).values()) > 1:
        chosen = StratifiedShuffleSplit(1, test_size=0.3, random_state=seed)
        _, test = next(chosen.split(labels, labels))
        theirs = _off(labels, [index in set(test) for index in range(len(labels))])
        # scikit-learn meets the size of the whole exactly, we the size of each label: a label is off by 1 at most
        assert ours <= max(theirs, 1.0)
    assert ours <= 1.0


def _off(labels: list[str], test: list[bool]) -> float:
    return max(
        abs(sum(chosen for labelled, chosen in zip(labels, test, strict=True) if labelled == label) - 0.3 * count)
        for label, count in Counter(labels).items()
    )


def test_four_factors_of_heritage_are_kept(root: Path) -> None:
    records = load(root / "gold" / "heritage").classification.records
    division = split(records)
    assert sum(division.sizes.values()) == 228
    assert [deviation["factor"] for deviation in division.deviations] == ["size", *STRATIFICATION_FACTORS]
    sizes, custodian = division.deviations[0], division.deviations[1]
    assert sizes["most"] < 0.03
    # 12 documents a type: one of them is a share of 0.083
    assert custodian["most"] < 0.17
    assert custodian["mean"] < 0.06


def test_near_duplicates_are_on_one_side() -> None:
    records = [{"id": f"d{i}", "text": unlike(i)} for i in range(40)]
    records += [{"id": f"n{i}", "text": unlike(i) + "."} for i in range(40)]
    division = split(records, factors=[])
    assert division.groups == 40
    assert all(division.of[f"d{i}"] == division.of[f"n{i}"] for i in range(40))
    assert split(records, factors=[], near=100).groups == 80


def test_questions_stay_with_their_documents() -> None:
    records: list[dict[str, Any]] = [
        {"id": "d1", "text": unlike(1)},
        {"id": "d2", "text": unlike(2)},
        {"id": "q1", "question": unlike(3), "documents": ["d1"]},
        {"id": "q2", "question": unlike(4), "documents": ["d2", "d3"]},
        {"id": "q3", "question": unlike(5), "documents": ["d3"]},
    ]
    assert grouped(records) == [[0, 2], [1, 3, 4]]


def test_a_factor_may_be_a_field_and_may_be_absent() -> None:
    records = [{"id": f"d{i}", "text": unlike(i), "language": "nl" if i % 2 else "de"} for i in range(40)]
    division = split(records, factors=["language"], ratios={"train": 0.5, "test": 0.5})
    assert division.deviations[1]["most"] == 0.0
    assert division.sizes == {"train": 20, "test": 20}
    assert [deviation["factor"] for deviation in split(records).deviations] == ["size"]
    with pytest.raises(GoldassayError, match="no record has colour, .* there are id, text, language"):
        split(records, factors=["language", "colour"])


def test_without_the_factors_of_heritage_labels_are_kept_in_proportion() -> None:
    records = [{"id": f"d{i}", "text": unlike(i), "label": "rare" if i % 10 == 0 else "usual"} for i in range(100)]
    division = split(records)
    assert [deviation["factor"] for deviation in division.deviations] == ["size", "label"]
    rare = [division.of[record["id"]] for record in records if record["label"] == "rare"]
    assert (rare.count("train"), rare.count("dev") + rare.count("test")) == (7, 3)
    numbers = [{**record, "label": index / 7} for index, record in enumerate(records)]
    assert [deviation["factor"] for deviation in split(numbers).deviations] == ["size"]


def test_seeds_differ() -> None:
    records = [{"id": f"d{i}", "text": unlike(i)} for i in range(40)]
    assert split(records, seed=1).of != split(records, seed=2).of


def test_a_leak_is_refused() -> None:
    records: list[dict[str, Any]] = [
        {"id": "a", "text": "The museum opened in 1885.", "split": "train"},
        {"id": "b", "text": "The museum opened in 1886.", "split": "test"},
        {"id": "c", "text": "Delft"},
    ]
    assert grouped(records) == [[0, 1], [2]]


@pytest.mark.parametrize(
    "ratios",
    [{"train": 1.0}, {"train": 0.5, "test": float("nan")}, {"train": 0.7, "test": 0.2}, {"train": 1.2, "test": -0.2}],
)
def test_shares_add_up(ratios: dict[str, float]) -> None:
    with pytest.raises(GoldassayError, match="add up to 1"):
        split([{"id": "a", "text": "x"}], ratios=ratios)


def test_no_records() -> None:
    with pytest.raises(GoldassayError, match="nothing to split"):
        split([])


def test_no_side_is_empty_while_there_are_groups_for_it() -> None:
    records = [{"id": f"d{i}", "text": unlike(i), "language": "nl"} for i in range(4)]
    for size, expected in ((4, 2), (3, 1), (2, 1)):
        division = split(records[:size], factors=["language"])
        assert max(division.sizes.values()) == expected
        assert division.empty == (["test"] if size == 2 else [])
    assert split(records[:1]).empty == ["dev", "test"]


def test_a_factor_with_a_value_for_each_record() -> None:
    sides = iterative([{("id", str(i)): 1, ("odd", str(i % 2)): 1} for i in range(2000)], [1] * 2000, DATASET_SPLITS)
    assert sides.count("train") == pytest.approx(1400, abs=1)


def test_ids_that_count_rows_tie_no_documents_together() -> None:
    rows = [{"id": str(n), "text": unlike(n), "document": n // 6} for n in range(60)]
    assert sorted(map(len, grouped(rows))) == [6] * 10
    assert all(split(rows).sizes.values())
    page: list[dict[str, Any]] = [
        {"id": "d1", "text": unlike(1)},
        {"id": "q", "question": unlike(2), "documents": ["d1"]},
    ]
    parts = [{"id": "p", "text": unlike(3), "document": "d1"}, {"id": "p", "question": unlike(4), "document": ""}]
    assert sorted(map(len, grouped([*page, *parts, {"id": "e", "text": unlike(5), "document": ""}]))) == [1, 4]


@pytest.mark.parametrize("name", ["body", "ticket", "text"])
def test_near_duplicates_of_any_field_stay_together_and_validate_agrees(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"{kind}{n}", name: unlike(n) + kind, "team": "AB"[n % 2]} for n in range(30) for kind in ".!"]
    Path("tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    division = split(rows, factors=[])
    assert all(division.of[f".{n}"] == division.of[f"!{n}"] for n in range(30))
    done = CliRunner().invoke(app, ["gold", "split", "tickets.jsonl", "--task", "triage", "--out", "out", "--json"])
    assert done.exit_code == 0, done.exception
    written = load("out/triage.jsonl", task="triage").task("triage")
    assert {*written.records[0]} == {"id", "split", name, "team"}
    assert not [each for each in audit("out/triage.jsonl", task="triage").findings if each.kind == "leak"]
    train, test = ([each.with_inputs(name) for each in written.split(side)] for side in ("train", "test"))
    check_examples(train, {"test": test})


def test_the_inputs_of_a_program_say_what_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two inputs of one program: the same note in two tickets with different bodies makes no near duplicates."""
    monkeypatch.chdir(tmp_path)
    Path("programs").mkdir()
    Path("programs/triage.py").write_text("def program(body): return {'team': 'A'}\n", encoding="utf-8")
    note = "Sent from the form on the page of our shop, which has asked for a name and a reason to write. " * 3
    rows = [{"id": str(n), "note": note, "body": unlike(n), "team": "A"} for n in range(20)]
    part = load({"train": rows}, task="triage").task("triage")
    assert part.content() == ["body"]
    assert split(part.records, inputs=part.content()).groups == 20
