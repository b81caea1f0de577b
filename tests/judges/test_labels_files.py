"""Files of labels as people have them: other column names, no ids, semicolons, yes and no, scales of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.judges.labels import labelled_rows, read
from goldassay.judges.questions import question, rubric, scale

SUPPORT, CRITERION = question("support"), question("criterion")


def file(folder: Path, text: str, name: str = "people.csv") -> Path:
    result = folder / name
    result.write_text(text, encoding="utf-8")
    return result


def test_columns_of_other_names(tmp_path: Path) -> None:
    table = file(tmp_path, "item,Human verdict,judge,labels\na,No,yes,set 1\nb,,no,set 2\n")
    names = {"id": "item", "label": "Human verdict", "verdict": "judge"}
    labels = read(table, CRITERION, columns=names)
    assert [(item.id, item.label, item.verdict) for item in labels.items] == [("a", "no", "yes"), ("b", None, "no")]
    with pytest.raises(DataError, match=r"or name its column .*; there are id, item, people"):
        read(file(tmp_path, "item,people\na,yes\n"), CRITERION)


def test_dotted_paths_of_nested_rows(tmp_path: Path) -> None:
    row = '{"inputs": {"text": "t"}, "output": {"claim": "c"}, "review": {"ok": true}}\n'
    columns = {"claim": "output.claim", "label": "review.ok"}
    labels = read(file(tmp_path, row, "people.jsonl"), SUPPORT, columns=columns)
    assert labels.items[0].inputs == {"text": "t", "claim": "c"}
    assert (labels.items[0].id, labels.items[0].label) == ("1", "supported")


@pytest.mark.parametrize("pair", [("yes", "no"), ("Y", "N"), ("1.0", "0.0"), ("t", "f")])
def test_words_for_true_and_false(tmp_path: Path, pair: tuple[str, str]) -> None:
    table = file(
        tmp_path, f"id;text;claim;label;verdict\r\n1;a, b;c;{pair[0]};supported\r\n2;t;c;{pair[1]};not_stated\r\n"
    )
    labels = read(table, SUPPORT)
    assert [(item.label, item.verdict) for item in labels.items] == [("supported",) * 2, ("not supported",) * 2]
    assert labels.items[0].inputs["text"] == "a, b"


def test_verdicts_of_yes_and_no_beside_labels_of_three_kinds(tmp_path: Path) -> None:
    labels = read(file(tmp_path, "id,label,verdict\n1,supported,yes\n2,contradicted,no\n3,not_stated,no\n"), SUPPORT)
    assert [item.label for item in labels.items] == ["supported", "not supported", "not supported"]
    assert [item.verdict for item in labels.items] == ["supported", "not supported", "not supported"]


def test_a_number_outside_a_scale_is_no_truth_value(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'0' is not a label of rubric: 1, 2, 3"):
        read(file(tmp_path, "id,label,verdict\n1,0,1\n2,3,3\n"), scale("1-3"))
    labels = read(file(tmp_path, "id,label,verdict\n1,1.0,2.0\n2,3,3\n"), scale("1-3"))
    assert [item.label for item in labels.items] == ["1", "3"]


def test_units_of_scales() -> None:
    assert rubric({"0": "bad", "2": "fair", "4": "good"}).unit == (0, 4)
    assert rubric({"0": "bad", "1": "fair", "4": "good"}).unit == (0, 1)
    assert rubric({"bad": "bad", "good": "good"}).unit == (0, 1)
    with pytest.raises(GoldassayError, match="a scale is two whole numbers, the worst first, such as 1-5; not 'five'"):
        scale("five")


def test_a_quoted_cell_keeps_its_line_breaks(tmp_path: Path) -> None:
    labels = read(file(tmp_path, 'id,text,claim,label\n1,"a\n\nb",c,yes\n2,t,c,no\n'), SUPPORT)
    assert labels.items[0].inputs["text"] == "a\n\nb"


def test_what_the_judge_is_asked_stays_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,text,claim,label\n1,3.10,3.1,supported\n2,4.20,4.2,not_stated\n")
    rows = labelled_rows(tmp_path / "x.csv")
    assert [(row["text"], row["claim"]) for _, row in rows] == [("3.10", "3.1"), ("4.20", "4.2")]
