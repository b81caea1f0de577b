"""Agreement of annotators on each task: figures, intervals, disagreements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sklearn.metrics import cohen_kappa_score

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold.agreement import agree, agree_files

TEXT = "Het Rijksmuseum in Amsterdam"


def document(key: str, *found: tuple[int, int, str]) -> dict[str, Any]:
    return {"id": key, "text": TEXT, "entities": [{"start": a, "end": b, "type": t} for a, b, t in found]}


ADA = [document("d1", (4, 15, "MUS"), (19, 28, "TOP")), document("d2", (4, 15, "MUS"))]
BO = [document("d1", (0, 15, "MUS"), (19, 28, "TOP")), document("d2")]


def test_spans_of_two() -> None:
    agreement = agree({"Ada": ADA, "Bo": BO}, "extraction", resamples=200)
    # strict: 1 of 3 and 2 spans alike: 2*1/5; partial: 2 alike: 2*2/5
    assert agreement.figure("strict_f1").value == pytest.approx(0.4)
    assert agreement.figure("partial_f1").value == pytest.approx(0.8)
    assert agreement.figure("strict_f1", type="TOP").value == 1.0
    assert agreement.figure("strict_f1", type="MUS").value == 0.0
    # four words in each: Ada O M O T | O M O O, Bo M M O T | O O O O, 6 of 8 alike
    # chance, from O 5 M 2 T 1 with both: (25 + 4 + 1) / 64
    assert agreement.figure("word_kappa").value == pytest.approx((0.75 - 30 / 64) / (1 - 30 / 64))
    # of them marked by someone: O|M M|M T|T M|O, 8 values O 2 M 4 T 2; observed 1 - 4/8, chance 1 - (2 + 12 + 2)/56
    assert agreement.figure("word_alpha").value == pytest.approx(1 - 0.5 / (1 - 16 / 56))
    low_high = agreement.figure("strict_f1").interval
    assert low_high is not None
    assert low_high.low <= 0.4 <= low_high.high
    assert [(d.record, d.where, d.values) for d in agreement.disagreements] == [
        ("d1", "0:15 'Het Rijksmuseum'", {"Ada": None, "Bo": "MUS"}),
        ("d1", "4:15 'Rijksmuseum'", {"Ada": "MUS", "Bo": None}),
        ("d2", "4:15 'Rijksmuseum'", {"Ada": "MUS", "Bo": None}),
    ]


def test_each_pair_of_three_is_compared_and_the_order_of_annotators_is_nothing() -> None:
    agreement = agree({"Ada": ADA, "Bo": BO, "Cy": ADA}, "extraction", resamples=50)
    assert agreement.figure("strict_f1", ("Ada", "Cy")).value == 1.0
    assert agreement.figure("strict_f1", ("Cy", "Bo")).value == agreement.figure("strict_f1", ("Ada", "Bo")).value
    assert len([f for f in agreement.figures if f.name == "strict_f1" and f.type is None]) == 3
    json.dumps(agreement.state())


def labelled(*labels: str) -> list[dict[str, Any]]:
    return [{"id": str(i), "text": f"t{i}", "label": label} for i, label in enumerate(labels)]


def test_labels() -> None:
    agreement = agree({"Ada": labelled(*"MMAA"), "Bo": labelled(*"MAAA")}, "classification", resamples=100)
    assert agreement.figure("observed").value == 0.75
    # chance: .5*.25 + .5*.75 = .5; (.75 - .5)/.5
    assert agreement.figure("cohen_kappa").value == pytest.approx(0.5)
    assert agreement.figure("cohen_kappa", type="M").value == pytest.approx(0.5)
    # M 3 and A 5 of 8: 1 - .25 / (1 - (6 + 20)/56) = 1 - .25/.535714…
    assert agreement.figure("alpha_nominal").value == pytest.approx(1 - 0.25 / (30 / 56))
    # shares .375 and .625: (.75 - .53125)/.46875
    assert agreement.figure("fleiss_kappa").value == pytest.approx((0.75 - 0.53125) / 0.46875)
    assert [(d.record, d.values) for d in agreement.disagreements] == [("1", {"Ada": "M", "Bo": "A"})]


def test_grades_are_ordinal_unless_said_otherwise() -> None:
    first = [{"id": "q", "query": "museum", "relevant": {"a": 3, "b": 0, "c": 1}}]
    two = [{"id": "q", "query": "museum", "relevant": {"a": 2, "b": 0, "d": 1}}]
    agreement = agree({"one": first, "two": two}, "retrieval", resamples=50)
    assert agreement.figure("alpha_ordinal").units == 2
    # what only one judged cannot be paired, which leaves 3|2 and 0|0; mid-ranks of 0 0 2 3 are 1 1 2.5 3.5
    # observed (2.5 - 3.5)² twice in 4 values: 0.5; any two: 2 (2 · 1.5² + 2 · 2.5² + 1²) / (4 · 3) = 3
    assert agreement.figure("alpha_ordinal").value == pytest.approx(1 - 0.5 / 3)
    assert agree({"one": first, "two": two}, "retrieval", level="ratio", resamples=50).figure("alpha_ratio").value
    assert {d.where for d in agreement.disagreements} == {"a", "c", "d"}


def test_identifiers_answers_and_statements() -> None:
    def linked(*ids: str) -> list[dict[str, Any]]:
        return [{"id": "d", "text": "Delft", "links": [{"start": 0, "end": 5, "ids": {"wikidata": list(ids)}}]}]

    assert agree({"a": linked("Q690"), "b": linked()}, "linking").disagreements[0].values == {
        "a": "wikidata:Q690",
        "b": "NIL",
    }
    answered = [{"id": "q", "question": "When?", "answers": ["in  1885 "]}]
    other = [{"id": "q", "question": "When?", "answers": ["In 1885"]}]
    assert agree({"a": answered, "b": other}, "answering").figure("observed").value == 1.0
    none = [{"id": "q", "question": "When?", "answers": []}]
    assert agree({"a": answered, "b": none}, "answering").disagreements[0].values["b"] == "unanswerable"

    def stated(*objects: str) -> list[dict[str, Any]]:
        return [{"id": "d", "triples": [{"subject": "s", "predicate": "p", "object": o} for o in objects]}]

    agreement = agree({"a": stated("X", "Y"), "b": stated("x")}, "triples")
    assert agreement.figure("triple_f1").value == pytest.approx(2 / 3)
    assert [d.where for d in agreement.disagreements] == ["s · p · y"]


def test_the_same_seed_gives_the_same_interval() -> None:
    records = {"Ada": labelled(*"MMAALL"), "Bo": labelled(*"MAAALM")}
    assert agree(records, "classification", seed=3) == agree(records, "classification", seed=3)


def test_records_that_one_lacks_are_left_out_and_counted() -> None:
    agreement = agree({"Ada": labelled(*"MM"), "Bo": labelled(*"MMA")}, "classification", resamples=50)
    assert agreement.records == 2
    assert list(agreement.warnings) == ["1 record of one annotator alone left out"]


def test_three_annotators_who_do_not_have_all_the_same_records() -> None:
    import krippendorff as oracle

    by_name = {"Ada": "MMALLG", "Bo": "MAALG-", "Cy": "M-ALLL"}
    records = {
        name: [row for row, label in zip(labelled(*labels), labels, strict=True) if label != "-"]
        for name, labels in by_name.items()
    }
    agreement = agree(records, "classification", resamples=50)
    values = [[None if label == "-" else label for label in unit] for unit in zip(*by_name.values(), strict=True)]
    matrix = [[np.nan if label is None else "MALG".index(label) for label in row] for row in zip(*values, strict=True)]
    assert agreement.figure("alpha_nominal").value == pytest.approx(
        oracle.alpha(np.array(matrix, dtype=float), level_of_measurement="nominal")
    )
    for a, b in (("Ada", "Bo"), ("Ada", "Cy"), ("Bo", "Cy")):
        pairs = [(x, y) for x, y in zip(by_name[a], by_name[b], strict=True) if "-" not in (x, y)]
        kappa = agreement.figure("cohen_kappa", (a, b))
        first, second = zip(*pairs, strict=True)
        assert kappa.units == len(pairs)
        assert kappa.value == pytest.approx(cohen_kappa_score(first, second))
    assert agreement.figure("fleiss_kappa").units == 4
    assert list(agreement.warnings) == ["2 records not with all annotators: a pair is compared on what both have"]
    assert [d.values for d in agreement.disagreements if d.record == agreement.disagreements[0].record] == [
        {"Ada": "M", "Bo": "A"}
    ]


def test_spans_of_annotators_with_other_documents() -> None:
    text = "In Delft"
    span = {"start": 3, "end": 8, "type": "TOP"}
    rows: dict[str, dict[str, Any]] = {key: {"id": key, "text": text, "entities": [span]} for key in "xyz"}
    none: dict[str, dict[str, Any]] = {key: {"id": key, "text": text, "entities": []} for key in "xyz"}
    records = {"a": [rows["x"], rows["y"]], "b": [rows["x"], none["z"]], "c": [rows["y"], rows["z"]]}
    agreement = agree(records, "extraction", resamples=20)
    assert [agreement.figure("strict_f1", pair).value for pair in (("a", "b"), ("a", "c"), ("b", "c"))] == [
        1.0,
        1.0,
        0.0,
    ]
    assert agreement.records == 3
    assert agreement.figure("word_alpha").units == 3
    assert [(d.record, d.values) for d in agreement.disagreements] == [("z", {"b": None, "c": "TOP"})]


@pytest.mark.parametrize(
    ("given", "task", "level", "message"),
    [
        ({"a": labelled("M")}, "classification", None, "two annotators or more"),
        ({"a": labelled("M"), "b": []}, "classification", None, "no record in common: a, b"),
        ({"a": labelled("M"), "b": labelled("M")}, "naming", None, "no task 'naming'"),
        ({"a": ADA, "b": BO}, "extraction", "ratio", "a level is for values"),
        ({"a": labelled("M"), "b": labelled("M")}, "classification", "ordinal", "finite numbers, not 'M'"),
        ({"a": ADA, "b": [{**ADA[0], "text": "other"}]}, "extraction", None, "b: record d1: annotated on another text"),
    ],
)
def test_errors_are_told(given: Any, task: str, level: str | None, message: str) -> None:
    with pytest.raises(GoldassayError, match=message):
        agree(given, task, level=level, resamples=20)


def test_files_are_named_after_their_annotators(tmp_path: Path) -> None:
    for name, rows in (("Ada", ADA), ("Bo", BO)):
        (tmp_path / name).mkdir()
        for file in (tmp_path / f"{name}.jsonl", tmp_path / name / "gold.jsonl"):
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert agree_files([tmp_path / "Ada.jsonl", tmp_path / "Bo.jsonl"], "extraction").annotators == ("Ada", "Bo")
    agreement = agree_files([tmp_path / "Ada" / "gold.jsonl", tmp_path / "Bo" / "gold.jsonl"], "extraction")
    assert agreement.annotators == ("Ada/gold", "Bo/gold")
    with pytest.raises(GoldassayError, match="two files have the same name"):
        agree_files([tmp_path / "Ada.jsonl", tmp_path / "Ada.jsonl"], "extraction")
    with pytest.raises(DataError, match="no such file"):
        agree_files([tmp_path / "Ada.jsonl", tmp_path / "Cy.jsonl"], "extraction")


def test_one_file_may_have_the_labels_of_all_annotators(tmp_path: Path) -> None:
    labels = {"ann": "MMGGM", "bob": "MMGMM"}
    wide = [
        "id,text,label_ann,label_bob",
        *(f"{n},letter {n},{a},{b}" for n, (a, b) in enumerate(zip(*labels.values(), strict=True))),
    ]
    long = ["item,annotator,label", *(f"{n},{name},{x}" for name in labels for n, x in enumerate(labels[name]))]
    for name, lines in (("wide", wide), ("long", long)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    expected = cohen_kappa_score([*labels["ann"]], [*labels["bob"]])
    for file, columns in (("wide.csv", None), ("long.csv", {"id": "item"})):
        of_all = agree_files([tmp_path / file], "classification", map=columns)
        assert (of_all.annotators, of_all.records) == (("ann", "bob"), 5)
        assert of_all.figure("cohen_kappa").value == pytest.approx(expected)
    with pytest.raises(DataError, match="--map id=COLUMN|map="):
        agree_files([tmp_path / "long.csv"], "classification")


def test_the_labels_of_a_draft_are_not_those_of_annotators(tmp_path: Path) -> None:
    """Several labels of a text were taken for one of each annotator."""
    file = tmp_path / "draft.jsonl"
    drafted = {"text": "x", "labels": ["M", "G"], "suggestions": {"a": {"labels": ["M"]}}}
    file.write_text("\n".join(json.dumps({"id": n, **drafted}) for n in "123"), encoding="utf-8")
    assert agree_files([file], "classification").annotators == ("a", "label")


def test_secondary_labels_are_compared_as_sets() -> None:
    def labelled_with(*sets: list[str]) -> list[dict[str, Any]]:
        return [{"id": str(i), "text": f"t{i}", "label": "X", "secondary_labels": x} for i, x in enumerate(sets)]

    ada, bo = labelled_with(["M", "A"], ["L"], []), labelled_with(["A"], ["L", "S"], [])
    agreement = agree({"Ada": ada, "Bo": bo}, "classification", resamples=50)
    figure = agreement.figure("secondary_f1")
    # A and L alike; M only Ada's, S only Bo's: 2 * 2 / (2 * 2 + 1 + 1), of the four labels that anybody gave
    assert figure.value == pytest.approx(2 / 3)
    assert figure.units == 4
    assert [(d.record, d.where, d.values) for d in agreement.disagreements] == [
        ("0", "secondary_labels", {"Ada": "A M", "Bo": "A"}),
        ("1", "secondary_labels", {"Ada": "L", "Bo": "L S"}),
    ]


def test_no_figure_for_secondary_labels_where_nobody_gave_one() -> None:
    with pytest.raises(KeyError):
        agree({"Ada": labelled(*"MA"), "Bo": labelled(*"MM")}, "classification", resamples=20).figure("secondary_f1")


def test_records_of_one_document_are_resampled_together() -> None:
    ada = [{"id": n, "text": str(n), "label": "M", "document": n // 10} for n in range(60)]
    bo = [{**record, "label": "M" if n < 30 else "L"} for n, record in enumerate(ada)]
    whole = agree({"Ada": ada, "Bo": bo}, "classification").figure("observed").interval
    loose = [[{**record, "document": None} for record in records] for records in (ada, bo)]
    apart = agree(dict(zip(("Ada", "Bo"), loose, strict=True)), "classification").figure("observed").interval
    assert whole is not None
    assert apart is not None
    assert whole.value == apart.value == 0.5
    assert whole.n == 6
    assert whole.high - whole.low > 2 * (apart.high - apart.low)


@pytest.mark.parametrize("task", ["extraction", "classification"])
def test_the_passes_of_heritage(root: Path, task: str) -> None:
    """The first pass is the gold but for the corrections, which the card counts; the second is on the same texts."""
    place = root / "gold" / "heritage"
    card = yaml.safe_load((place / "card.yaml").read_text(encoding="utf-8"))
    stated = card["tasks"][task]["inter_annotator_agreement"]
    agreement = agree_files([place / name for name in stated["passes"]], task)
    assert (agreement.records, agreement.warnings) == (60, [])
    for name, declared in stated.items():
        if isinstance(declared, dict):
            interval = agreement.figure(name).interval
            assert interval is not None
            assert {part: getattr(interval, part) for part in declared} == pytest.approx(declared, abs=0.5e-4 + 1e-9)
    assert stated["command"].endswith(f"--task {task}")
    corrected = agree_files([place / f"first/{task}.jsonl", place / f"{task}.jsonl"], task)
    changed = {disagreement.record for disagreement in corrected.disagreements}
    assert changed == {"extraction": {"en-001", "fr-036"}, "classification": {"de-048", "fr-004", "fr-033"}}[task]
    assert all(name in card["corrections"]["1.0.1"] for name in changed)


def test_the_readme_of_heritage_states_the_figures_of_its_card(root: Path) -> None:
    place = root / "gold" / "heritage"
    card = yaml.safe_load((place / "card.yaml").read_text(encoding="utf-8"))
    readme = (place / "README.md").read_text(encoding="utf-8")
    for task, names in {
        "extraction": ("strict_f1", "partial_f1", "word_alpha"),
        "classification": ("secondary_f1",),
    }.items():
        for name in names:
            figure = card["tasks"][task]["inter_annotator_agreement"][name]
            assert f"| {figure['value']:.3f} | {figure['low']:.3f} – {figure['high']:.3f} |" in readme


@pytest.mark.parametrize("label", [{}, ["a"]])
def test_a_suggestion_of_another_type_is_one_line(tmp_path: Path, label: object) -> None:
    record = {"id": "a", "text": "x", "label": "M", "suggestions": {"ours": {"label": label}}}
    (tmp_path / "draft.jsonl").write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"draft.jsonl: record a, suggestions.ours.label: "):
        agree_files([tmp_path / "draft.jsonl"], "classification")


@pytest.mark.parametrize("label", [1.5, True])
def test_suggestions_may_be_numbers_where_labels_are_texts(tmp_path: Path, label: object) -> None:
    record = {"id": "a", "text": "x", "label": "M", "suggestions": {"ours": {"label": label}}}
    (tmp_path / "draft.jsonl").write_text(json.dumps(record))
    assert agree_files([tmp_path / "draft.jsonl"], "classification").figures[0].interval


def test_labels_alone_are_about_the_text_that_another_annotator_has() -> None:
    alone = {name: value for name, value in ADA[0].items() if name != "text"}
    assert (
        agree({"a": ADA, "b": [alone]}, "extraction").figures == agree({"a": ADA, "b": [ADA[0]]}, "extraction").figures
    )


def test_a_task_of_the_users_own_field_by_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "programs").mkdir()
    lines = ["import dspy", "program = dspy.ChainOfThought('subject, body -> queue, urgent: bool')"]
    (tmp_path / "programs" / "desk.py").write_text("\n".join(lines))
    queues, urgent = "aabbcacbba", "1010011010"
    rows = {
        name: [
            {"id": f"t{n}", "queue": queue, "urgent": flag == "1", "reasoning": f"{name} {n}"}
            for n, (queue, flag) in enumerate(zip(values, flags, strict=True))
        ]
        for name, values, flags in (("ann", queues, urgent), ("bob", "aabbcbcaba", "1010011011"))
    }
    rows["ann"] = [{**row, "subject": "Late", "body": f"parcel {row['id']}"} for row in rows["ann"]]
    agreement = agree(rows, "desk", resamples=50)
    for field in ("queue", "urgent"):
        expected = cohen_kappa_score(*([str(row[field]) for row in rows[name]] for name in rows))
        assert agreement.figure("cohen_kappa", type=field).value == pytest.approx(expected)
    told = [(d.record, d.where, d.values) for d in agreement.disagreements]
    assert told[-1] == ("t9", "urgent", {"ann": "False", "bob": "True"})
    assert {where for _, where, _ in told} == {"queue", "urgent"}
    other = [{**row, "subject": "Lost"} for row in rows["bob"]]
    with pytest.raises(DataError, match="annotated on another subject than ann's"):
        agree({**rows, "bob": other}, "desk")
