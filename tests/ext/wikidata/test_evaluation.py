"""Runs over articles: what fails is listed, what was done is kept, many give the shape that one gives."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay.ext.wikidata.client import Item, ItemStatement
from goldassay.ext.wikidata.evaluation import ArticleRef, ArticleSources, Profile, evaluate_articles
from goldassay.ext.wikidata.results import load, rows_file
from goldassay.running.options import RunOptions

PROFILE = Profile(program="test")
ArticlePatterns = workspace.load(workspace.installed() / "programs" / "triples.py").ArticlePatterns


def towns(make: Any, n: int) -> Any:
    """Towns with a founding year each; every fourth article does not say it."""
    texts = {f"Town {i}": f"Town {i} was founded in {1500 + i}." if i % 4 else "Nothing." for i in range(n)}
    items = {
        f"Q{i + 1000}": Item(
            f"Q{i + 1000}",
            labels={"en": f"Town {i}"},
            sitelinks={"enwiki": f"Town {i}"},
            statements=(
                ItemStatement("P571", {"time": f"+{1500 + i}-00-00T00:00:00Z", "precision": 9}, "time"),
                ItemStatement("P17", "Q55", "wikibase-item"),
            ),
        )
        for i in range(n)
    }
    return make(texts, items, {"Q55": ["Netherlands"]})


def refs(n: int) -> list[ArticleRef]:
    return [ArticleRef(f"Town {i}", domain="a" if i % 2 else "b") for i in range(n)]


def evaluated(clients: Any, articles: list[ArticleRef], output: Path, **options: Any) -> dict[str, Any]:
    program = options.pop("program", ArticlePatterns())
    profile = options.pop("profile", PROFILE)
    metadata = options.pop("metadata", {"mode": "dataset", "dataset": "towns"})
    settings = RunOptions(**{"max_failures": 1.0, **options})
    sources = ArticleSources(clients, clients)
    return evaluate_articles(articles, program, sources, profile, output, options=settings, metadata=metadata)


def test_the_shape_and_its_numbers(make_sources: Any, tmp_path: Path) -> None:
    result = evaluated(towns(make_sources, 8), refs(8), tmp_path / "r.json")
    assert set(result) == {
        "schema_version", "run_metadata", "aggregate", "by_domain", "by_property", "calibration_curve",
        "alignment_gaps", "article_results", "failed_articles",
    }  # fmt: skip
    total = result["aggregate"]
    # 8 towns with 2 statements; 6 texts say the year and all 6 years are found
    assert (total["true_positives"], total["false_positives"], total["false_negatives"]) == (6, 0, 10)
    assert total["recall"] == 6 / 16
    # what the texts say is the six years, all of them found
    assert total["recall_supported"] == 1.0
    assert total["wikidata_statements"] == 16
    assert result["by_property"]["P571"]["recall"] == 6 / 8
    assert result["by_property"]["P571"]["precision"] == 1.0
    assert result["by_property"]["P17"]["recall"] == 0.0
    assert result["by_property"]["P571"]["label"] == "inception"
    # odd numbers are domain a: 1, 3, 5, 7, all stated; even ones b: 0 and 4 say nothing, 2 and 6 do
    assert result["by_domain"]["a"]["recall"] == 4 / 8
    assert result["by_domain"]["b"]["recall"] == 2 / 8
    assert [article["article_title"] for article in result["article_results"]] == [f"Town {i}" for i in range(8)]
    assert result["calibration_curve"]["0.75-1.0"]["count"] == 6
    assert result["calibration_curve"]["0.75-1.0"]["observed_accuracy"] == 1.0
    assert total["intervals"]["recall"]["low"] < total["recall"] < total["intervals"]["recall"]["high"]


def test_one_article_has_the_same_shape_and_the_kits_fields(sources: Any, tmp_path: Path) -> None:
    metadata = {"mode": "single_article", "article": "Marie Curie"}
    result = evaluated(sources, [ArticleRef("Marie Curie")], tmp_path / "r.json", metadata=metadata)
    single = result["article_result"]
    assert single == result["article_results"][0]
    assert set(single) >= {
        "article_title", "wikidata_qid", "domain", "predicted_triples", "wikidata_statements", "precision", "recall",
        "f1", "true_positives", "false_positives", "false_negatives", "novel_discoveries",
    }  # fmt: skip
    # 13 statements, less one deprecated and one identifier
    assert single["wikidata_statements"] == 11
    assert single["unaligned_statements"] == 1  # P9999
    # covered: born when and where, died when (Passy is not in this item), spouse, prize, two trades
    assert single["true_positives"] == 7
    assert single["false_negatives"] == 10 - 7


def test_parallel_rows_are_the_same_in_the_same_order(make_sources: Any, tmp_path: Path) -> None:
    single = evaluated(towns(make_sources, 12), refs(12), tmp_path / "1.json")
    parallel = evaluated(towns(make_sources, 12), refs(12), tmp_path / "4.json", threads=4)

    def plain(result: dict[str, Any]) -> Any:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in result["article_results"]]

    assert plain(single) == plain(parallel)
    assert single["aggregate"] == parallel["aggregate"]


def test_the_order_in_which_articles_finish_changes_nothing(make_sources: Any, tmp_path: Path) -> None:
    def program(text: str) -> Any:
        time.sleep(0.05 if "Nothing" in text else 0)
        # a wrong year, with a confidence whose sums depend on the order in which they are added
        triple = {"subject": text[:7], "predicate": "inception", "object": "1", "confidence": 1 / (len(text) + 1)}
        return {"triples": [triple]}

    single, parallel = [
        evaluated(towns(make_sources, 12), refs(12), tmp_path / f"{threads}.json", program=program, threads=threads)
        for threads in (1, 4)
    ]
    assert single["aggregate"] == parallel["aggregate"]
    assert single["calibration_curve"] == parallel["calibration_curve"]


def test_a_failed_fetch_is_a_failed_article_and_is_tried_again(make_sources: Any, tmp_path: Path) -> None:
    clients = towns(make_sources, 3)
    text = clients.texts.pop("Town 1")
    first = evaluated(clients, refs(3), tmp_path / "r.json")
    assert [article["article_title"] for article in first["failed_articles"]] == ["Town 1"]
    assert "HTTP 404" in first["failed_articles"][0]["error"]
    assert first["aggregate"]["articles"] == 2  # not an article without statements
    assert first["aggregate"]["wikidata_statements"] == 4
    clients.texts["Town 1"] = text
    again = evaluated(clients, refs(3), tmp_path / "r.json")
    assert (again["failed_articles"], again["aggregate"]["articles"]) == ([], 3)


def test_an_item_that_cannot_be_had_is_a_failed_article(make_sources: Any, tmp_path: Path) -> None:
    clients = towns(make_sources, 2)
    del clients.items["Q1001"]
    result = evaluated(clients, refs(2), tmp_path / "r.json")
    assert result["failed_articles"][0] == {
        "article_title": "Town 1", "domain": "a", "stage": "fetch", "error": "FetchError: no item for Town 1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda text: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda text: {"triples": "a, b, c"}, "'triples' must be a list of triples, got 'a, b, c'"),
        (lambda text: {"triples": [{"subject": "a"}]}, r"triples\[0\]: a triple needs a 'predicate'"),
        (lambda text: {}, "no field 'triples'"),
        (
            lambda text: {"triples": [{"subject": "Town 1", "predicate": "P571", "object": "1501", "confidence": 7}]},
            "a confidence lies between 0 and 1, not 7",
        ),
    ],
)
def test_a_program_that_fails_has_missed_its_gold(
    make_sources: Any, tmp_path: Path, program: Any, message: str
) -> None:
    result = evaluated(towns(make_sources, 2), refs(2), tmp_path / "r.json", program=program)
    assert result["aggregate"]["false_negatives"] == 4
    assert result["aggregate"]["recall"] == 0.0
    for row in result["article_results"]:
        assert re.search(message, row["error"])


def _killed(make: Any, output: Path) -> None:
    """A process of its own that dies in the sixth article."""

    def program(text: str, title: str) -> Any:
        return os._exit(9) if title == "Town 5" else ArticlePatterns()(text=text, title=title)

    evaluated(towns(make, 10), refs(10), output, program=program)


def test_a_killed_run_is_resumed(make_sources: Any, tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(make_sources, output))
    process.start()
    process.join()
    assert process.exitcode == 9

    # the killed program's code is that of another function, so its run cannot be taken for this one's
    other = evaluated(towns(make_sources, 10), refs(10), output)
    assert other["run_metadata"]["resumed_articles"] == 0
    again = evaluated(towns(make_sources, 10), refs(10), output)
    assert again["run_metadata"]["resumed_articles"] == 10
    assert again["aggregate"] == other["aggregate"]
    assert len(list(tmp_path.glob("r-run-*"))) in (1, 2)
    assert len(rows_file(output).read_text().splitlines()) == 10


def test_the_declared_item_is_held_beside_the_sitelinks(make_sources: Any, tmp_path: Path) -> None:
    result = evaluated(towns(make_sources, 1), [ArticleRef("Town 0", "Q15100")], tmp_path / "r.json")
    assert result["article_results"][0]["wikidata_qid"] == "Q1000"
    assert result["article_results"][0]["declared_qid"] == "Q15100"


def test_old_data_is_warned_of(sources: Any, tmp_path: Path) -> None:
    sources.items["Q7186"] = Item(**{**_fields(sources.items["Q7186"]), "fetched": "2020-01-01T00:00:00+00:00"})
    result = evaluated(sources, [ArticleRef("Marie Curie")], tmp_path / "r.json")
    assert result["run_metadata"]["fetched"]["oldest"] == "2020-01-01T00:00:00+00:00"
    assert "days ago; after 90 days, fetch it again" in result["run_metadata"]["warnings"][0]


def _fields(item: Item) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("id", "labels", "aliases", "sitelinks", "statements", "fetched")}


def test_no_more_articles_are_under_way_than_threads(make_sources: Any, tmp_path: Path) -> None:
    under_way = [0]
    most = [0]
    lock = threading.Lock()

    def program(text: str) -> Any:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.01)
        with lock:
            under_way[0] -= 1
        return {"triples": []}

    evaluated(towns(make_sources, 20), refs(20), tmp_path / "r.json", program=program, threads=3)
    assert most[0] == 3


def test_articles_stop_and_time_out_as_examples_do(make_sources: Any, tmp_path: Path) -> None:
    def hangs(text: str) -> Any:
        if "1501" in text:
            time.sleep(5)
        if "1502" in text:
            raise SystemExit(0)
        return {"triples": []}

    result = evaluated(towns(make_sources, 4), refs(4), tmp_path / "a.json", program=hangs, timeout=0.3)
    errors = [article.get("error") for article in result["article_results"]]
    assert errors == [None, "TimeoutError: no answer within 0.3 s", "SystemExit: 0", None]
    assert result["aggregate"]["false_negatives"] == 8  # the gold of both counts as missed
    nothing = towns(make_sources, 0)
    with pytest.raises(RunStopped, match="20 of 20 articles could not be fetched"):
        evaluated(nothing, refs(30), tmp_path / "b.json", max_failures=0.5)


def test_a_secret_in_an_error_is_not_written(
    make_sources: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sesame-open-1234")

    def program(text: str) -> Any:
        raise RuntimeError("refused: sesame-open-1234")

    result = evaluated(towns(make_sources, 1), refs(1), tmp_path / "r.json", program=program)
    [folder] = tmp_path.glob("r-run-*")
    for text in (json.dumps(result), (folder / "rows.jsonl").read_text()):
        assert "sesame" not in text
        assert "refused" in text


def test_a_result_of_riverbank_is_read(tmp_path: Path, real_data: Path) -> None:
    """One article, in the form of the kit's own ``latest.json``: its result stands by itself, without sums."""
    own = tmp_path / "latest.json"
    single = {"article_title": "Marie Curie", "wikidata_qid": "Q7186", "precision": 0.0, "recall": 0.0, "f1": 0.0}
    own.write_text(json.dumps({"run_metadata": {"mode": "single_article"}, "article_result": single}))
    for place in (own, real_data / "wikidata-benchmark" / "latest.json"):
        if place.is_file():
            result = load(place)
            assert result["article_results"][0]["article_title"] == "Marie Curie"
    for content in ("[]", "{}", '{"run_metadata": {}}'):
        file = tmp_path / "x.json"
        file.write_text(content)
        with pytest.raises(GoldassayError, match=str(file)):
            load(file)


def test_a_result_is_plain_json(sources: Any, tmp_path: Path) -> None:
    result = evaluated(sources, [ArticleRef("Marie Curie")], tmp_path / "r.json")
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_title_that_was_asked_for_names_the_subject_too(sources: Any, tmp_path: Path) -> None:
    titles: list[str] = []

    def program(text: str, title: str) -> Any:
        titles.append(title)
        return {"triples": [{"subject": "Madame_Curie", "predicate": "born in", "object": "Warsaw"}]}

    article = sources.article
    sources.article = lambda title: article("Marie Curie")
    result = evaluated(sources, [ArticleRef("Madame Curie")], tmp_path / "r.json", program=program)
    assert titles == ["Marie Curie"]
    assert result["article_results"][0]["redirected_to"] == "Marie Curie"
    assert result["aggregate"]["true_positives"] == 1
    [row] = [json.loads(line) for line in rows_file(tmp_path / "r.json").read_text().splitlines()]
    assert row["triples"][0]["subject"]["kind"] == "redirect"


KITS_TABLE = """version: 1
count: 3
alignments:
- wikidata_pid: P19
  wikidata_label: place of birth
  riverbank_predicates: ['pgc:birthPlace']
  alignment_confidence: 0.9
- wikidata_pid: P569
  wikidata_label: date of birth
  riverbank_predicates: ['pgc:birthDate', 'schema:birthDate']
  alignment_confidence: 0.92
- wikidata_pid: P21
  wikidata_label: sex or gender
  riverbank_predicates: ['pgc:gender']
  alignment_confidence: 0.88
  notes: Q6581097=male, Q6581072=female
"""


def test_a_kits_table_serves_too(sources: Any, tmp_path: Path) -> None:
    (tmp_path / "table.yaml").write_text(KITS_TABLE, encoding="utf-8")

    def program(text: str, title: str) -> Any:
        pairs = [("pgc:birthPlace", "Warsaw"), ("schema:birthDate", "1867-11-07"), ("pgc:gender", "female")]
        return {"triples": [{"subject": title, "predicate": name, "object": value} for name, value in pairs]}

    articles = [ArticleRef("Marie Curie")]
    profile = Profile(program="test", alignment=tmp_path / "table.yaml")
    result = evaluated(sources, articles, tmp_path / "r.json", program=program, profile=profile)
    assert result["aggregate"]["true_positives"] == 3
