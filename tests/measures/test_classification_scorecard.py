"""The scorecard of classification: lists of labels, confusions, warnings, and files of all kinds of labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay import score
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.ext.compat import hierarchical_type_metrics, type_classification_metrics, type_confusion_analysis
from goldassay.measures import classification as c
from goldassay.running.comparing import rescore

HERITAGE = Path(__file__).resolve().parents[2] / "gold" / "heritage"


def test_predictions_outside_the_list_do_not_vanish_from_the_matrix() -> None:
    # scikit-learn's matrix over 19 labels drops the second row: it would sum to 1
    metrics = type_classification_metrics(["M", "M", "M"], ["M", "Museum", None])
    assert metrics["labels"][-1] == "OTHER"
    assert len(metrics["labels"]) == 20
    row = metrics["confusion_matrix"][metrics["labels"].index("M")]
    assert (row[metrics["labels"].index("M")], row[-1]) == (1, 2)
    assert metrics["per_class"]["M"]["recall"] == pytest.approx(1 / 3)
    assert type_classification_metrics(["M"], ["M"])["labels"] == list("GLAMORCUBESFIXPHDNT")


def test_a_label_list_that_has_an_other_of_its_own() -> None:
    metrics = type_classification_metrics(["OTHER", "a"], ["zzz", "a"], labels=["a", "OTHER"])
    assert metrics["labels"] == ["a", "OTHER", "OTHER (outside the list)"]
    assert metrics["per_class"]["OTHER"]["recall"] == 0.0
    assert metrics["accuracy"] == 0.5


def test_weighted_f1_without_support_is_zero_with_a_warning() -> None:
    # the founding function raised ZeroDivisionError: weights sum to zero
    with pytest.warns(UserWarning, match="weighted_f1 is 0"):
        assert type_classification_metrics(["Z"], ["M"])["weighted_f1"] == 0.0
    card = c.scorecard([{"label": "Z"}], [{"label": "M"}], labels=["M"])
    assert card.values["weighted_f1"] == 0.0
    assert any("weighted_f1 is 0" in text for text in card.warnings)


def test_lengths_must_agree() -> None:
    for function in (type_classification_metrics, type_confusion_analysis, hierarchical_type_metrics):
        with pytest.raises(GoldassayError, match="2 gold labels against 1 predictions"):
            function(["M", "L"], ["M"])
    with pytest.raises(GoldassayError, match="2 gold records against 1 predictions"):
        c.scorecard([{"label": "M"}] * 2, [{"label": "M"}])


def test_other_peoples_labels_have_no_values_of_the_heritage_list() -> None:
    card = c.scorecard([{"label": "pos"}], [{"label": "neg"}])
    averages = {"macro_f1", "macro_f1_supported", "weighted_f1", "macro_precision", "macro_recall", "balanced_accuracy"}
    assert set(card.values) == {"accuracy", *averages, "kappa", "mcc", "multilabel_f1"}
    card = c.scorecard(
        [{"label": "pos", "secondary_labels": ["neu"]}], [{"label": "neu"}], hierarchy={"x": ["pos", "neu"]}
    )
    assert (card.values["primary_or_secondary"], card.values["category_accuracy"], card.values["hierarchy_gap"]) == (
        1,
        1,
        1,
    )


def test_macro_over_all_and_over_supported_labels() -> None:
    card = c.scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}], labels="institutions")
    # F1 of M is 1, of L and A 0; (1 + 0) / 2 over the supported, 1 / 19 over all
    assert card.values["macro_f1_supported"] == 0.5
    assert card.values["macro_f1"] == pytest.approx(1 / 19)
    assert "labels=institutions" in card.conventions["macro_f1"]
    assert "over=supported" in card.conventions["macro_f1_supported"]
    own = c.scorecard([{"label": "M"}, {"label": "L"}], [{"label": "M"}, {"label": "A"}], labels=["M", "L", "A"])
    assert own.values["macro_f1"] == pytest.approx(1 / 3)
    assert "labels=M+L+A" in own.conventions["macro_f1"]


def test_labels_are_institution_types_only_if_they_are_named_so() -> None:
    # F1 of A is 2/3, of B 0: 1/3 over both, and (2/3) / 19 = .0351 over the 19 types
    gold, pred = [{"label": "A"}, {"label": "B"}], [{"label": "A"}, {"label": "A"}]
    card = c.scorecard(gold, pred)
    assert card.values["macro_f1"] == pytest.approx(1 / 3)
    assert "category_accuracy" not in card.values
    assert not card.warnings
    card = c.scorecard(gold, pred, labels="institutions")
    assert card.values["category_accuracy"] == 1 / 2  # an archive and a botanical garden
    assert card.values["macro_f1"] == pytest.approx(2 / 3 / 19)
    assert card.warnings == [
        "17 of 19 labels of the list do not occur: macro_f1 counts them 0, and the upper end of its interval 1"
    ]
    sets = c.scorecard([{"labels": ["M"]}], [{"labels": ["M"]}], labels="institutions")
    assert "labels=G+L+A+M+O+R" in sets.conventions["hamming_loss"]


@pytest.mark.parametrize("labels", ["PN", "SML", "M", "GLAMORCUBESFIXPHDNT"])
@pytest.mark.parametrize("column", ["label", "gold_type"])
def test_letters_in_files_are_labels_as_any_others(tmp_path: Path, labels: str, column: str) -> None:
    rows = "".join(f"{label}\t{label}\n" for label in labels)
    options = files(tmp_path, gold_tsv=f"id\t{column}\n{rows}", pred_tsv=f"id\tlabel\n{rows}")
    card = scored(*options)
    assert card["values"]["macro_f1"] == 1.0  # over 19 types it would be len(labels) / 19
    assert "hierarchy_gap" not in card["values"]
    assert score("classification", [*labels], [*labels])["macro_f1"] == 1.0


def test_the_card_beside_gold_names_its_labels(tmp_path: Path) -> None:
    gold = str(HERITAGE / "classification.jsonl")
    first_id = next(row["id"] for row in map(json.loads, Path(gold).read_text(encoding="utf-8").splitlines()))
    (tmp_path / "pred.jsonl").write_text(json.dumps({"id": first_id, "label": "M"}) + "\n", encoding="utf-8")
    values = scored("--gold", gold, "--pred", str(tmp_path / "pred.jsonl"))["values"]
    assert values == score("classification", gold, tmp_path / "pred.jsonl", intervals=False).values
    assert "hierarchy_gap" in values
    options = files(tmp_path, gold_csv="id,label\n1,P\n", pred_csv="id,label\n1,P\n")
    (tmp_path / "card.yaml").write_text("labels: [P, N]\n", encoding="utf-8")
    assert scored(*options)["values"]["macro_f1"] == 1 / 2
    assert scored(*options, "--option", "labels=seen")["values"]["macro_f1"] == 1.0
    assert score("classification", options[1], options[3])["macro_f1"] == 1 / 2
    assert rescore("classification", Path(options[1]), Path(options[3])).values["macro_f1"] == 1 / 2


def test_a_scorecard_is_the_fold_of_the_measures() -> None:
    gold = [{"label": x, "secondary_labels": y} for x, y in (("M", ["L"]), ("L", []), ("A", ["M", "L"]), ("M", []))]
    pred = [{"label": x, "secondary_labels": y} for x, y in (("M", []), ("M", ["L"]), (None, ["M"]), ("Z", []))]
    for labels in (None, "seen", ("M", "A", "never")):
        card = c.scorecard(gold, pred, labels=labels)
        for name, measure in card.measures.items():
            folded = sum((measure(g, p).tally for g, p in zip(gold, pred, strict=True)), measure.zero)
            assert float(folded.value) == pytest.approx(card.values[name]), (name, labels)
            assert card.conventions[name] == measure.conventions
        assert set(card.intervals) == {name for name, value in card.values.items() if value is not None}


def test_confusions_are_counted_and_ordered() -> None:
    analysis = type_confusion_analysis(["M", "M", "L", "A", "A"], ["G", "G", "A", "A", None], top_k=2)
    assert [(pair["true_type"], pair["predicted_type"], pair["count"]) for pair in analysis["top_confusions"]] == [
        ("M", "G", 2),
        ("A", "(none)", 1),
    ]
    assert (analysis["total_errors"], analysis["unique_confusion_pairs"]) == (4, 3)


def test_the_scorecard_says_what_is_missing_or_outside() -> None:
    card = c.scorecard([{"label": "M"}] * 3, [{"label": None}, {"label": "Z"}, {"label": "M"}], labels=["M"])
    assert "1 predicted labels are outside the list and count as OTHER: 'Z'" in card.warnings
    assert "1 examples have no predicted label and count as errors" in card.warnings
    assert card.by["confusion"] == {"M": {"M": 1, "OTHER": 2}}
    assert card.counts["label"] == {"right": 1, "all": 3}
    assert card.values["accuracy"] == pytest.approx(1 / 3)


def test_predicted_labels_of_which_gold_has_none_are_named() -> None:
    card = score("classification", ["1", "0"], ["1.0", "0.0"], intervals=False)
    assert card.notes == ["no predicted label occurs in gold: '0.0', '1.0'"]
    assert not score("classification", ["1", "0"], ["0", "1"], intervals=False).notes


def test_predicted_labels_in_another_form_than_golds_are_named() -> None:
    card = score("classification", ["museum", "café", "-1", "1"], ["museum", "cafe\u0301", "1", "1"], intervals=False)
    form = "predicted labels that differ from gold's in case, marks or Unicode form alone: "
    assert (card["accuracy"], card.notes) == (0.5, [f"{form}'cafe\u0301' for 'café'"])
    several = score("classification", [{"labels": ["a", "b"]}], [{"labels": ["A", "b"]}], intervals=False)
    assert several.notes == [f"{form}'A' for 'a'"]


def test_nothing_to_score() -> None:
    card = c.scorecard([], [])
    assert card.values["accuracy"] is None
    assert card.values["weighted_f1"] == 0.0


def files(folder: Path, **content: str) -> list[str]:
    """``--gold`` and ``--pred`` files whose names say their format."""
    options = []
    for name, text in content.items():
        side, _, suffix = name.partition("_")
        (folder / f"{side}.{suffix}").write_text(text, encoding="utf-8")
        options += [f"--{side}", str(folder / f"{side}.{suffix}")]
    return options


def scored(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(
        app, ["score", "classification", *words, "--json", "--no-intervals"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    state: dict[str, Any] = json.loads(done.stdout)
    return state


SETS = '{"id": 1, "labels": ["a", "b"]}\n{"id": 2, "labels": []}\n{"id": 3, "labels": [3, "b"]}\n'


GRADES = '{"id": 1, "score": 1}\n{"id": 2, "score": 2.5}\n{"id": 3, "score": 4}\n'


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        (
            {"gold_jsonl": SETS},  # nothing predicted for the second, as it should be: tp 3, fp 1, fn 1
            {"pred_csv": 'id,labels\n1,b|a\n3,"[""b"", ""c""]"\n'},
            {"set_micro_f1": 0.75, "subset_accuracy": 2 / 3, "hamming_loss": 2 / 12, "set_samples_f1": 2.5 / 3},
        ),
        (
            {"gold_csv": "id,labels\n1,a|b\n2,\n3,3|b\n"},
            {"pred_jsonl": '{"id": 1, "labels": ["a"], "probabilities": {"a": 0.1, "b": 0.2}}\n'},
            {"set_micro_recall": 0.25, "lrap": 2 / 3},  # 1 + 1 (no label) + 0
        ),
        ({"gold_jsonl": GRADES}, {"pred_csv": "id,score\n1,2\n2,2\n3,5\n"}, {"mae": 2.5 / 3, "kendall": 2 / 6**0.5}),
        ({"gold_csv": "id,score\n1,1\n2,3\n"}, {"pred_jsonl": '{"id": 2, "score": 1}\n'}, {"mae": 2.0, "pearson": 0.0}),
    ],
)
def test_files_of_sets_of_labels_and_of_grades(
    tmp_path: Path, gold: dict[str, str], pred: dict[str, str], expected: dict[str, float]
) -> None:
    options = files(tmp_path, **gold, **pred)
    card = scored(*options)
    assert {name: card["values"][name] for name in expected} == pytest.approx(expected)
    check = CliRunner().invoke(
        app, ["gold", "validate", options[1], "--task", "classification"], catch_exceptions=False
    )
    assert check.exit_code == 0, check.output
    converted = str(tmp_path / "again.csv")
    CliRunner().invoke(
        app, ["gold", "convert", options[1], converted, "--task", "classification"], catch_exceptions=False
    )
    assert scored("--gold", converted, *options[2:])["values"] == pytest.approx(card["values"])


def test_weights_costs_and_probabilities_of_files(tmp_path: Path) -> None:
    options = files(
        tmp_path,
        gold_csv="id,text,label,weight\n1,x,spam,2\n2,y,ham,1\n",
        pred_csv='id,label,probabilities\n1,ham,"{""spam"": 0.4, ""ham"": 0.6}"\n2,ham,"{""spam"": 0.1, ""ham"": 1}"\n',
        costs_csv="spam,ham,5\n",
    )
    words = [*options[:4], "--option", f"costs={options[5]}", "--option", "weight=weight"]
    card = scored(
        *words, "--measure", "accuracy", "--measure", "cost", "--measure", "top1_accuracy", "--measure", "auroc"
    )
    expected = {"accuracy": 1 / 3, "cost": 10 / 3, "top1_accuracy": 1 / 3, "auroc": 1.0}  # 2 of 3 are the first
    assert card["values"] == pytest.approx(expected)
    with pytest.raises(GoldassayError, match="no measure 'acuracy'; there are accuracy"):
        scored(*options[:4], "--measure", "acuracy")


def test_average_precision_is_the_mean_of_both_labels_or_that_of_the_positive_one() -> None:
    gold = [{"label": "spam"}, {"label": "ham"}, {"label": "spam"}]
    pred = [{"label": "spam", "probabilities": {"spam": p, "ham": 1 - p}} for p in (0.9, 0.6, 0.4)]
    # spam is first and third of three: (1 + 2/3) / 2; ham is second: 1/2
    card = c.scorecard(gold, pred)
    assert card["average_precision"] == pytest.approx((5 / 6 + 1 / 2) / 2)
    assert "average=each label against the rest, also of two" in card.conventions["average_precision"]
    card = c.scorecard(gold, pred, positive="spam")
    assert card["average_precision"] == pytest.approx(5 / 6)
    assert "positive=spam" in card.conventions["average_precision"]
    with pytest.raises(GoldassayError, match="positive=spam ranks examples by probabilities"):
        c.scorecard(gold, [{"label": "spam"}] * 3, positive="spam")


@pytest.mark.parametrize(
    ("gold", "pred", "kind", "options"),
    [
        ({"labels": ["a"]}, {"labels": ["a"]}, "sets of labels", {"costs": [("a", "b", 2.0)]}),
        ({"labels": ["a"]}, {"labels": ["a"]}, "sets of labels", {"hierarchy": {"group": ["a"]}}),
        ({"score": 1.0}, {"score": 2.0}, "grades", {"positive": "a"}),
        ({"score": 1.0}, {"score": 2.0}, "grades", {"labels": ["a"]}),
    ],
)
def test_an_option_without_use_is_an_error(gold: Any, pred: Any, kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(GoldassayError, match=f"{next(iter(options))} is for gold with one .*; this gold has {kind}"):
        c.scorecard([gold], [pred], **options)


def test_macro_f1_of_sets_leaves_absent_labels_out() -> None:
    card = c.scorecard([{"labels": ["a"]}], [{"labels": ["a"]}], labels=["a", "b"])
    assert (card["set_macro_f1"], card["hamming_loss"]) == (1.0, 0.0)
    assert "labels=seen, absent ones do not count" in card.conventions["set_macro_f1"]


def test_a_record_without_label_labels_or_score_says_so(tmp_path: Path) -> None:
    options = files(tmp_path, gold_jsonl='{"id": "4"}\n', pred_jsonl='{"id": "4", "label": "a"}\n')
    with pytest.raises(DataError, match="record 4, label: this field is missing"):
        scored(*options)
