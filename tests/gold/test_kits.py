"""The YAML files of a Wikidata evaluation kit: articles and judged statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import read, write
from goldassay.gold.formats import task_of
from goldassay.measures.triples import novel_discovery_rate


def test_articles_statements_and_properties_are_read(own: Path, tmp_path: Path) -> None:
    articles = read(own / "articles.yaml", task="linking")
    assert articles[1] == {
        "id": "2",
        "text": "Borkum",
        "links": [{"start": 0, "end": 6, "text": "Borkum", "ids": {"wikidata": ["Q900003"]}}],
        "strata": {"domain": "geographic"},
    }
    statements = read(own / "annotations.yaml", task="triples")
    assert [statement["triples"][0]["verdict"] for statement in statements] == ["correct", "incorrect"]
    assert statements[0]["meta"]["article"] == "Hafenmuseum Emden"
    rates = novel_discovery_rate(triple["verdict"] for record in statements for triple in record["triples"])
    assert rates["novel_discovery_rate"] == 0.5
    assert (task_of(own / "articles.yaml"), task_of(own / "annotations.yaml")) == ("linking", "triples")


def test_the_real_kit_is_read(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "wikidata-benchmark"
    articles = read(folder / "wikidata-benchmark-1k.yaml", task="linking")
    assert (len(articles), articles[0]["text"], articles[0]["strata"]) == (
        946,
        "Elon Musk",
        {"domain": "biography_living"},
    )
    statements = read(folder / "novel-discovery-annotations.yaml", task="triples")
    assert (len(statements), statements[0]["meta"]["article"]) == (212, "Marie Curie")
    # 170 correct and 18 incorrect: 170 / 188
    rates = novel_discovery_rate(triple["verdict"] for record in statements for triple in record["triples"])
    assert rates["novel_discovery_rate"] == pytest.approx(170 / 188)


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        ("linking", "articles: 3", "it has no list under articles"),
        ("linking", "articles: [3]", r"articles\[0\]: an entry is a mapping"),
        ("linking", "articles: [{title: Delft}]", r"articles\[0\]: not as in the format kit: no 'qid'"),
        (
            "triples",
            "annotations: [{triple: [a, b], verdict: correct}]",
            "kit: not enough values to unpack",
        ),
        ("triples", "annotations: [{triple: [a, b, c]}]", "no 'verdict'"),
        (
            "triples",
            "annotations: [{triple: [a, 1, c], verdict: correct}]",
            "predicate: input should be a valid string",
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, task: str, content: str, message: str) -> None:
    file = tmp_path / "kit.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read(file, task=task)


def test_a_kit_is_gold_and_is_only_read(tmp_path: Path, own: Path) -> None:
    with pytest.raises(GoldassayError, match="format kit holds linking, triples, not answering"):
        write(tmp_path / "x.yaml", [], format="kit", task="answering")
    with pytest.raises(GoldassayError, match="format kit is not written for linking; write jsonl"):
        write(tmp_path / "x.yaml", [], format="kit", task="linking")
    with pytest.raises(GoldassayError, match="format kit holds gold, not predictions"):
        read(own / "articles.yaml", task="linking", side="pred")
