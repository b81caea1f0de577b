"""The audit of a Wikidata kit: the defects that are known of the real one, to the number, and of small ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from goldassay.gold.audit import audit

HEAD = "metadata: {total_annotations: 3, correct: 2, incorrect: 1, validated_ndr: 0.667}\n"
ROWS = """annotations:
- {id: 1, triple: [a, b, c], verdict: correct}
- {id: 2, triple: [a, b, d], verdict: correct}
- {id: 3, triple: [a, b, e], verdict: incorrect}
"""


@pytest.mark.nightly
def test_the_real_kit(shared_data: Path) -> None:
    kit = shared_data / "wikidata-benchmark"
    report = audit(kit)
    articles = [finding for finding in report.findings if finding.file == "wikidata-benchmark-1k.yaml"]
    messages = {finding.field: finding.message for finding in articles if finding.kind == "count"}
    assert messages["description"] == "1,000 declared, 946 counted"
    assert messages["stratified_sampling.biography_living"] == "200 declared, 190 counted"
    assert "stratified_sampling.events" not in messages  # 50 of 50
    repeated = [finding.message.split()[0] for finding in articles if finding.kind == "id"]
    assert len(set(repeated)) == 25
    assert len(repeated) == 26  # one of them stands three times
    assert Counter(finding.kind for finding in articles) == {"count": 7, "id": 26}
    assert report.records == {
        "novel-discovery-annotations.yaml": 212,
        "property-alignment-v1.yaml": 61,
        "wikidata-benchmark-1k.yaml": 946,
    }
    [twice] = [finding for finding in report.findings if finding.file == "property-alignment-v1.yaml"]
    assert (twice.kind, twice.record) == ("id", "P856")
    report = audit(kit / "novel-discovery-annotations.yaml")
    assert {finding.field: finding.message for finding in report.findings} == {
        "metadata.correct": "134 declared, 170 counted",
        "metadata.incorrect": "38 declared, 18 counted",
        "metadata.uncertain": "24 declared, 7 counted",
        "metadata.in_wikidata": "16 declared, 17 counted",
        "metadata.validated_ndr": "0.779 declared, 0.904 from the verdicts (170 correct, 18 not)",
    }
    assert report.figures["discovery_rate"] == pytest.approx(170 / 188)


def test_what_a_kit_declares_is_counted_again(tmp_path: Path) -> None:
    """Four articles are declared and three stand there; of three places there is one; an id stands twice."""
    (tmp_path / "articles.yaml").write_text(
        "description: 4-article set\nstratified_sampling: {places: 3, people: 2}\narticles:\n"
        "- {title: Delft, qid: Q690, domain: places}\n- {title: Vermeer, qid: Q41264, domain: people}\n"
        "- {title: Johannes, qid: Q41264, domain: people}\n",
        encoding="utf-8",
    )
    (tmp_path / "annotations.yaml").write_text(HEAD.replace("correct: 2", "correct: 3") + ROWS, encoding="utf-8")
    table = "count: 3\nalignments: [{wikidata_pid: P31, predicates: [a]}, {wikidata_pid: P31, predicates: [b]}]\n"
    (tmp_path / "properties.yaml").write_text(table, encoding="utf-8")
    report = audit(tmp_path)
    assert report.records == {"annotations.yaml": 3, "articles.yaml": 3, "properties.yaml": 2}
    assert {
        (finding.file, finding.field): finding.message for finding in report.findings if finding.kind == "count"
    } == {
        ("articles.yaml", "description"): "4 declared, 3 counted",
        ("articles.yaml", "stratified_sampling.places"): "3 declared, 1 counted",
        ("annotations.yaml", "metadata.correct"): "3 declared, 2 counted",
        ("properties.yaml", "count"): "3 declared, 2 counted",
    }
    twice = {(finding.file, finding.record) for finding in report.findings if finding.kind == "id"}
    assert len(twice) == 2
    assert ("properties.yaml", "P31") in twice
    alone = audit(tmp_path / "annotations.yaml")
    assert alone.figures["discovery_rate"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("content", "kinds"),
    [
        (HEAD + ROWS, {}),
        (HEAD + ROWS.replace("id: 3", "id: 1"), {"id": 1}),
        (HEAD + ROWS.replace("incorrect", "wrong"), {"count": 2, "schema": 1}),
        (HEAD + ROWS.replace("[a, b, e]", "[a, b]"), {"schema": 1}),
        (
            "description: 2-article set\narticles: [{title: Delft, qid: Q690}, {title: Hull, qid: Q0}]",
            {"identifier": 1},
        ),
        ("articles: 3", {"unreadable": 1}),
        ("articles: [", {"unreadable": 1}),
    ],
)
def test_small_kits(tmp_path: Path, content: str, kinds: dict[str, int]) -> None:
    file = tmp_path / "kit.yaml"
    file.write_text(content, encoding="utf-8")
    assert audit(file).kinds == kinds
