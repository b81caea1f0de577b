"""``goldassay wikidata …`` from its options to its files, offline: articles and items in the cache."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
import yaml
from tests import wikibase_rdf as rdf
from tests.processes import Process
from typer.testing import CliRunner, Result

from goldassay._support.exceptions import GoldassayError, RunStopped
from goldassay._support.files import json_value
from goldassay.cli import app
from goldassay.ext.wikidata.client import Item, ItemStatement
from goldassay.ext.wikidata.evaluation import ArticleRef, fetch_article, open_sources
from goldassay.ext.wikidata.web import WikipediaClient

Stock = Callable[[list[Item], dict[str, str]], str]

PEOPLE = ("Ann Lee", "Bob Ray", "Cas Vos", "Dirk Bos")


def time(value: str) -> ItemStatement:
    """A day of birth."""
    about = {"time": f"+{value}T00:00:00Z", "precision": 11}
    return ItemStatement("P569", about, "time")


@pytest.fixture(scope="module")
def stock(serve: Callable[[Path], Any]) -> Stock:
    """Puts articles by title, and the items of a service that has these, into the cache of the current folder."""

    def fill(items: list[Item], texts: dict[str, str]) -> str:
        rdf.write(items, Path("items.nt"))
        sources = open_sources(endpoint=serve(Path("items.nt")).sparql)
        sources.wikidata.web.pause = 0.0  # the server is our own
        client = WikipediaClient()
        for title, text in texts.items():
            page: dict[str, Any] = {"title": title, "text": text}
            client.cache.get("en", f"{client.base} {title}", lambda page=page: page)  # type: ignore[misc]
            fetch_article(ArticleRef(title, items[0].id), sources)
        Path("endpoint").write_text(sources.wikidata.endpoint)
        return sources.wikidata.endpoint

    return fill


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, stock: Stock) -> Path:
    """A folder with a benchmark, and a cache in which one article is lacking."""
    folder = tmp_path_factory.mktemp("filled")
    items = [
        Item(
            f"Q{i + 1}",
            {"en": name},
            {},
            {"enwiki": name},
            (
                ItemStatement("P31", "Q5", "wikibase-item"),
                ItemStatement("P106", "Q100", "wikibase-item"),
                time(f"19{i}0-01-02"),
            ),
        )
        for i, name in enumerate(PEOPLE)
    ]
    texts = {
        name: f"{name} (2 January 19{i}0) was a poet. {name} won the Golden Goose Prize."
        for i, name in enumerate(PEOPLE[:3])
    }
    with chdir(folder):
        stock([*items, Item("Q5", {"en": "human"}), Item("Q100", {"en": "poet"})], texts)
    articles = [{"title": name, "qid": f"Q{i + 1}", "domain": "biography_living"} for i, name in enumerate(PEOPLE)]
    (folder / "bench.yaml").write_text(
        yaml.safe_dump({"dataset_name": "four", "stratified_sampling": {"biography_living": 5}, "articles": articles})
    )
    return folder


@pytest.fixture
def place(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


def endpoint() -> str:
    """The service whose answers are in the cache."""
    return Path("endpoint").read_text()


def call(*arguments: str, input: str | None = None) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, ["wikidata", *arguments], input=input)


def evaluated(*more: str) -> Result:
    """Evaluate the benchmark offline with the patterns."""
    return call(
        "evaluate", "--dataset", "bench.yaml", "--profile", "triples:ArticlePatterns", "--endpoint", endpoint(),
        "--cache-only", "--out", "out/latest.json", *more,
    )  # fmt: skip


def test_a_benchmark_offline(place: Path) -> None:
    done = evaluated("--threads", "2")
    assert done.exit_code == 0, done.output
    result = json_value(place / "out" / "latest.json")
    assert result["run_metadata"]["dataset"] == "four"
    assert result["run_metadata"]["articles_evaluated"] == 3
    # three people: born and poet found, human not said
    total = result["aggregate"]
    assert (total["true_positives"], total["false_negatives"]) == (6, 3)
    assert total["recall_supported"] == 1.0
    assert total["match_kinds"]["novel"] == 3  # the prizes
    [failed] = result["failed_articles"]
    assert failed["article_title"] == "Dirk Bos"
    assert "fetch it first" in failed["error"]
    assert "Dirk Bos" in done.output
    assert "recall_supported" in done.output
    assert len((place / "out" / "latest.rows.jsonl").read_text().splitlines()) == 3


def test_one_article_and_json(place: Path) -> None:
    done = call(
        "evaluate", "--article", "Ann Lee", "--profile", "triples:ArticlePatterns", "--endpoint", endpoint(),
        "--cache-only", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["run_metadata"]["mode"] == "single_article"
    assert result["article_result"]["wikidata_qid"] == "Q1"
    assert (place / "runs" / "wikidata").is_dir()


def test_one_article_that_cannot_be_had(place: Path) -> None:
    done = call(
        "evaluate", "--article", "Dirk Bos", "--profile", "triples:ArticlePatterns", "--endpoint", endpoint(),
        "--cache-only",
    )  # fmt: skip
    assert isinstance(done.exception, GoldassayError)
    assert "Dirk Bos" in str(done.exception)


def test_a_profile_file_and_a_sample(place: Path) -> None:
    (place / "v1.yaml").write_text("program: triples:ArticlePatterns\ntolerance: 0.01\n")
    done = evaluated("--profile", "v1.yaml", "--limit", "2")
    assert done.exit_code == 0, done.output
    about = json_value(place / "out" / "latest.json")["run_metadata"]
    assert about["sample"] == 2
    assert about["articles_evaluated"] + about["articles_failed"] == 2
    assert "tolerance=0.01" in about["conventions"]["comparing"]


@pytest.mark.nightly
def test_a_run_that_is_killed_goes_on_in_another_process(place: Path) -> None:
    (place / "slow.py").write_text(
        "import time\n"
        "from goldassay import workspace\n"
        "ArticlePatterns = workspace.load(workspace.installed() / 'programs' / 'triples.py').ArticlePatterns\n"
        "class Slow(ArticlePatterns):\n"
        "    def __call__(self, text, title):\n"
        "        time.sleep(0 if title == 'Ann Lee' else 1)\n"
        "        return super().__call__(text, title)\n"
    )
    command = [
        "evaluate", "--dataset", "bench.yaml", "--profile", "slow.py:Slow", "--endpoint", endpoint(), "--cache-only",
        "--out", "out/k.json",
    ]  # fmt: skip
    process = Process("wikidata", *command, cwd=place)
    deadline = monotonic() + 60
    while monotonic() < deadline and not any(
        rows.read_bytes().count(b"\n") for rows in place.glob("out/k-run-*/rows.jsonl")
    ):
        sleep(0.02)
    process.kill()
    process.wait()
    assert not (place / "out" / "k.json").exists()
    done = call(*command)
    assert done.exit_code == 0, done.output
    about = json_value(place / "out" / "k.json")["run_metadata"]
    assert (about["resumed_articles"], about["articles_evaluated"]) == (1, 3)
    # another program's run is not taken for its own
    (place / "slow.py").write_text((place / "slow.py").read_text().replace("else 1", "else 0"))
    assert call(*command).exit_code == 0
    assert json_value(place / "out" / "k.json")["run_metadata"]["resumed_articles"] == 0


def test_a_program_that_fails_is_said_and_asked_again(place: Path) -> None:
    (place / "shaky.py").write_text(
        "from pathlib import Path\n"
        "from goldassay import workspace\n"
        "ArticlePatterns = workspace.load(workspace.installed() / 'programs' / 'triples.py').ArticlePatterns\n"
        "class Shaky(ArticlePatterns):\n"
        "    def __call__(self, text, title):\n"
        "        if title == 'Bob Ray' and not Path('up').exists():\n"
        "            raise OSError('the model\\nis down')\n"
        "        return super().__call__(text, title)\n"
    )
    done = evaluated("--profile", "shaky.py:Shaky")
    assert done.exit_code == 0
    output = " ".join(done.stdout.split())
    assert "the program failed, so all gold is missed: Bob Ray: OSError: the model is down" in output
    about = json_value(place / "out" / "latest.json")["run_metadata"]
    assert (about["articles_evaluated"], about["articles_without_answer"]) == (3, 1)
    (place / "up").touch()
    assert "program failed" not in evaluated("--profile", "shaky.py:Shaky").stdout
    about = json_value(place / "out" / "latest.json")["run_metadata"]
    assert (about["resumed_articles"], about["articles_without_answer"]) == (2, 0)
    (place / "up").unlink()
    entry = call("evaluate", "--article", "Bob Ray", "--profile", "shaky.py:Shaky", "--endpoint", endpoint(),
               "--cache-only", "--out", "out/one.json")  # fmt: skip
    assert str(entry.exception) == "OSError: the model is down"


def test_an_article_that_takes_too_long_is_one_failed_article(place: Path) -> None:
    (place / "slow.py").write_text(
        "import time\n"
        "from goldassay import workspace\n"
        "ArticlePatterns = workspace.load(workspace.installed() / 'programs' / 'triples.py').ArticlePatterns\n"
        "class Slow(ArticlePatterns):\n"
        "    def __call__(self, text, title):\n"
        "        time.sleep(20 if title == 'Bob Ray' else 0)\n"
        "        return super().__call__(text, title)\n"
    )
    done = evaluated("--profile", "slow.py:Slow", "--timeout", "2")
    assert done.exit_code == 0, done.output
    errors = {
        entry["article_title"]: entry.get("error")
        for entry in json_value(place / "out" / "latest.json")["article_results"]
    }
    assert errors["Bob Ray"] == "TimeoutError: no answer within 2 s"


def test_a_run_that_fails_as_a_whole_stops_early(place: Path, stock: Stock) -> None:
    names = [f"Eva {letter}" for letter in "ABCDEFGH"]
    stock(
        [Item(f"Q{i}", {"en": name}, {}, {"enwiki": name}, ()) for i, name in enumerate(names, 1)],
        dict(zip(names, names, strict=True)),
    )
    articles = [{"title": name, "qid": f"Q{i}", "domain": "d"} for i, name in enumerate(names, 1)]
    Path("eight.yaml").write_text(yaml.safe_dump({"dataset_name": "eight", "articles": articles}))
    Path("down.py").write_text("def program(text, title):\n    raise OSError('the model is down')\n")
    requests = ("--dataset", "eight.yaml", "--profile", "down.py:program")
    stopped = evaluated(*requests)
    assert isinstance(stopped.exception, RunStopped)
    assert "stopped after 5 of 8 examples: the first 5 examples failed alike: OSError" in str(stopped.exception)


def test_what_was_evaluated_before_is_said(place: Path) -> None:
    assert "evaluated before" not in evaluated().stderr
    again = evaluated()
    assert "3 of 4 articles were evaluated before" in " ".join(again.stderr.split())


def test_every_command_prints_one_object(place: Path, takes_json: Callable[[], set[str]]) -> None:
    assert evaluated().exit_code == 0
    result = ("--results", "out/latest.json")
    cases = {
        "evaluate": ("--article", "Ann Lee", "--profile", "triples:ArticlePatterns", "--endpoint", endpoint()),
        "gaps": (*result, "--threshold", "0.5"),
        "tune": result,
        "novel": ("sample", "novel.yaml", *result, "--share", "1.0"),
        "alignment": (),
    }
    for name, arguments in cases.items():
        done = call(name, *arguments, "--json")
        [line] = done.stdout.splitlines()
        assert isinstance(json.loads(line), dict), name
    assert {f"wikidata {name}" for name in cases} == {name for name in takes_json() if name.startswith("wikidata")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name articles (--article TITLE) or a benchmark (--dataset FILE)"),
        (("--article", "x", "--dataset", "bench.yaml"), "name articles"),
        (("--article", "x", "--no-cache", "--cache-only"), "use one of them"),
        (("--dataset", "absent.yaml"), "absent.yaml: no such file"),
        (("--article", "x", "--profile", "absent"), "no task 'absent'"),
    ],
)
def test_wrong_calls_are_one_line(place: Path, arguments: tuple[str, ...], message: str) -> None:
    done = call("evaluate", *arguments)
    assert isinstance(done.exception, GoldassayError), done.output
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


def test_what_cannot_be_written_is_one_line(place: Path) -> None:
    (place / "file").write_text("no folder")
    done = evaluated("--out", "file/r.json")
    assert isinstance(done.exception, GoldassayError), done.exception
    assert "cannot be written: " in str(done.exception)


def test_the_gate(place: Path, stock: Stock) -> None:
    (place / "bench.yaml").write_text(
        yaml.safe_dump({"articles": [{"title": name, "domain": "a"} for name in PEOPLE[:3]]})
    )
    # tp 6, fp 3 (the prizes, closed world), fn 3: F1 = 12 / 18
    assert evaluated("--fail-under", "f1=0.6").exit_code == 0
    low = evaluated("--fail-under", "f1=0.7")
    assert low.exit_code == 1
    assert "F1 0.6667 is below 0.7" in low.output
    # an article without gold may not pass unseen
    (place / "bench.yaml").write_text(yaml.safe_dump({"articles": [{"title": name} for name in PEOPLE]}))
    missing = evaluated("--fail-under", "f1=0.1", "--out", "out/all.json")
    assert missing.exit_code == 1
    assert "gold is missing: 1 articles could not be fetched" in missing.output
    stock([Item("Q1", {"en": "Ann Lee"}, {}, {"enwiki": "Ann Lee"})], {"Ann Lee": "Ann Lee."})
    (place / "bench.yaml").write_text(yaml.safe_dump({"articles": [{"title": "Ann Lee"}]}))
    none = evaluated("--fail-under", "f1=0.1", "--out", "out/none.json")
    assert none.exit_code == 1
    assert "gold is missing" in none.output


def test_gaps_patches_and_novel_triples(place: Path) -> None:
    assert evaluated().exit_code == 0
    gaps = call("gaps", "--results", "out/latest.json", "--threshold", "0.5", "--out", "gaps.json")
    assert gaps.exit_code == 0, gaps.output
    assert [entry["property_id"] for entry in json_value(place / "gaps.json")["gaps"]] == ["P31"]
    assert "instance of" in gaps.output

    tuned = call("tune", "--results", "out/latest.json", "--out", "tuning.json")
    assert tuned.exit_code == 0, tuned.output
    report = json_value(place / "tuning.json")
    assert set(report) >= {"false_positive_patterns", "false_negative_patterns", "prompt_patches"}

    drawn = call("novel", "sample", "novel.yaml", "--results", "out/latest.json", "--share", "1.0")
    assert drawn.exit_code == 0, drawn.output
    again = call("novel", "sample", "novel.yaml", "--results", "out/latest.json")
    assert "novel.yaml exists; name another file" in str(again.exception)
    # one verdict, a key that means nothing, stop; then on with the other two
    first = call("novel", "annotate", "novel.yaml", "--annotator", "ann", input="cxq")
    assert "1 of 3 judged, 2 to go" in first.output
    second = call("novel", "annotate", "novel.yaml", input="iw")
    assert "3 of 3 judged, 0 to go" in second.output
    entries = yaml.safe_load((place / "novel.yaml").read_text())["annotations"]
    assert [entry["verdict"] for entry in entries] == ["correct", "incorrect", "in_wikidata"]
    assert [entry["annotator"] for entry in entries] == ["ann", "human", "human"]

    rate = call("novel", "report", "novel.yaml", "--json")
    assert json.loads(rate.stdout)["novel_discovery_rate"] == 0.5
    assert "biography_living" in call("novel", "report", "novel.yaml").output
    judged = evaluated("--annotations", "novel.yaml", "--out", "out/judged.json")
    assert judged.exit_code == 0, judged.output
    total = json_value(place / "out" / "judged.json")["aggregate"]
    assert (total["novel_discovery_rate"], total["verdicts"]["in_wikidata"]) == (0.5, 1)
    # 9 triples: 6 matched, 2 judged true (correct, in Wikidata), 1 judged false: nothing is unknown
    assert total["precision_min"] == total["precision_max"] == 8 / 9


def test_a_program_without_prompts_has_patterns_and_no_patches(place: Path) -> None:
    evaluated()
    done = call("tune", "--results", "out/latest.json", "--profile", "triples:ArticlePatterns")
    assert done.exit_code == 0, done.exception
    assert "triples:ArticlePatterns has no prompt" in " ".join(done.stderr.split())
    report = json_value(place / "out" / "latest-tuning.json")
    assert report["prompt_patches"] == []
    assert set(report) == {"articles", "false_positive_patterns", "false_negative_patterns", "prompt_patches"}


def test_a_triple_may_be_skipped(place: Path) -> None:
    assert evaluated().exit_code == 0
    call("novel", "sample", "novel.yaml", "--results", "out/latest.json", "--share", "1.0")
    call("novel", "annotate", "novel.yaml", input="sis")
    entries = yaml.safe_load((place / "novel.yaml").read_text())["annotations"]
    assert [entry.get("verdict") for entry in entries] == [None, "incorrect", None]


def test_a_result_without_rows_has_no_evidence(place: Path) -> None:
    assert evaluated().exit_code == 0
    os.remove(place / "out" / "latest.rows.jsonl")
    done = call("tune", "--results", "out/latest.json")
    assert "are missing" in str(done.exception)


TWICE = """count: 2
alignments:
- {wikidata_pid: P856, wikidata_label: official website, riverbank_predicates: ['pgc:site'], alignment_confidence: 0.9}
- {wikidata_pid: P856, wikidata_label: official website, riverbank_predicates: ['pgc:home'], alignment_confidence: 0.9}
"""


def test_a_table_is_checked(place: Path, tmp_path: Path) -> None:
    assert call("alignment").exit_code == 0
    kit = tmp_path / "twice.yaml"
    kit.write_text(TWICE, encoding="utf-8")
    done = call("alignment", str(kit))
    assert done.exit_code == 1
    assert "P856 has 2 rows" in done.output
    assert json.loads(call("alignment", str(kit), "--json").stdout)["problems"]


def test_the_founding_result_has_no_gaps_to_analyse(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "latest.json"
    file.write_text('{"run_metadata": {}, "article_result": {"article_title": "Delft"}}', encoding="utf-8")
    done = call("gaps", "--results", str(file))
    assert "it has no by_property" in str(done.exception)
