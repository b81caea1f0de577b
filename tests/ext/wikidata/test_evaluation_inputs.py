"""Benchmark files and profiles: counts are counted again, a sample keeps the strata."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.ext.wikidata.evaluation import ArticleRef, read_benchmark, read_profile, sample

KIT = """version: 1
dataset_name: own-benchmark
description: 5-article benchmark stratified across 2 domains
stratified_sampling: {geographic: 3, biography: 2}
articles:
- {title: Delft, qid: Q690, domain: geographic}
- {title: Gouda, qid: Q82823, domain: geographic}
- {title: Johannes Vermeer, qid: Q41264, domain: biography}
- {title: Jan Vermeer, qid: Q41264, domain: biography}
"""


def test_a_kits_benchmark_is_read(tmp_path: Path, real_data: Path) -> None:
    own = tmp_path / "own.yaml"
    real = real_data / "wikidata-benchmark" / "wikidata-benchmark-1k.yaml"
    own.write_text(KIT, encoding="utf-8")
    for file, expected, most in ((own, "own-benchmark", 4), (real, "wikidata-benchmark-1k", 946)):
        if file.is_file():
            name, articles = read_benchmark(file)
            assert name == expected
            assert 0 < len(articles) == len({article.title for article in articles}) <= most


@pytest.mark.parametrize("n", [7, 20, 50, 99, 100, 500])
def test_a_sample_keeps_the_strata(n: int) -> None:
    shares = {"a": 60, "b": 25, "c": 10, "d": 5}
    whole = [ArticleRef(f"{name}{i}", domain=name) for name, count in shares.items() for i in range(count)]
    chosen = sample(whole, n)
    counts = Counter(article.domain for article in chosen)
    size = min(n, 100)
    assert len(chosen) == len(set(chosen)) == size
    for name, count in shares.items():
        assert abs(counts[name] - size * count / 100) < 1 or counts[name] == 1
    assert [whole.index(article) for article in chosen] == sorted(whole.index(article) for article in chosen)
    assert sample(whole, n) == chosen
    assert n >= 100 or sample(whole, n, seed=1) != chosen


def test_fewer_than_the_strata_still_gives_so_many() -> None:
    whole = [ArticleRef(str(i), domain=str(i % 5)) for i in range(50)]
    assert len(sample(whole, 3)) == 3
    with pytest.raises(GoldassayError, match="at least one article, got 0"):
        sample(whole, 0)


def test_an_article_that_stands_twice_is_taken_once(tmp_path: Path) -> None:
    file = tmp_path / "b.yaml"
    file.write_text(
        "stratified_sampling: {x: 3}\narticles: [{title: A, qid: Q1, domain: x}, {title: A, qid: Q1, domain: x}, "
        "{title: B, qid: Q1, domain: x}, {title: C}]"
    )
    _, articles = read_benchmark(file)
    assert [article.title for article in articles] == ["A", "B", "C"]
    assert articles[2] == ArticleRef("C")


def test_a_profile_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "eval-v1.yaml"
    file.write_text("program: triples:ArticlePatterns\nalignment: table.yaml\ntolerance: 0.01\nlanguage: nl\n")
    profile = read_profile(str(file), language="de")
    assert (profile.language, profile.tolerance) == ("de", 0.01)
    assert profile.alignment == tmp_path / "table.yaml"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "p.yaml: Input should be a valid dictionary"),
        ("model: x\nprogram: y", "model: Extra inputs are not permitted"),
        ("lm: x", "program: Field required"),
        ("program: x\ntolerance: much", "tolerance: Input should be a valid number"),
        ("program: x\nthreshold: 2", "threshold: Input should be less than or equal to 1, got 2"),
        ("program: x\ntimes: never", "times: Input should be 'gold' or 'coarser', got 'never'"),
        ("program: x\nlm: 3", "lm: Input should be a valid string, got 3"),
    ],
)
def test_a_wrong_profile(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        read_profile(str(file))
    assert message in str(error.value)
