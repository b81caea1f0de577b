"""From a run to what to do next: gaps of recall and table, patches from real misses, verdicts on novel triples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldassay import workspace
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.files import save_json
from goldassay.core.measure import Error
from goldassay.core.tally import Counts, Evidence
from goldassay.ext.wikidata import improvement as improving
from goldassay.ext.wikidata import novel as people
from goldassay.ext.wikidata.alignment import PropertyAlignmentTable
from goldassay.ext.wikidata.client import Item, ItemStatement
from goldassay.ext.wikidata.evaluation import ArticleRef, ArticleSources, Profile, evaluate_articles
from goldassay.ext.wikidata.improvement import recall_gaps
from goldassay.ext.wikidata.results import load, load_rows
from goldassay.running.run import Case
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.saved import rendered

TABLE = PropertyAlignmentTable.of()


def evaluated(clients: Any, articles: list[ArticleRef], program: Any, output: Path) -> dict[str, Any]:
    """The result of an evaluation, also in its file."""
    sources = ArticleSources(clients, clients)
    metadata = {"mode": "dataset", "dataset": "people"}
    result = evaluate_articles(articles, program, sources, Profile(program="p"), output, metadata=metadata)
    save_json(output, result)
    return result


def program(text: str, title: str) -> Any:
    """Says the given name in a predicate that the table lacks, a wrong place of birth, nothing of the year."""
    first = title.split()[0]
    statements = [("ex:firstName", first, 0.9), ("place of birth", "Paris", 0.4), ("ex:likes", "cheese", 0.2)]
    names = ("subject", "predicate", "object", "confidence")
    return {"triples": [dict(zip(names, (title, *statement), strict=True)) for statement in statements]}


@pytest.fixture
def result(make_sources: Any, tmp_path: Path) -> Any:
    """Six people with given names, of Delft, born in a year that the text says."""
    people = [f"{name} Jansen" for name in ("Ann", "Bob", "Cas", "Dirk", "Eva", "Fien")]
    texts = {
        person: f"{person} is a poet. {person} was born in Delft in {1900 + i}." for i, person in enumerate(people)
    }
    names = {
        "Q690": ["Delft"],
        "Q90": ["Paris"],
        **{f"Q{200 + i}": [person.split()[0]] for i, person in enumerate(people)},
    }
    items = {
        f"Q{100 + i}": Item(
            f"Q{100 + i}",
            labels={"en": person},
            sitelinks={"enwiki": person},
            statements=(
                ItemStatement("P735", f"Q{200 + i}", "wikibase-item"),
                ItemStatement("P19", "Q690", "wikibase-item"),
                ItemStatement("P569", {"time": f"+{1900 + i}-00-00T00:00:00Z", "precision": 9}, "time"),
            ),
        )
        for i, person in enumerate(people)
    }
    clients = make_sources(texts, items, names)
    refs = [ArticleRef(person, domain="biography_living" if i < 4 else "other") for i, person in enumerate(people)]
    return evaluated(clients, refs, program, tmp_path / "r.json"), tmp_path / "r.json"


def test_gaps_of_the_table_are_proposed(result: Any) -> None:
    assert result[0]["alignment_gaps"] == [
        {"predicate": "ex:firstName", "property": "P735", "label": "given name", "support": 6}
    ]


def test_recall_gaps_have_real_sentences(result: Any) -> None:
    report = recall_gaps(result[0], 0.5)
    assert [gap["property_id"] for gap in report["gaps"]] == ["P19", "P569", "P735"]
    place = report["gaps"][0]
    assert (place["total_count"], place["matched_count"], place["recall"]) == (6, 0, 0.0)
    assert "schema:birthPlace" in place["aligned_predicates"]
    example = place["extraction_examples"][0]
    assert example["example_text"] == "Ann Jansen was born in Delft in 1900."
    assert example["expected_triple"] == ["Ann Jansen", "schema:birthPlace", "Delft"]
    assert report["total_extraction_examples"] == 15  # five kept of each property
    assert recall_gaps(result[0], 0.0)["gaps"] == []


def test_precision_is_not_taken_for_recall(tmp_path: Path) -> None:
    rows = {"P569": {"precision": 0.4, "count": 10}, "P31": {"precision": 0.9, "count": 30}}
    report = recall_gaps({"run_metadata": {}, "by_property": rows})
    assert (report["gaps"], report["unknown_recall"]) == ([], ["P31", "P569"])
    file = tmp_path / "latest.json"
    file.write_text('{"run_metadata": {}, "article_result": {"article_title": "Delft"}}', encoding="utf-8")
    with pytest.raises(DataError, match=r"latest\.json: it has no by_property"):
        recall_gaps(load(file), file=file)


def test_misses_become_examples_and_rules_that_apply(root: Path, result: Any) -> None:
    articles = workspace.load(root / "programs" / "triples.py").Articles()
    errors = improving.from_rows(load_rows(result[1]), TABLE)
    report = improving.tuning_report(errors, articles)
    assert set(report) >= {"false_positive_patterns", "false_negative_patterns", "prompt_patches"}
    assert [each["gold_type"] for each in report["false_positive_patterns"]] == ["place of birth"]
    assert report["false_positive_patterns"][0]["count"] == 6
    assert {each["gold_type"] for each in report["false_negative_patterns"]} == {
        "place of birth", "date of birth", "given name",
    }  # fmt: skip
    # novel triples (ex:likes) are no errors
    assert "cheese" not in str(report["false_positive_patterns"])
    patches = [
        Patch(**{name: value for name, value in patch.items() if name not in ("id", "section")})
        for patch in report["prompt_patches"]
    ]
    example = next(patch for patch in patches if patch.action == "add_example")
    assert example.example is not None
    # the whole sentence is shown with all that was missed in it
    statements = {(each["predicate"], each["object"]) for each in example.example["statements"]}
    assert ("place of birth", "Delft") in statements
    assert {name for name, _ in statements} >= {"place of birth", "date of birth"}
    before = rendered(articles)
    prompt = articles
    for patch in patches:
        prompt = apply(prompt, patch, any_version=True)
    after = rendered(prompt)
    assert "Delft" not in before
    assert "Delft" in after
    assert 'As place of birth give only what the text says about its subject itself: "Delft", not "Paris".' in after
    assert len(improving.tuning_report(errors, articles, limit=2)["prompt_patches"]) == 2


def test_a_sample_of_the_unmatched_in_every_domain(result: Any) -> None:
    _, file = result
    # per article two triples are unmatched (ex:firstName, ex:likes): 8 in one domain, 4 in the other
    entries = people.sample_novel(load_rows(file), 0.25)
    assert [entry["domain"] for entry in entries] == ["biography_living"] * 2 + ["other"]
    assert entries == people.sample_novel(load_rows(file), 0.25)
    assert len(people.sample_novel(load_rows(file), 1.0)) == 12
    assert all(entry["triple"][1] != "place of birth" for entry in people.sample_novel(load_rows(file), 1.0))
    with pytest.raises(GoldassayError, match="the share of a sample must be in"):
        people.sample_novel([], 0.0)


def test_verdicts_are_saved_reported_and_used(result: Any, tmp_path: Path) -> None:
    entries: list[dict[str, Any]] = [{**entry} for entry in people.sample_novel(load_rows(result[1]), 1.0)]
    for entry in entries:
        if entry["triple"][1] == "ex:likes":
            entry["verdict"] = "incorrect" if entry["article"].startswith("Ann") else "correct"
    file = tmp_path / "annotations.yaml"
    people.save(file, entries)
    report = people.novel_report(file)
    # five of six judged are correct; the six first names wait
    assert (report["judged"], report["annotations"]) == (6, 12)
    assert report["novel_discovery_rate"] == 5 / 6
    assert report["low"] < 5 / 6 < report["high"]
    assert report["by_domain"]["other"]["novel_discovery_rate"] == 1.0
    assert len(people.verdicts(file)) == 6


ANNOTATIONS = """# Annotations of an own kit
annotation_set: own-novel-discovery
metadata: {total_annotations: 4, correct: 1, incorrect: 2, uncertain: 0, in_wikidata: 1, validated_ndr: 0.333}
annotations:
- {id: 1, triple: [Delft, ex:likes, tea], verdict: correct}
- {id: 2, triple: [Delft, ex:likes, tiles], verdict: correct}
- {id: 3, triple: [Delft, ex:likes, snow], verdict: incorrect}
- {id: 4, triple: [Delft, ex:in, Holland], verdict: in_wikidata}
"""


def test_a_kits_annotations_are_counted_again_and_saving_keeps_what_else_the_head_says(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(ANNOTATIONS, encoding="utf-8")
    report = people.novel_report(file)
    assert report["novel_discovery_rate"] == pytest.approx(2 / 3)
    people.save(file, people.load(file))
    report = people.novel_report(file)
    assert report["judged"] == 4
    assert "annotation_set: own-novel-discovery" in file.read_text()
    assert "validated_ndr: 0.667" in file.read_text()


def test_the_real_kits_annotations_are_counted_again(shared_data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes((shared_data / "wikidata-benchmark" / "novel-discovery-annotations.yaml").read_bytes())
    report = people.novel_report(file)
    assert report["novel_discovery_rate"] == pytest.approx(170 / 188)
    people.save(file, people.load(file))
    report = people.novel_report(file)
    assert report["judged"] == 212
    assert "annotation_set: wikidata-eval-v1-novel-discovery" in file.read_text()
    assert "validated_ndr: 0.904" in file.read_text()


def test_wrong_annotations_are_told(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    for content, message in (
        ("{triple: [a, b]}", r"annotations\[0\].triple"),
        ("{triple: [a, b, c], verdict: maybe}", "verdict: Input should be 'correct', 'incorrect', 'uncertain'"),
    ):
        file.write_text(f"annotations: [{content}]")
        with pytest.raises(DataError, match=message):
            people.load(file)


def test_an_example_shows_what_was_found_too(root: Path, sources: Any, tmp_path: Path) -> None:
    def half(text: str, title: str) -> Any:
        return {"triples": [{"subject": title, "predicate": "P569", "object": "7 November 1867"}]}

    file = tmp_path / "r.json"
    evaluated(sources, [ArticleRef("Marie Curie")], half, file)
    errors = improving.from_rows(load_rows(file), TABLE)
    [triples] = [
        triples for (_, context), triples in errors.sentences.items() if context.startswith("She was born in Warsaw")
    ]
    assert [(triple["predicate"], triple["object"]) for triple in triples] == [
        ("date of birth", "7 November 1867"), ("place of birth", "Warsaw"),
    ]  # fmt: skip


def test_a_wrong_value_is_told_in_the_texts_own_words(root: Path, sources: Any, tmp_path: Path) -> None:
    def late(text: str, title: str) -> Any:
        return {"triples": [{"subject": title, "predicate": "P570", "object": "4 July 1935"}]}

    file = tmp_path / "r.json"
    evaluated(sources, [ArticleRef("Marie Curie")], late, file)
    report = improving.tuning_report(
        improving.from_rows(load_rows(file), TABLE), workspace.load(root / "programs" / "triples.py").Articles()
    )
    [wrong] = report["false_positive_patterns"]
    assert wrong["examples"][0]["message"] == "date of death of Marie Curie is 4 July 1934, not 4 July 1935."
    rules = [patch["text"] for patch in report["prompt_patches"] if patch["pattern"] == wrong["name"]]
    assert rules == [
        'As date of death give only what the text says about its subject itself: "4 July 1934", not "4 July 1935".'
    ]
    assert "T00:00:00Z" not in str(report)


def test_an_example_names_its_subject_where_one_can(root: Path) -> None:
    error = Error(
        improving.MISSED, "", "Delft", "", "place of birth", context="He was born in Delft.", field="statements"
    )
    named = replace(error, context="Ann was born in Delft.")
    statement = {"subject": "Ann", "predicate": "place of birth", "object": "Delft", "confidence": 1.0}
    sentences = {("Ann", each.context): [statement] for each in (error, named)}
    case = Case("Ann", Evidence({"f1": Counts(0, 0, 2)}), (error, named))
    articles = workspace.load(root / "programs" / "triples.py").Articles()
    patches = improving.tuning_report(improving.Errors([case], sentences), articles)["prompt_patches"]
    assert next(each["example"]["text"] for each in patches if each["action"] == "add_example") == named.context


def test_a_gap_is_seen_at_the_precision_of_the_value(sources: Any, tmp_path: Path) -> None:
    sources.items["Q7186"] = Item(
        "Q7186", sitelinks={"enwiki": "Marie Curie"},
        statements=(
            ItemStatement("P1619", {"time": "+1901-01-01T00:00:00Z", "precision": 9}, "time"),
            ItemStatement("P571", {"time": "-0500-00-00T00:00:00Z", "precision": 7}, "time"),
        ),
    )  # fmt: skip

    def says(text: str, title: str) -> Any:
        pairs = (("ex:opening", "1901"), ("ex:age", "450 BC"))
        return {"triples": [{"subject": title, "predicate": name, "object": value} for name, value in pairs]}

    result = evaluated(sources, [ArticleRef("Marie Curie")], says, tmp_path / "r.json")
    assert {(gap["predicate"], gap["property"]) for gap in result["alignment_gaps"]} == {
        ("ex:opening", "P1619"), ("ex:age", "P571"),
    }  # fmt: skip
